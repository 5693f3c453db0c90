"""Statistics over seeds, resamples and power: known answers and properties."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from biasflow.results.bootstrap import drawn_tables, ends, interval, share_interval, weighted_mean
from biasflow.results.power import families, power
from biasflow.results.scores import concatenate, tidy
from biasflow.results.statistics import (
    cluster_interval,
    correlation,
    false_discovery_rates,
    holm,
    mean_of_units,
    paired_permutations,
    seeds_needed,
    split_interval,
)

METHODS = ("spearman", "pearson", "kendall")


SCIPY = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}
PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=8, max_size=16)


def by_scipy(method, x, y):
    """NaN where a side is constant."""
    return float("nan") if np.ptp(x) == 0 or np.ptp(y) == 0 else SCIPY[method](x, y).statistic


@pytest.mark.parametrize("method", METHODS)
@given(pairs=PAIRS, n=st.integers(6, 16))
def test_the_interval_is_that_of_scipys_estimates_without_each_cluster(method, pairs, n):
    x, y = 0.1 * np.array(pairs, float).T
    n = min(n, len(x))
    clusters = np.arange(len(x)) % n
    without = [clusters != each for each in range(n)]
    r = [by_scipy(method, x[kept], y[kept]) for kept in (*without, np.full(len(x), True))]
    found = cluster_interval(x, y, clusters.astype(str), method)
    if np.isnan(r).any():
        assert np.isnan(found).all()
        return
    # 1 counts as half-way to the next correlation of ranks; without a cluster as of one pair less.
    m = np.array([len(x) - 1] * n + [len(x)], float)
    most = 1 - {"pearson": 1e-12, "spearman": 6 / (m**3 - m), "kendall": 2 / (m**2 - m)}[method]
    *z, middle = np.arctanh(np.clip(r, -most, most))
    spread = np.std(z, ddof=1) if np.ptp(z) > 1e-6 else np.nan
    half = stats.t.ppf(0.975, n - 1) * (n - 1) / np.sqrt(n) * spread
    assert found == pytest.approx((np.tanh(middle - half), np.tanh(middle + half)), abs=1e-6, nan_ok=True)
    assert np.isnan(cluster_interval(x, y, clusters % 5, method)).all()


@pytest.mark.parametrize(("x", "y"), [([1, 2], [3, 4]), ([], []), ([1, 1, 1, 1], [1, 2, 3, 4]), ([1, 2, 3], [0, 0, 0])])
def test_what_cannot_be_computed_has_a_reason(x, y):
    found = correlation(x, y, "spearman")
    assert math.isnan(found.estimate) and math.isnan(found.p) and found.reason and found.n == len(x)


def p_of(differences, **options):
    return paired_permutations(differences[:, None], **options)[0]


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8))
def test_exact_p_is_the_share_of_sign_patterns(differences):
    sums = np.array([np.dot(signs, differences) for signs in itertools.product((1, -1), repeat=len(differences))])
    expected = np.mean(abs(sums) >= abs(sum(differences)))
    # Tenths are not exact in floating point: patterns that tie must still count.
    scaled = np.array(differences) / 10
    assert p_of(scaled) == pytest.approx(expected)
    assert p_of(-scaled) == pytest.approx(expected)
    greater = p_of(scaled, alternative="greater")
    assert greater == pytest.approx(np.mean(sums >= sum(differences)))


def test_many_pairs_are_sampled_with_the_seed():
    a = np.random.default_rng(0).normal(0.3, 1, size=30)
    p = p_of(a, samples=20_000)
    assert p == p_of(a, samples=20_000)
    oracle = stats.permutation_test(
        (a, np.zeros(30)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        rng=0,
    )
    assert p == pytest.approx(oracle.pvalue, abs=0.02)
    assert p_of(a + 5, samples=999) == 1 / 1000
    greater = p_of(a, samples=20_000, alternative="greater")
    assert greater == pytest.approx(p / 2, abs=0.01) and p_of(a - 5, alternative="greater") == 1


@given(st.integers(0, 1000), st.integers(2, 24))
@settings(max_examples=15)
def test_many_permutation_tests_are_those_of_each_column_without_its_gaps(seed, n):
    generator = np.random.default_rng(seed)
    differences = np.where(generator.random((n, 6)) < 0.2, np.nan, generator.normal(0.3, 1, (n, 6)))
    differences[:, 0] = np.nan
    found = paired_permutations(differences, samples=3000)
    assert np.isnan(found[0])
    for own, p in zip(differences.T[1:], found[1:], strict=True):
        own = own[np.isfinite(own)]
        if len(own):
            assert p == p_of(own, samples=3000)


@pytest.mark.parametrize("p", [[0.01, 0.02, 0.02, 0.5, 0.049], [1.0], [0.0, 0.0, 1e-300, 0.2], [0.5, 0.9]])
def test_holm_is_that_of_statsmodels(p):
    assert holm(p).tolist() == multipletests(p, method="holm")[1].tolist()


def test_five_splits_have_an_interval_1_63_times_as_wide_as_as_many_independent_values():
    """1 / 5 + 1 / 3 instead of 1 / 5 times the variance: a quarter of the people is tested in each."""
    assert split_interval([1, 2, 3, 4, 5]) == pytest.approx((3 - 3.2060, 3 + 3.2060), abs=1e-4)
    assert np.isnan(split_interval([1, 2])).all()


def test_the_mean_of_units_is_scipys_t_test_from_six_units_on():
    values = np.array([0.3, -0.1, 0.4, 0.2, 0.6, 0.1])
    mean, low, high, p = mean_of_units(values)
    expected = stats.ttest_1samp(values, 0)
    interval = expected.confidence_interval()
    assert (mean, low, high, p) == pytest.approx((values.mean(), interval.low, interval.high, expected.pvalue))
    assert np.isnan(mean_of_units(values[:5])[1:]).all() and mean_of_units(values[:5])[0] == pytest.approx(0.28)
    assert mean_of_units(np.ones(6))[1:] == (1, 1, 0) and mean_of_units(np.zeros(6))[3] == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_false_discovery_rates_are_those_of_statsmodels(p):
    found = false_discovery_rates([*p, np.nan])
    assert np.isnan(found[-1]) and found[:-1] == pytest.approx(multipletests(p, method="fdr_bh")[1])
    assert np.isnan(false_discovery_rates([np.nan])).all()


VALUES = np.random.default_rng(1).normal(size=200)


def mean_of(values):
    return lambda counts: weighted_mean(counts, values)


def width(ends):
    return ends.high - ends.low


def test_groups_are_drawn_whole():
    """Two hundred items that are twenty, ten times over, say no more than twenty."""
    twenty = np.repeat(VALUES[:20], 10)
    whole = interval(mean_of(twenty), np.repeat([f"g{i}" for i in range(20)], 10))
    alone = interval(mean_of(VALUES[:20]), np.arange(20))
    assert width(whole) == pytest.approx(width(alone), rel=0.1)
    assert width(interval(mean_of(twenty), np.arange(200))) < width(whole) / 2


@pytest.mark.parametrize("n", [6, 20])
def test_resamples_for_differences_reach_as_far_as_students_t(n):
    """Of n values their mean varies by sd / sqrt(n), and is known to t(n - 1) times that in place of 1.96."""
    values = VALUES[:n]
    reached = interval(mean_of(values), np.arange(n)).resampled
    wide = values.std(ddof=1) / np.sqrt(n) * stats.t.ppf(0.975, n - 1) / stats.norm.ppf(0.975)
    assert reached.std() == pytest.approx(wide, rel=0.03)


def test_fewer_than_six_units_have_no_interval():
    """Units are groups that are drawn whole, or items that are free within strata: all but one in each, and one."""
    assert np.isnan(width(interval(mean_of(VALUES[:5]), np.arange(5))))
    assert width(interval(mean_of(VALUES[:6]), np.arange(6))) > 0
    assert np.isnan(width(interval(mean_of(VALUES[:60]), np.arange(60) // 12)))
    assert np.isnan(width(interval(mean_of(VALUES[:6]), np.repeat([0, 1], 3), strata=True)))
    assert width(interval(mean_of(VALUES[:8]), np.repeat([0, 1], 4), strata=True)) > 0


@given(st.lists(st.floats(-5, 5), min_size=6, max_size=12), st.integers(1, 4))
def test_every_interval_holds_its_value_whatever_the_estimate(values, power):
    """Also an estimate that resampling moves, such as a range or a small variance."""
    values = np.array(values)

    def estimate(counts):
        drawn = np.where(counts[..., None] > 0, values[:, None], np.nan)[..., 0]
        spread = np.nanmax(drawn, axis=-1) - np.nanmin(drawn, axis=-1)
        return np.stack([spread**power, -spread], axis=-1)

    low, high, resampled = interval(estimate, np.arange(len(values)), resamples=50)
    of_data = estimate(np.ones((1, len(values))))[0]
    assert (low <= of_data).all() and (of_data <= high).all() and resampled.shape == (2, 50)


def test_a_reflected_interval_without_a_width_is_none():
    """Sums of gaps that are 0 in the data are 0 in every resample, whatever another sample would give."""
    found = ends(np.array([[0.0, 0.2], [0.0, 0.3], [0.0, 0.4]]), [0.0, 0.3], reflected=True)
    assert np.isnan(found[0][0]) and np.isnan(found[1][0]) and found[0][1] < 0.3 < found[1][1]


def test_shares_have_the_printed_intervals():
    """Jeffreys' interval of 0 to 5 of 10 (Brown, Cai and DasGupta 2001, table 5: to three decimals from 0 to 0.217)."""
    low, high = share_interval(np.arange(6), 10)
    assert low.round(3).tolist() == [0, 0.011, 0.044, 0.093, 0.153, 0.224]
    assert high.round(3).tolist() == [0.217, 0.381, 0.503, 0.606, 0.696, 0.776]
    assert share_interval(10, 10) == pytest.approx((1 - 0.217, 1), abs=1e-3)
    assert np.isnan(share_interval(0, 0)).all()


