import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from biasflow.results.statistics import (
    cluster_interval,
    correlation,
    correlations,
    false_discovery_rates,
    holm,
    mean_of_units,
    paired_permutation,
    paired_permutations,
)

METHODS = ("spearman", "pearson", "kendall")


SCIPY = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}
PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=8, max_size=16)


def by_scipy(method, x, y):
    """NaN where a side is constant."""
    return float("nan") if np.ptp(x) == 0 or np.ptp(y) == 0 else SCIPY[method](x, y).statistic


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40)
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


def test_the_jackknife_by_hand():
    """Six pairs: z without each, their spread times sqrt(5 / 6), and t of five degrees of freedom."""
    x, y = np.arange(6.0), np.array([0, 2, 1, 3, 5, 4.0])
    z = np.arctanh([np.corrcoef(np.delete(x, i), np.delete(y, i))[0, 1] for i in range(6)])
    half = 2.570582 * np.sqrt(5 / 6 * ((z - z.mean()) ** 2).sum())
    found = correlation(x, y, "pearson")
    assert (found.low, found.high) == pytest.approx(
        tuple(np.tanh(np.arctanh(found.estimate) + half * np.array([-1, 1])))
    )


@settings(max_examples=30)
@given(st.lists(st.integers(-50, 50), min_size=4, max_size=15, unique=True), st.randoms())
def test_spearman_sees_ranks_only_and_pearson_no_scale(x, random):
    y = x[:]
    random.shuffle(y)
    x, y = np.array(x, float), np.array(y, float)
    assert correlation(x**3, np.exp(y / 50), "spearman").estimate == pytest.approx(
        correlation(x, y, "spearman").estimate
    )
    assert correlation(3 * x - 7, y, "pearson").estimate == pytest.approx(correlation(x, y, "pearson").estimate)
    for method in METHODS:
        assert correlation(y, x, method).estimate == pytest.approx(correlation(x, y, method).estimate)
        assert correlation(x[::-1], y[::-1], method).estimate == pytest.approx(correlation(x, y, method).estimate)


@pytest.mark.parametrize(("x", "y"), [([1, 2], [3, 4]), ([], []), ([1, 1, 1, 1], [1, 2, 3, 4]), ([1, 2, 3], [0, 0, 0])])
def test_what_cannot_be_computed_has_a_reason(x, y):
    found = correlation(x, y, "spearman")
    assert math.isnan(found.estimate) and math.isnan(found.p) and found.reason and found.n == len(x)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8))
def test_exact_p_is_the_share_of_sign_patterns(differences):
    sums = np.array([np.dot(signs, differences) for signs in itertools.product((1, -1), repeat=len(differences))])
    expected = np.mean(abs(sums) >= abs(sum(differences)))
    # Tenths are not exact in floating point: patterns that tie must still count.
    scaled = np.array(differences) / 10
    assert paired_permutation(scaled, np.zeros(len(scaled))) == pytest.approx(expected)
    assert paired_permutation(np.zeros(len(scaled)), scaled) == pytest.approx(expected)
    greater = paired_permutation(scaled, np.zeros(len(scaled)), alternative="greater")
    assert greater == pytest.approx(np.mean(sums >= sum(differences)))


def test_many_pairs_are_sampled_with_the_seed():
    a = np.random.default_rng(0).normal(0.3, 1, size=30)
    b = np.zeros(30)
    p = paired_permutation(a, b, samples=20_000)
    assert p == paired_permutation(a, b, samples=20_000)
    oracle = stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", n_resamples=20_000, rng=0
    )
    assert p == pytest.approx(oracle.pvalue, abs=0.02)
    assert paired_permutation(a + 5, b, samples=999) == 1 / 1000
    greater = paired_permutation(a, b, samples=20_000, alternative="greater")
    assert greater == pytest.approx(p / 2, abs=0.01) and paired_permutation(a - 5, b, alternative="greater") == 1


@given(st.integers(0, 1000), st.integers(2, 24))
@settings(max_examples=15, deadline=None)
def test_many_permutation_tests_are_those_of_each_column_without_its_gaps(seed, n):
    generator = np.random.default_rng(seed)
    differences = np.where(generator.random((n, 6)) < 0.2, np.nan, generator.normal(0.3, 1, (n, 6)))
    differences[:, 0] = np.nan
    found = paired_permutations(differences, samples=3000)
    assert np.isnan(found[0])
    for own, p in zip(differences.T[1:], found[1:], strict=True):
        own = own[np.isfinite(own)]
        if len(own):
            assert p == paired_permutation(own, np.zeros(len(own)), samples=3000)


@pytest.mark.parametrize("method", ["pearson", "spearman"])
@pytest.mark.parametrize("n", [2, 3, 11])
def test_many_correlations_are_those_of_each_pair(method, n):
    generator = np.random.default_rng(n)
    x, y = generator.normal(size=(n, 3)), generator.normal(size=(n, 4)).round(1)
    y[:, 2] = 7.0
    found = correlations(x, y, method)
    for i, j in itertools.product(range(3), range(4)):
        one = correlation(x[:, i], y[:, j], method)
        ours = [getattr(found, name)[i, j] for name in ("estimate", "p", "low", "high")]
        assert ours == pytest.approx([one.estimate, one.p, one.low, one.high], nan_ok=True) and found.n == one.n


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1, 1])
    assert len(holm([])) == 0


@pytest.mark.parametrize("p", [[0.01, 0.02, 0.02, 0.5, 0.049], [1.0], [0.0, 0.0, 1e-300, 0.2]])
def test_holm_is_that_of_statsmodels(p):
    assert holm(p).tolist() == multipletests(p, method="holm")[1].tolist()


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
