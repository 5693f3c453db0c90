"""Splits and balancing: the released procedure draw by draw, partitions, counts, and what cannot be done."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.corpora.documents import sample_sentences
from biasflow.tasks.classification import parts
from biasflow.tasks.classification.collect import profession_table
from biasflow.tasks.classification.gender_classifier import top_words
from biasflow.tasks.classification.labels import has_enough
from biasflow.tasks.classification.splits import check_balanceable, held_out, rows_of, split
from biasflow.tasks.cuts import control_labels, probe_split
from tests.unit.synthetic_bios import PLAIN, STRATEGIES, cells, labels_of, tables_of

BIOS = labels_of({"nurse": (180, 20), "dj": (24, 96), "poet": (50, 50), "model": (70, 30)})
seeds = st.integers(0, 2**32 - 1)


@given(tables_of(15, 60), seeds)
def test_parts_are_a_stratified_partition(counts, seed):
    bios = labels_of(counts)
    parts = split(bios, seed)
    assert sorted([*parts.train, *parts.validation, *parts.test]) == list(range(len(bios)))
    for part, share in ((parts.train, 0.65), (parts.validation, 0.1), (parts.test, 0.25)):
        found = Counter(bios["label"].to_numpy()[part])
        for name, both in counts.items():
            assert abs(found[name] - share * sum(both)) < 2


@pytest.mark.parametrize("seed", [0, 5])
def test_all_strategies_are_tested_on_the_same_balanced_rows(seed):
    tests = [rows_of(BIOS, strategy, seed).test.tolist() for strategy in STRATEGIES.values()]
    assert held_out(BIOS, seed).tolist() == tests[0]
    assert all(test == tests[0] for test in tests) and len(set(tests[0])) == len(tests[0])
    assert set(tests[0]) <= set(split(BIOS, seed).test.tolist())
    found = cells(BIOS, np.array(tests[0]))
    assert all(found[name, "F"] == found[name, "M"] > 0 for name in BIOS["label"].unique())


def test_one_gender_in_validation_is_left_out(caplog):
    """Of six women often none is among the tenth that validates."""
    bios = labels_of({"nurse": (40, 40), "dj": (6, 60)})
    left_out = 0
    for seed in range(12):
        parts = split(bios, seed)
        genders = {part: {g for (name, g) in cells(bios, getattr(parts, part)) if name == "dj"} for part in vars(parts)}
        if genders["train"] == genders["test"] == {"F", "M"} and genders["validation"] == {"M"}:
            left_out += 1
            for strategy in ("oversampling", "subsampling"):
                found = cells(bios, rows_of(bios, STRATEGIES[strategy], seed).validation)
                assert {name for name, _ in found} == {"nurse"} and "dj" in caplog.text
            assert ("dj", "M") in cells(bios, rows_of(bios, PLAIN, seed).validation)
    assert left_out


PAPER = [0, 5, 11, 26, 42, 46, 50, 63, 83, 90]


def check(bios, **options):
    check_balanceable(bios, **{"seeds": PAPER, **options})


def works(bios, strategy, seed):
    try:
        rows = rows_of(bios, STRATEGIES[strategy], seed)
    except BiasflowError:
        return False
    return all(len(part) for part in vars(rows).values())


def test_the_profession_with_the_fewest_of_its_rarer_gender_is_named_first():
    with pytest.raises(BiasflowError, match=r"^label nurse \(40 women, 1 men\).*others that fail: dj"):
        check(labels_of({"dj": (2, 30), "nurse": (40, 1)}), strategies=["plain"])


@given(tables_of(2, 30), st.lists(st.integers(0, 99), min_size=1, max_size=4), st.sampled_from([STRATEGIES, ["plain"]]))
def test_what_is_accepted_works_and_what_works_is_accepted(counts, seeds, strategies):
    bios = labels_of(counts)
    if all(works(bios, strategy, seed) for strategy in strategies for seed in seeds):
        check(bios, seeds=seeds, strategies=strategies)
    else:
        with pytest.raises(BiasflowError, match="|".join([*counts, "no label"])):
            check(bios, seeds=seeds, strategies=strategies)


TEXTS = [f"text {number}" for number in range(40)]


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: sample_sentences(TEXTS, 10, seed=seed),
        lambda seed: control_labels(np.arange(40), seed).tolist(),
        lambda seed: probe_split(40, seed).test.tolist(),
        lambda seed: top_words(
            [f"word{number % 7} word{number % 5}" for number in range(40)],
            ["F", "F", "M", "M", "F", "M", "M", "F"] * 5,
            seeds=[seed],
            iterations=1,
            n=3,
            min_texts=1,
        )["weight"].tolist(),
    ],
    ids=["sentences", "control labels", "probe split", "words of gender"],
)
def test_another_seed_draws_otherwise_and_the_same_seed_the_same(draw):
    assert draw(3) == draw(3) and len({tuple(draw(seed)) for seed in range(5)}) == 5


def test_just_as_many_texts_as_are_needed_are_enough():
    texts = labels_of({"nurse": (3, 2), "dj": (1, 4)})
    fewer = [("nurse", "M"), ("dj", "F")]
    assert [*has_enough(texts, texts, 3)] == [pair not in fewer for pair in texts.itertuples(index=False, name=None)]


def test_the_share_of_women_is_of_all_people_of_a_profession():
    counts = {"profession": ["nurse", "surgeon"], "women": [9, 1], "men": [1, 3], "kept": [True, True], "reason": ""}
    table = profession_table(pd.DataFrame(counts), pd.Series({"nurse": 0.87}))
    assert table["share_of_women"].tolist() == [0.9, 0.25] and table["labour_share"].round(2).tolist()[0] == 0.87


PLANTED = {"bias": 1.0, "seed": 0, "train": 300, "validation": 100, "test": 60}
KINDS = {
    "nli": (("train", "validation", "test"), "planted"),
    "glue": (("train", "validation"), "planted-nli"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_has_at_most_so_many_of_its_examples(kind, tmp_path):
    names, data = KINDS[kind]
    tables = {}
    for limit in (None, 90, 70):
        outputs = {part: tmp_path / f"{limit}-{part}.csv" for part in names}
        own = outputs | ({"sources": tmp_path / "sources.csv"} if kind == "nli" else {})
        parts.prepare({}, own, reader=kind, data=data, planted=PLANTED, limit=limit)
        tables[limit] = {part: pd.read_csv(path) for part, path in outputs.items()}
    for part, full in tables[None].items():
        rows = {limit: set(tables[limit][part].itertuples(index=False, name=None)) for limit in (90, 70)}
        assert [len(tables[limit][part]) for limit in (90, 70)] == [min(len(full), 90), min(len(full), 70)]
        assert rows[70] <= rows[90] <= set(full.itertuples(index=False, name=None))
