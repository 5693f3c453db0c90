"""Splits and balancing: the released procedure draw by draw, partitions, counts, and what cannot be done."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from biasflow.base.errors import BiasflowError
from biasflow.tasks.occupation.data import (
    check_balanceable,
    held_out,
    profession_table,
    rows_of,
    shares_of_women,
    split,
    split_counts,
)
from tests.unit.synthetic_bios import PLAIN, STRATEGIES, cells, labels_of, tables_of

BIOS = labels_of({"nurse": (180, 20), "dj": (24, 96), "poet": (50, 50), "model": (70, 30)})
seeds = st.integers(0, 2**32 - 1)


@given(tables_of(15, 60), seeds)
@settings(max_examples=40, deadline=None)
def test_parts_are_a_stratified_partition(counts, seed):
    bios = labels_of(counts)
    parts = split(bios["profession"], seed)
    assert sorted([*parts.train, *parts.validation, *parts.test]) == list(range(len(bios)))
    for part, share in ((parts.train, 0.65), (parts.validation, 0.1), (parts.test, 0.25)):
        found = Counter(bios["profession"].to_numpy()[part])
        for name, both in counts.items():
            assert abs(found[name] - share * sum(both)) < 2


def test_the_released_calls():
    """On texts and codes, as the released code splits them; the rows must be the same."""
    texts = [f"text {k}" for k in range(len(BIOS))]
    y = pd.Categorical(BIOS["profession"]).codes
    x, x_test, y_rest, _ = train_test_split(texts, y, random_state=42, stratify=y, test_size=0.25)
    x_train, x_valid = train_test_split(x, random_state=42, stratify=y_rest, test_size=0.133)
    parts = split(BIOS["profession"], 42)
    for rows, expected in ((parts.train, x_train), (parts.validation, x_valid), (parts.test, x_test)):
        assert [texts[row] for row in rows] == expected


def released_balance(y, z, how):
    """The released procedure in its own terms: numpy's global state, label by label, women first."""
    found = []
    for label in sorted(set(y)):
        women, men = (np.where((y == label) & (z == gender))[0] for gender in "FM")
        size = min(len(women), len(men)) if how == "subsampling" else max(len(women), len(men))
        for group in (women, men):
            found.append(np.random.choice(group, size=size, replace=len(group) < size))
    return np.concatenate(found)


@pytest.mark.parametrize("how", ["subsampling", "oversampling"])
@pytest.mark.parametrize("seed", [0, 83])
def test_train_then_validation_as_released(how, seed):
    parts = split(BIOS["profession"], seed)
    found = rows_of(BIOS, STRATEGIES[how], seed)
    y, z = BIOS["profession"].to_numpy(), BIOS["gender"].to_numpy()
    np.random.seed(seed)
    for rows, balanced in ((parts.train, found.train), (parts.validation, found.validation)):
        assert balanced.tolist() == rows[released_balance(y[rows], z[rows], how)].tolist()


@pytest.mark.parametrize("strategy", ["plain", "scrubbing"])
def test_rows_stay_as_split(strategy):
    parts, found = split(BIOS["profession"], 5), rows_of(BIOS, STRATEGIES[strategy], 5)
    assert found.train.tolist() == parts.train.tolist() and found.validation.tolist() == parts.validation.tolist()


@pytest.mark.parametrize("seed", [0, 5])
def test_all_strategies_are_tested_on_the_same_balanced_rows(seed):
    tests = [rows_of(BIOS, strategy, seed).test.tolist() for strategy in STRATEGIES.values()]
    assert held_out(BIOS, seed).tolist() == tests[0]
    assert all(test == tests[0] for test in tests) and len(set(tests[0])) == len(tests[0])
    assert set(tests[0]) <= set(split(BIOS["profession"], seed).test.tolist())
    found = cells(BIOS, np.array(tests[0]))
    assert all(found[name, "F"] == found[name, "M"] > 0 for name in BIOS["profession"].unique())


