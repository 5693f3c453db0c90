"""Scores of classifications: which there are, what is refused, and their intervals; whether they beat the majority."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.metrics import fairness, occupation
from biasflow.metrics.items import majority
from biasflow.metrics.occupation import Tables, correlation_interval, occupation_rows, score, smallest_gap_seen
from biasflow.registry import METRICS
from biasflow.results.changes import changes, resampled_measures
from biasflow.results.scores import MODEL

K = 5
TRAIN = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
LABOUR = np.array([0.2, np.nan, 0.4, 0.6, 0.5])
BY_SOURCE = {"train": TRAIN, "test": TRAIN**2, "labour": LABOUR}


def tables(heads, n=300):
    rng = np.random.default_rng(heads)
    y, z = rng.integers(K, size=n), rng.integers(2, size=n)
    y_pred = np.where(rng.random((heads, n)) < 0.6, y, rng.integers(K, size=(heads, n)))
    return fairness.counts(y, y_pred, z, n_classes=K)


@pytest.fixture
def counts():
    return tables(1)[0]


def value_of(rows):
    return rows.set_index(["metric", "part", "variant"])["value"]


def test_a_sum_that_is_0_in_the_data_may_be_as_large_as_the_error_of_its_gaps():
    """Two classes, half of 45 and of 105 people right in each: the gap of a class has the standard error
    sqrt(0.25 / 44 + 0.25 / 104) = 0.09, so a true gap of 0.1 in each is not ruled out, and one of 0.4 is."""
    counts = np.array([[[22, 22], [22, 22]], [[52, 52], [52, 52]]])
    found = occupation.intervals(Tables(counts), {})["tpr_gap_sum", "-", "-"]
    assert found.low == 0 and 0.2 < found.high < 0.8


@pytest.mark.parametrize(
    ("people", "gap"),
    [
        ([[26, 26], [26, 26]], 0.29684),  # of two classes
        ([[9] * 12, [9] * 12], 0.3224),
        ([[9] * 16, [9] * 16], 0.3),
        ([[9] * 16 + [50], [9] * 16 + [0]], 0.3),  # a class without women has no gap
        ([[4, 36], [36, 36]], 0.3 * np.sqrt(36 / (12 * np.sqrt(2)))),  # a few are as noisy as they are
        ([[0, 3], [3, 0]], np.nan),
    ],
)
def test_few_people_see_large_gaps_only(people, gap):
    assert smallest_gap_seen(people) == pytest.approx(gap, abs=1e-4, nan_ok=True)


def test_rows_hold_the_measures(counts):
    found, gaps = value_of(occupation_rows(Tables(counts), shares=BY_SOURCE)), fairness.gaps(counts)
    assert found["test_size", "-", "-"] == 300
    assert found["accuracy", "-", "-"] == fairness.accuracy(counts)
    assert found["independence", "-", "-"] == fairness.independence(counts)
    assert (
        found["majority_share", "-", "-"] == counts.sum(axis=(0, 2)).max() / 300
        and found["majority_p", "-", "-"] < 0.01
    )
    for name in ("tpr", "fpr", "precision"):
        rate = getattr(gaps, name)
        assert found[f"{name}_gap_sum", "-", "-"] == rate.gap_sum()
        for source, share in BY_SOURCE.items():
            assert found[f"{name}_gap_pearson", "-", source] == rate.gap_pearson(share)
    for aggregate in ("absdiff", "sum"):
        assert found["separation", "-", aggregate] == fairness.separation_distances(counts).total(aggregate)
        assert found["sufficiency", "-", aggregate] == fairness.sufficiency_distances(counts).total(aggregate)
        free = fairness.sufficiency_distances(counts, distance="order-free").total(aggregate)
        assert found["sufficiency", "-", f"{aggregate}-order-free"] == free
    assert (found["undefined_cells"] == 0).all()


def test_what_is_undefined_stays_so_and_is_counted(counts):
    """Class 0 has no women, and nobody but class 0 is ever predicted as 1: no woman is."""
    counts = counts.copy()
    counts[1, 0] = counts[:, 1:, 1] = 0
    found = value_of(occupation_rows(Tables(counts), shares={"labour": np.full(K, np.nan)}))
    assert found["tpr_gap_pearson"].isna().all() and not np.isnan(found["tpr_gap_sum", "-", "-"])
    expected = {"tpr": 1, "fpr": 0, "precision": 1, "separation": 1, "sufficiency": 1}
    assert found["undefined_cells"].droplevel("variant").to_dict() == expected
    empty = value_of(occupation_rows(Tables(np.zeros_like(counts)), shares=BY_SOURCE))
    assert empty["test_size", "-", "-"] == 0 and empty["undefined_cells", "tpr", "-"] == 2 * K
    scored = empty.drop(["test_size", "undefined_cells"], level="metric")
    assert scored.isna().all() and {"smallest_gap_seen", "largest_label_share"} <= {*scored.index.unique("metric")}


def test_changes_of_gaps_are_of_the_same_people(tmp_path):
    """A method that changes nothing has no change in any resample, and one that changes two people a small one."""
    rng, names, n = np.random.default_rng(1), np.array(["dj", "model", "nurse", "poet", "rapper", "teacher"]), 400
    y, z = rng.integers(6, size=n), rng.integers(2, size=n)
    y_pred = np.where(rng.random(n) < np.where(z == 1, 0.4, 0.8), y, rng.integers(6, size=n))
    few = np.where(np.isin(np.arange(n), [5, 77]), (y_pred + 1) % 6, y_pred)
    tables = []
    for method, predicted in (("none", y_pred), ("same", y_pred), ("few", few)):
        people = pd.DataFrame({"gender": np.array(["M", "F"])[z], "gold": names[y], "predicted": names[predicted]})
        cells = people.assign(people=range(1000, 1000 + n)).groupby(["gender", "gold", "predicted"])["people"].agg(list)
        tables.append(cells.reset_index().sample(frac=1, random_state=len(method)).assign(method=method))
    table = pd.concat(tables).assign(setting="-", head="own", head_seed="-", split_seed="0", share_test=0.5)
    table = table.assign(
        pair="F-M",
        texts=table["people"].map(len),
        share_train=table["gold"].map(dict(zip(names, range(6), strict=True))),
    )
    table.to_parquet(tmp_path / "heads.parquet")
    drawn = resampled_measures(
        score(tmp_path / "heads.parquet"), METRICS["fairness"].rows(), "bios", **dict.fromkeys(MODEL, "-"), dataset="b"
    )
    found = changes(drawn).set_index(["method", "metric"])
    gaps = [f"{name}_change" for name in ("tpr_gap_sum", "independence", "separation", "tpr_gap_pearson")]
    assert (found.loc["same"].loc[gaps, ["value", "low", "high"]] == 0).all(axis=None)
    widths = found.loc["few"].loc[gaps, "high"] - found.loc["few"].loc[gaps, "low"]
    assert (widths > 0).all() and (widths <= [0.2, 0.02, 0.1, 0.7]).all()


def of_people(rng, n, gap):
    """People whose prediction is right with 0.7, for women of three classes less often by `gap`, for the last."""
    y, z = rng.integers(K, size=n), rng.integers(2, size=n)
    right, harmed = rng.random(n) < 0.7, (rng.random(n) < gap) & (z == 1) & (y < 3)
    predicted = np.where(harmed, K - 1, np.where(right, y, rng.integers(K, size=n)))
    return Tables(fairness.counts(y, predicted, z, n_classes=K))


SUMS = ["tpr_gap_sum", "fpr_gap_sum", "precision_gap_sum", "independence", "separation", "sufficiency"]


def test_intervals_reach_neutral_where_there_is_no_bias_and_not_where_there_is(monkeypatch):
    monkeypatch.setattr(occupation, "RESAMPLES", 200)
    rng, ends = np.random.default_rng(0), {}
    for gap in (0.0, 0.5):
        rows = pd.concat([occupation_rows(of_people(rng, 600, gap), shares=BY_SOURCE) for _ in range(30)])
        rows = rows[rows["metric"].isin(SUMS)]
        by_difference = (rows["metric"] == "separation") & (rows["variant"] == "absdiff")
        assert rows.loc[by_difference, ["low", "high"]].isna().all(axis=None)
        rows = rows[~by_difference]
        assert (rows["low"] <= rows["value"]).all() and (rows["value"] <= rows["high"]).all()
        ends[gap] = (rows["low"] == 0).groupby(rows["metric"]).mean()
    assert (ends[0.0] >= 0.85).all()
    assert ends[0.5][["tpr_gap_sum", "independence"]].max() <= 0.1


EVEN_SHARES = np.linspace(0.05, 0.95, 28)


def of(y, noise):
    return correlation_interval(EVEN_SHARES, y, np.full(len(EVEN_SHARES), noise))


def test_what_has_no_interval():
    assert np.isnan(of(np.zeros(28), 0.1)).all() and np.isnan(of(EVEN_SHARES**2, 0.0)).all()
    assert np.isnan(correlation_interval(EVEN_SHARES[:5], EVEN_SHARES[:5], [0.1] * 5)).all()
    y = np.where(np.arange(28) < 23, np.nan, EVEN_SHARES)
    assert np.isnan(of(y, 0.1)).all()  # five points that have both


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(6, 40), st.floats(-6, 3), st.floats(-1, 1), st.floats(0.1, 10))
def test_it_holds_the_value_and_follows_sign_and_scale(seed, k, log_noise, slope, scale):
    rng = np.random.default_rng(seed)
    x, variances = rng.random(k), 10**log_noise * rng.uniform(0.1, 1, size=k)
    y = slope * x + rng.normal(size=k)
    low, high = correlation_interval(x, y, variances)
    r = np.corrcoef(x, y)[0, 1]
    assert -1 <= low <= r + 1e-9 and r - 1e-9 <= high <= 1
    assert correlation_interval(x, -scale * y + 3, scale**2 * variances) == pytest.approx((-high, -low), abs=1e-6)
    order = rng.permutation(k)
    assert correlation_interval(x[order], y[order], variances[order]) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize(
    ("classes", "hits", "share", "p"),  # p: sums of binomial probabilities
    [
        ([18, 18], 20, 0.5, 0.30886),  # 34 of 36 predictions are one label
        ([18, 18], 18, 0.5, 0.56603),  # all are
        ([18, 18], 25, 0.5, 0.01441),
        ([3, 1], 4, 0.75, 0.75**4),
        ([2, 2], 0, 0.5, 1),
        ([5], 5, 1, 1),  # one class: nobody can be better
    ],
)
def test_the_exact_p_of_a_binomial_of_the_majority_share(classes, hits, share, p):
    assert majority(classes, hits) == (pytest.approx(share), pytest.approx(p, abs=5e-6))


def test_many_classifiers_at_once_and_none_without_items():
    share, p = majority([[18, 18], [30, 6]], [[20], [31]])
    assert share.tolist() == pytest.approx([0.5, 5 / 6]) and p.shape == (2, 2)
    assert np.isnan(majority([0, 0], 0)).all()