def test_drawn_tables_are_those_of_drawn_people():
    table, cells = np.array([[30, 0], [50, 20]]), np.repeat(range(4), [30, 0, 50, 20])
    drawn = drawn_tables(cells, (2, 2), resamples=4000)
    assert drawn.shape == (4000, 2, 2) and (drawn.sum(axis=(1, 2)) == 100).all() and not drawn[:, 0, 1].any()
    assert drawn.mean(axis=0) == pytest.approx(table, abs=0.5)
    assert drawn[:, 0, 0].var() == pytest.approx(100 * 0.3 * 0.7, rel=0.1)
    assert not drawn_tables(cells[:0], (2, 2), resamples=3).any()
    other = drawn_tables(np.where(np.arange(100) == 7, 3, cells), (2, 2), resamples=4000)  # one of them is elsewhere
    assert (other[:, 1, 1] - drawn[:, 1, 1] == drawn[:, 0, 0] - other[:, 0, 0]).all()
    assert (other[:, 1, 1] - drawn[:, 1, 1]).var() == pytest.approx(0.99, rel=0.1)
    pairs = drawn_tables(np.arange(100), (2, 50), resamples=100, pairs=True)
    assert (pairs[:, 0] == pairs[:, 1]).all() and pairs[:, 0].var() == pytest.approx(0.98, rel=0.1)


