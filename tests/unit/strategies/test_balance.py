"""Balancing: counts, blocks, what resampling loses, all strategies by name, and what is refused."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.strategies.balance import balance
from tests.unit.synthetic_bios import STRATEGIES, cells, labels_of, tables_of

BIOS = labels_of({"nurse": (180, 20), "dj": (24, 96), "poet": (50, 50)})
PARTS = np.arange(300)[::2], np.arange(300)[1::2]
tables, seeds = tables_of(15, 60), st.integers(0, 2**32 - 1)


def seen(name, seed=3):
    """Training and validation rows of a strategy."""
    return STRATEGIES[name].rows(*PARTS, labels=BIOS["label"], genders=BIOS["gender"], seed=seed)


@given(tables, seeds, st.sampled_from(["subsampling", "oversampling"]), st.sampled_from(["resample", "keep-all"]))
def test_balanced_counts_and_blocks(counts, seed, how, minority):
    bios = labels_of(counts)
    rows = np.arange(len(bios))[::-1]
    found = balance(bios["label"], bios["gender"], rows, how=how, rng=np.random.RandomState(seed), minority=minority)
    size = {name: (min if how == "subsampling" else max)(both) for name, both in counts.items()}
    assert cells(bios, found) == {(name, gender): size[name] for name in counts for gender in "FM"}
    blocks = [(name, gender) for name in sorted(counts) for gender in "FM" for _ in range(size[name])]
    assert list(bios.iloc[found].itertuples(index=False, name=None)) == blocks
    repeats = Counter(found.tolist())
    for name, both in counts.items():
        for gender, n in zip("FM", both, strict=True):
            members = bios.index[(bios["label"] == name) & (bios["gender"] == gender)]
            distinct = sum(row in repeats for row in members)
            if how == "subsampling" or n == max(both):  # drawn without replacement
                assert distinct == size[name] and max(repeats[row] for row in members) == 1
            elif minority == "keep-all":
                assert distinct == n


@pytest.mark.parametrize(("women", "men"), [(3000, 3001), (2000, 4000), (1000, 5000)])
def test_resampling_loses_what_keeping_all_does_not(women, men):
    """A row of n is missed by `size` draws with probability (1 - 1/n)^size, about exp(-size/n)."""
    bios = labels_of({"nurse": (women, men)})
    rows = np.arange(len(bios))
    distinct = {}
    for minority in ("resample", "keep-all"):
        rng = np.random.RandomState(1)
        found = balance(bios["label"], bios["gender"], rows, how="oversampling", rng=rng, minority=minority)
        distinct[minority] = len(set(found.tolist())) - men
    assert distinct["keep-all"] == women
    assert 1 - distinct["resample"] / women == pytest.approx(math.exp(-men / women), abs=0.02)


@pytest.mark.parametrize("name", ["plain", "scrubbing"])
def test_these_see_their_parts_as_they_are(name):
    assert all(found is part for found, part in zip(seen(name), PARTS, strict=True))


@pytest.mark.parametrize("name", ["oversampling", "oversampling-keep", "subsampling"])
def test_one_state_serves_training_and_then_validation(name):
    how, _, keep = name.partition("-")
    rng = np.random.RandomState(3)
    for found, part in zip(seen(name), PARTS, strict=True):
        options = {"how": how, "minority": "keep-all" if keep else "resample", "rng": rng}
        assert found.tolist() == balance(BIOS["label"], BIOS["gender"], part, **options).tolist()
        counts = cells(BIOS, found)
        assert all(counts[label, "F"] == counts[label, "M"] > 0 for label in ("nurse", "dj", "poet"))