def test_no_row_of_a_part_gets_into_another():
    for strategy in STRATEGIES.values():
        found = rows_of(BIOS, strategy, 11)
        parts = [set(rows.tolist()) for rows in (found.train, found.validation, found.test)]
        assert not (parts[0] & parts[1] or parts[0] & parts[2] or parts[1] & parts[2])


def test_same_seed_same_rows():
    one, again, other = (rows_of(BIOS, STRATEGIES["oversampling"], seed) for seed in (7, 7, 8))
    assert all(np.array_equal(getattr(one, part), getattr(again, part)) for part in ("train", "validation", "test"))
    assert not np.array_equal(one.train, other.train)


def test_shares_of_women():
    shares = shares_of_women(BIOS["profession"], BIOS["gender"], np.arange(len(BIOS)))
    assert shares.to_dict() == {"dj": 0.2, "model": 0.7, "nurse": 0.9, "poet": 0.5}
    assert shares.index.tolist() == sorted(shares.index)
    some = BIOS.index[BIOS["gender"] == "F"].to_numpy()
    assert set(shares_of_women(BIOS["profession"], BIOS["gender"], some)) == {1.0}


def test_professions_beside_the_labour_statistics():
    professions = pd.DataFrame(
        [("dj", 1, 3, False, "few"), ("nurse", 9, 1, True, "")],
        columns=["profession", "women", "men", "kept", "reason"],
    )
    table = profession_table(professions, pd.Series({"nurse": 0.87, "poet": 0.5}))
    assert table["share_of_women"].tolist() == [0.25, 0.9] and table["profession"].tolist() == ["dj", "nurse"]
    assert math.isnan(table["labour_share"][0]) and table["labour_share"][1] == 0.87
    assert table[["kept", "reason"]].equals(professions[["kept", "reason"]])


def test_one_gender_in_the_test_part_is_named_with_its_counts():
    bios = labels_of({"nurse": (40, 40), "dj": (0, 40)})
    for strategy in STRATEGIES.values():
        with pytest.raises(BiasflowError, match=r"dj: 0 women and \d+ men"):
            rows_of(bios, strategy, 0)


def test_one_gender_in_validation_is_left_out(caplog):
    """Of six women often none is among the tenth that validates."""
    bios = labels_of({"nurse": (40, 40), "dj": (6, 60)})
    left_out = 0
    for seed in range(12):
        parts = split(bios["profession"], seed)
        genders = {part: {g for (name, g) in cells(bios, getattr(parts, part)) if name == "dj"} for part in vars(parts)}
        if genders["train"] == genders["test"] == {"F", "M"} and genders["validation"] == {"M"}:
            left_out += 1
            for strategy in ("oversampling", "subsampling"):
                found = cells(bios, rows_of(bios, STRATEGIES[strategy], seed).validation)
                assert {name for name, _ in found} == {"nurse"} and "dj" in caplog.text
            assert ("dj", "M") in cells(bios, rows_of(bios, PLAIN, seed).validation)
    assert left_out


@pytest.mark.parametrize("rare", [1, 2, 3])
def test_a_profession_too_rare_for_the_split_is_named(rare):
    bios = labels_of({"nurse": (40, 40), "dj": (rare, 0)})
    with pytest.raises(BiasflowError, match=f"dj: {rare}"):
        split(bios["profession"], 0)


def test_fewer_rows_than_professions():
    with pytest.raises(BiasflowError, match="too few"):
        split(list("abcdefgh") * 2, 0)
    with pytest.raises(BiasflowError, match="none to split; check the files"):
        split([], 0)


PAPER = [0, 5, 11, 26, 42, 46, 50, 63, 83, 90]
FEW_MEN = {"nurse": (200, 3), "poet": (60, 60), "model": (70, 50)}


def check(bios, **options):
    check_balanceable(bios, **{"seeds": PAPER, **options})