@pytest.mark.parametrize(("effect", "n"), [(0.2, 394), (0.5, 64), (0.8, 26), (1.0, 17)])
def test_seeds_are_those_of_the_usual_tables(effect, n):
    """Cohen (1992, table 2) prints 393, 64 and 26 for 80 % power at 5 %; the first is 394 by the exact distribution."""
    assert seeds_needed(2.0, 2 * effect) == n


def of_seeds(values, encoder="bert", task="bios"):
    rows = [
        {"seed": str(seed), "metric": "tpr_gap_sum", "value": value, "low": value - 0.196, "high": value + 0.196}
        for seed, value in enumerate(values)
    ]
    about = {"encoder": encoder, "task": task, "strategy": "plain", "method": "none", "head": "own", "dataset": "raw"}
    return tidy(pd.DataFrame(rows), **about)


def test_encoders_that_are_alike_but_for_the_seed_are_seeds():
    names = pd.DataFrame(
        [
            (f"bert{seed}-{bias}", "encoder", attribute, value)
            for bias in ("0", "1")
            for seed in range(3)
            for attribute, value in (("bias", bias), ("seed", str(seed)))
        ]
        + [("hub", "encoder", "id", "x"), ("mirror", "encoder", "id", "x"), ("nli", "task", "seed", "0")],
        columns=["name", "kind", "attribute", "value"],
    )
    of = families(names)
    assert {of[f"bert{seed}-1"] for seed in range(3)} == {"bert0-1"} and of["bert2-0"] == "bert0-0"
    assert of["hub"] != of["mirror"] and "nli" not in of
    scores = concatenate(of_seeds([1.0 + seed, 1.2 + seed], encoder=f"bert{seed}-1") for seed in range(3))
    found = power(scores, of)
    assert len(found) == 1 and found["seeds"].item() == 3 and found["sd_seeds"].item() == pytest.approx(1.0)
    assert found["sd_items"].item() == pytest.approx(0.1)  # 95 % of a normal one reach 0.196 to either side


def test_what_lies_on_the_unbiased_side_of_neutral_is_no_distance_that_seeds_could_show():
    """A probe below chance has found no bias."""
    scores = of_seeds([0.4, 0.3, 0.5]).assign(metric="probe_accuracy", variant="paper-best")
    found = power(scores, {}).query("measure == 'probe accuracy'")
    assert found["distance"].tolist() == [0] and found["seeds_for_half"].isna().all()


@pytest.mark.parametrize(("n", "p"), [(3, 1 / 3), (4, 1 / 12), (5, 1 / 60), (9, 2 / 362880)])
def test_few_ranks_have_the_exact_p(n, p):
    """Of n! orders two have |rho| = 1: Student's t of three would be 0."""
    assert correlation(range(n), [*range(n)][::-1], "spearman").p == pytest.approx(p)


def test_ties_count_in_the_exact_p():
    """Of the four places of the one 1 among 0, 0, 0 two are at an end, where |rho| is largest."""
    assert correlation([1, 2, 3, 4], [0, 0, 0, 1], "spearman").p == pytest.approx(1 / 2)
