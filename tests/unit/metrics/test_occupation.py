"""The rows of all extrinsic scores: which there are, that they are those of the measures, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics import fairness
from scripts.biasflow.metrics.occupation import SHARES, occupation_rows, occupation_rows_of_heads
from scripts.biasflow.results.scores import tidy

K = 5
TRAIN = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
LABOUR = np.array([0.2, np.nan, 0.4, 0.6, 0.5])
BY_SOURCE = {"train": TRAIN, "test": TRAIN**2, "labour": LABOUR}

ROWS = {
    *(("accuracy", ""), ("independence", ""), ("test_size", "")),
    *((f"{rate}_gap_sum", "") for rate in ("tpr", "fpr", "precision")),
    *((f"{rate}_gap_pearson", source) for rate in ("tpr", "fpr", "precision") for source in SHARES),
    *(("separation", aggregate) for aggregate in ("absdiff", "sum")),
    *(("sufficiency", variant) for variant in ("absdiff", "sum", "absdiff-order-free", "sum-order-free")),
    *(("undefined_cells", of) for of in ("tpr", "fpr", "precision", "separation", "sufficiency")),
}


def tables(heads, n=300):
    rng = np.random.default_rng(heads)
    y, z = rng.integers(K, size=n), rng.integers(2, size=n)
    y_pred = np.where(rng.random((heads, n)) < 0.6, y, rng.integers(K, size=(heads, n)))
    return fairness.counts(y, y_pred, z, n_classes=K)


@pytest.fixture
def counts():
    return tables(1)[0]


def value_of(rows):
    return rows.set_index(["metric", "variant"])["value"]


def test_every_score_has_one_row(counts):
    rows = occupation_rows(counts, shares=BY_SOURCE)
    assert rows.columns.tolist() == ["metric", "variant", "value"]
    assert set(zip(rows["metric"], rows["variant"], strict=True)) == ROWS and len(rows) == len(ROWS)


def test_rows_hold_the_measures(counts):
    found, gaps = value_of(occupation_rows(counts, shares=BY_SOURCE)), fairness.gaps(counts)
    assert found["test_size", ""] == 300
    assert found["accuracy", ""] == fairness.accuracy(counts)
    assert found["independence", ""] == fairness.independence(counts)
    for name in ("tpr", "fpr", "precision"):
        rate = getattr(gaps, name)
        assert found[f"{name}_gap_sum", ""] == rate.gap_sum()
        for source, share in BY_SOURCE.items():
            assert found[f"{name}_gap_pearson", source] == rate.gap_pearson(share)
    for aggregate in ("absdiff", "sum"):
        assert found["separation", aggregate] == fairness.separation(counts, aggregate=aggregate)
        assert found["sufficiency", aggregate] == fairness.sufficiency(counts, aggregate=aggregate)
        free = fairness.sufficiency(counts, aggregate=aggregate, distance="order-free")
        assert found["sufficiency", f"{aggregate}-order-free"] == free
    assert (found["undefined_cells"] == 0).all()


def test_what_is_undefined_stays_so_and_is_counted(counts):
    """Class 0 has no women, and nobody but class 0 is ever predicted as 1: no woman is."""
    counts = counts.copy()
    counts[1, 0] = counts[:, 1:, 1] = 0
    found = value_of(occupation_rows(counts, shares={"labour": np.full(K, np.nan)}))
    assert found["tpr_gap_pearson"].isna().all() and not np.isnan(found["tpr_gap_sum", ""])
    expected = {"tpr": 1, "fpr": 0, "precision": 1, "separation": 1, "sufficiency": 1}
    assert found["undefined_cells"].to_dict() == expected
    empty = value_of(occupation_rows(np.zeros_like(counts), shares=BY_SOURCE))
    assert empty["test_size", ""] == 0 and empty["undefined_cells", "tpr"] == 2 * K
    assert all(empty[metric].isna().all() for metric in {name for name, _ in ROWS} - {"test_size", "undefined_cells"})


def test_heads_together_equal_one_by_one():
    many = tables(7)
    together = occupation_rows_of_heads(many, range(7), shares=BY_SOURCE)
    one_by_one = [occupation_rows(one, shares=BY_SOURCE).assign(head_seed=str(i)) for i, one in enumerate(many)]
    pd.testing.assert_frame_equal(together, pd.concat(one_by_one, ignore_index=True)[together.columns])


def test_only_the_sources_that_are_given(counts):
    found = value_of(occupation_rows(counts, shares={"labour": LABOUR, "train": TRAIN}))
    assert found["tpr_gap_pearson"].index.tolist() == ["train", "labour"]


def test_rows_fit_the_table_of_scores():
    rows = occupation_rows_of_heads(tables(3), [0, 5, 11], shares=BY_SOURCE)
    table = tidy(rows, paper="internal", task="occupation", encoder="roberta", setting="raw", stage="after", seed="0")
    assert len(table) == 3 * len(ROWS)


@pytest.mark.parametrize(
    ("shares", "named"),
    [
        ({}, "labour"),
        ({"census": TRAIN}, "census"),
        ({"train": TRAIN[:4]}, "train"),
        ({"train": TRAIN, "test": 100 * TRAIN}, "test: class 0"),
        ({"labour": [0.1, 0.2, -0.3, 0.4, 0.5]}, "labour: class 2"),
    ],
)
def test_wrong_shares_are_refused(counts, shares, named):
    with pytest.raises(BiasflowError, match=named):
        occupation_rows(counts, shares=shares)


def test_wrong_tables_and_seeds_are_refused(counts):
    with pytest.raises(BiasflowError, match="counts of shape"):
        occupation_rows(counts[None], shares=BY_SOURCE)
    for seeds in ([0], [0, 1, 2]):
        with pytest.raises(BiasflowError, match="head seeds"):
            occupation_rows_of_heads(np.stack([counts, counts]), seeds, shares=BY_SOURCE)
    with pytest.raises(BiasflowError, match="head seeds 0, 0"):
        occupation_rows_of_heads(np.stack([counts, counts]), [0, "0"], shares=BY_SOURCE)