def works(bios, strategy, seed):
    try:
        rows = rows_of(bios, STRATEGIES[strategy], seed)
    except BiasflowError:
        return False
    return all(len(part) for part in vars(rows).values())


def test_few_men_are_refused_with_part_seed_and_counts():
    bios = labels_of(FEW_MEN)
    first = next(seed for seed in PAPER if not works(bios, "plain", seed))
    with pytest.raises(BiasflowError, match=r"nurse \(200 women, 3 men\)") as error:
        check(bios, strategies=["plain"], advice="ask for more men")
    women = cells(bios, split(bios["profession"], first).test)["nurse", "F"]
    assert f"{women} women and 0 men in the test part of seed {first}," in str(error.value)
    assert "ask for more men" in str(error.value)


def test_counts_of_splits_are_those_of_the_data():
    counts = split_counts(BIOS, [0, 5])
    for seed, block in counts.groupby("seed"):
        together = block.groupby("profession")[["women", "men"]].sum()
        assert together.loc["nurse"].tolist() == [180, 20] and together.loc["dj"].tolist() == [24, 96]
        test = block[(block["part"] == "test") & (block["profession"] == "poet")].iloc[0]
        assert test["women"] == cells(BIOS, split(BIOS["profession"], seed).test)["poet", "F"]


def test_the_training_part_counts_only_where_it_is_balanced():
    """Of two men both are in the test part for some seed, which matters to subsampling alone."""
    bios = labels_of({"nurse": (20, 2), "poet": (40, 40)})
    genders = {
        seed: {
            part: {gender for name, gender in cells(bios, rows) if name == "nurse"}
            for part, rows in vars(split(bios["profession"], seed)).items()
        }
        for seed in range(200)
    }
    seeds = [seed for seed, found in genders.items() if found["test"] == {"F", "M"} and found["train"] == {"F"}]
    assert seeds
    check(bios, seeds=seeds, strategies=["plain", "scrubbing"])
    for strategy in ("oversampling", "subsampling"):
        with pytest.raises(BiasflowError, match=f"nurse.*0 men in the train part of seed {seeds[0]}"):
            check(bios, seeds=seeds, strategies=["plain", strategy])


@given(tables_of(2, 30), st.lists(st.integers(0, 99), min_size=1, max_size=4), st.sampled_from([STRATEGIES, ["plain"]]))
@settings(max_examples=40, deadline=None)
def test_what_is_accepted_works_and_what_works_is_accepted(counts, seeds, strategies):
    bios = labels_of(counts)
    if all(works(bios, strategy, seed) for strategy in strategies for seed in seeds):
        check(bios, seeds=seeds, strategies=strategies)
    else:
        with pytest.raises(BiasflowError, match="|".join([*counts, "no profession"])):
            check(bios, seeds=seeds, strategies=strategies)


def test_all_that_fail_are_named():
    bios = labels_of(dict.fromkeys(("nurse", "dj", "poet", "model"), (2, 200)))
    with pytest.raises(BiasflowError, match=r"profession dj .*others that fail: model, nurse, poet"):
        check(bios, strategies=STRATEGIES)
    with pytest.raises(BiasflowError, match=r"nurse.*2 biographies are too few"):
        check(labels_of({"nurse": (1, 1), "poet": (100, 100)}), seeds=[0, 5], strategies=["plain"])


def test_a_validation_part_without_both_genders_of_any():
    """A validation part of one biography per profession has none that can be balanced."""
    bios = labels_of({"nurse": (6, 6), "poet": (6, 6)})
    seeds = [seed for seed in range(30) if works(bios, "plain", seed) and not works(bios, "subsampling", seed)]
    check(bios, seeds=seeds, strategies=["plain"])
    with pytest.raises(BiasflowError, match=r"validation part of seed \d"):
        check(bios, seeds=seeds[:1], strategies=["plain", "subsampling"])
