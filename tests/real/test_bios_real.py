"""The sample of Bias in Bios in the folder that BIASFLOW_DATA names: reading, splits and balance."""

from collections import Counter

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.bios import collect_bios
from biasflow.corpora.catalogue import read_catalogue
from biasflow.tasks.classification.labels import keep_labels
from biasflow.tasks.classification.splits import check_balanceable, rows_of, shares_of_women, split
from tests.real.files import DATA, needs_data
from tests.unit.synthetic_bios import STRATEGIES

pytestmark = needs_data
KEPT = ["accountant", "dentist", "nurse", "physician", "psychologist", "surgeon"]
SEEDS = [0, 5, 11, 26, 42, 46, 50, 63, 83, 90]


@pytest.fixture(scope="module")
def collected():
    path = DATA / read_catalogue().entry("bias-in-bios-dev").mirror_path
    return collect_bios({"bias-in-bios-dev": path})[0].rename(columns={"profession": "label"})


@pytest.fixture(scope="module")
def kept(collected):
    return keep_labels(collected, least=20, small="drop")


def test_professions_with_enough_of_both_genders(kept):
    bios, table = kept
    assert sorted(set(bios["label"])) == KEPT == table.loc[table["kept"], "label"].tolist()
    counts = table.set_index("label")
    assert counts.loc["surgeon", ["women", "men"]].tolist() == [461, 3118]
    assert counts.loc["software_engineer", ["women", "men", "kept"]].tolist() == [0, 10, False]


def test_twenty_of_each_gender_are_enough_for_the_papers_seeds_and_two_are_not(collected, kept):
    check_balanceable(kept[0], seeds=SEEDS, strategies=STRATEGIES)
    few, _ = keep_labels(collected, least=2, small="drop")
    with pytest.raises(BiasflowError, match=r"in the (train|test) part of seed \d+|too few"):
        check_balanceable(few, seeds=SEEDS, strategies=STRATEGIES)


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_the_papers_seeds(kept, seed):
    bios, _ = kept
    parts = {name: rows_of(bios, strategy, seed) for name, strategy in STRATEGIES.items()}
    sizes = {strategy: len(rows.train) for strategy, rows in parts.items()}
    assert sizes["plain"] == sizes["scrubbing"] == pytest.approx(0.65 * len(bios), abs=2)
    assert sizes["subsampling"] < sizes["plain"] < sizes["oversampling"] == sizes["oversampling-keep"]
    assert len({rows.test.tobytes() for rows in parts.values()}) == 1
    genders = Counter(bios["gender"].to_numpy()[parts["plain"].test])
    assert genders["F"] == genders["M"]
    shares = shares_of_women(bios["label"], bios["gender"], split(bios, seed).train)
    assert shares["nurse"] == pytest.approx(0.91, abs=0.02) and shares["surgeon"] == pytest.approx(0.13, abs=0.02)
