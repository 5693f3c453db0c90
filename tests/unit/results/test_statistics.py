import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from biasflow.base.errors import BiasflowError
from biasflow.papers.published import read_published
from biasflow.results.statistics import (
    cluster_interval,
    correlation,
    correlations,
    false_discovery_rates,
    holm,
    mean_of_units,
    paired_permutation,
    paired_permutations,
    t_interval,
)

METHODS = ("spearman", "pearson", "kendall")


def test_published_strength_and_fairness():
    """The specification: rho(S, eta) of the printed table 7 is -0.038, p = 0.743."""
    printed = read_published("dawkins2024", "table7")
    found = correlation(printed["strength"], printed["fairness"], "spearman")
    assert (round(found.estimate, 3), round(found.p, 3), found.n, found.reason) == (-0.038, 0.743, 76, "")
    assert found.low < found.estimate < found.high


@pytest.mark.parametrize("method", METHODS)
def test_perfect_agreement(method):
    x = np.arange(10.0)
    assert correlation(x, 2 * x + 1, method).estimate == pytest.approx(1)
    assert correlation(x, -x, method).estimate == pytest.approx(-1)


def test_agrees_with_scipy():
    x, y = np.random.default_rng(3).normal(size=(2, 40))
    assert correlation(x, y, "kendall").p == stats.kendalltau(x, y).pvalue
    assert correlation(x, y, "pearson").estimate == stats.pearsonr(x, y).statistic


@pytest.mark.parametrize("method", METHODS)
def test_the_interval_covers_the_truth(method):
    x = np.random.default_rng(0).normal(size=60)
    found = correlation(x, x + np.random.default_rng(1).normal(size=60), method)
    truth = {"pearson": 0.5**0.5, "spearman": 6 / np.pi * np.arcsin(0.5**1.5), "kendall": 0.5}[method]
    assert -1 <= found.low < truth < found.high <= 1 and found.low < found.estimate < found.high


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


@pytest.mark.parametrize("method", ["spearman", "kendall"])
@pytest.mark.parametrize("n", [8, 12, 20])
def test_two_exchanged_neighbours_do_not_make_the_interval_of_ranks_as_wide_as_can_be(method, n):
    x, y = np.arange(n), np.arange(n)
    y[[2, 3]] = y[[3, 2]]
    found = correlation(x, y, method)
    assert 0.3 < found.low <= found.estimate <= found.high < 1


def test_the_jackknife_by_hand():
    """Six pairs: z without each, their spread times sqrt(5 / 6), and t of five degrees of freedom."""
    x, y = np.arange(6.0), np.array([0, 2, 1, 3, 5, 4.0])
    z = np.arctanh([np.corrcoef(np.delete(x, i), np.delete(y, i))[0, 1] for i in range(6)])
    half = 2.570582 * np.sqrt(5 / 6 * ((z - z.mean()) ** 2).sum())
    found = correlation(x, y, "pearson")
    assert (found.low, found.high) == pytest.approx(
        tuple(np.tanh(np.arctanh(found.estimate) + half * np.array([-1, 1])))
    )


def test_there_is_no_interval_of_few_pairs_or_of_no_spread():
    x, y = np.random.default_rng(0).normal(size=(2, 7))
    assert np.isfinite(correlation(x, y, "pearson").low) and np.isnan(correlation(x[:5], y[:5], "pearson").low)
    assert np.isnan(correlation(x, y, "spearman").low) and np.isnan(correlation(x, y, "kendall").high)
    assert np.isnan(correlation(np.arange(9.0), np.arange(9.0), "spearman").low)  # 1 without any pair, too


def test_pairs_that_come_in_clusters_have_a_wider_interval_over_these():
    """Two numbers told twenty times are not forty."""
    x, y = np.random.default_rng(5).normal(size=(2, 6)).repeat(20, axis=1)
    alone, together = correlation(x, y), cluster_interval(x, y, np.repeat(np.arange(6), 20))
    assert together[1] - together[0] > 2 * (alone.high - alone.low)
    assert np.isnan(cluster_interval(x, y, np.repeat([0, 1], 60))).all()


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


@pytest.mark.parametrize(
    ("x", "y", "method"),
    [([1, 2, 3], [1, 2], "pearson"), ([1, 2, 3], [1, 2, 3], "cosine"), ([1, 2, math.nan], [1, 2, 3], "kendall")],
)
def test_wrong_input_is_refused(x, y, method):
    with pytest.raises(BiasflowError):
        correlation(x, y, method)


def test_ten_equal_differences():
    higher, lower = np.full(10, 0.3), np.full(10, 0.1)
    assert paired_permutation(higher, lower) == 2 / 1024
    assert paired_permutation(higher, lower, alternative="greater") == 1 / 1024
    assert paired_permutation(lower, higher, alternative="greater") == 1


def test_no_difference_and_a_single_pair_show_nothing():
    assert paired_permutation([1, 2, 3], [1, 2, 3]) == 1
    assert paired_permutation([1], [2]) == 1


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


@pytest.mark.parametrize(("a", "b"), [([], []), ([1, 2], [1]), ([1, math.inf], [1, 2])])
def test_pairs_that_do_not_pair_are_refused(a, b):
    with pytest.raises(BiasflowError):
        paired_permutation(a, b)


def test_an_unknown_alternative_is_refused():
    with pytest.raises(BiasflowError, match="less"):
        paired_permutation([1, 2], [1, 1], alternative="less")


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


def test_holm_leaves_out_what_was_not_tested():
    found = holm([0.01, math.nan, 0.04])
    assert found[[0, 2]] == pytest.approx([0.02, 0.04]) and math.isnan(found[1])
    assert np.isnan(holm([math.nan])).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_lies_between_p_and_bonferroni_and_keeps_the_order(p):
    found, p = holm(p), np.array(p)
    assert (found >= p - 1e-12).all() and (found <= np.minimum(1, len(p) * p) + 1e-12).all()
    assert (np.diff(found[np.argsort(p, kind="stable")]) >= -1e-12).all()


@pytest.mark.parametrize("p", [[0.01, 0.02, 0.02, 0.5, 0.049], [1.0], [0.0, 0.0, 1e-300, 0.2]])
def test_holm_is_that_of_statsmodels(p):
    assert holm(p).tolist() == multipletests(p, method="holm")[1].tolist()


@pytest.mark.parametrize("wrong", [[0.5, 1.1], [-0.1], 0.5])
def test_holm_refuses_what_is_no_list_of_p_values(wrong):
    with pytest.raises(BiasflowError):
        holm(wrong)


def test_the_mean_of_units_is_scipys_t_test_from_six_units_on():
    values = np.array([0.3, -0.1, 0.4, 0.2, 0.6, 0.1])
    mean, low, high, p = mean_of_units(values)
    expected = stats.ttest_1samp(values, 0)
    interval = expected.confidence_interval()
    assert (mean, low, high, p) == pytest.approx((values.mean(), interval.low, interval.high, expected.pvalue))
    assert np.isnan(mean_of_units(values[:5])[1:]).all() and mean_of_units(values[:5])[0] == pytest.approx(0.28)
    assert mean_of_units(np.ones(6))[3] == 0 and mean_of_units(np.zeros(6))[3] == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_false_discovery_rates_are_those_of_statsmodels(p):
    found = false_discovery_rates([*p, np.nan])
    assert np.isnan(found[-1]) and found[:-1] == pytest.approx(multipletests(p, method="fdr_bh")[1])
    assert np.isnan(false_discovery_rates([np.nan])).all()


def test_t_interval_by_hand():
    # Three values: half width t(2) sd / sqrt(3) = 4.30265 x 0.01 / 1.73205.
    assert t_interval(np.array([0.51, 0.52, 0.53])) == pytest.approx((0.495159, 0.544841), abs=1e-6)
    for too_few in ([0.5], [0.5, 0.6]):
        assert np.isnan(t_interval(np.array(too_few))).all()


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=12), st.floats(0.5, 0.98))
def test_t_interval_holds_the_mean_and_grows_with_confidence(values, confidence):
    values = np.array(values)
    low, high = t_interval(values, confidence=confidence)
    wider = t_interval(values, confidence=confidence + 0.01)
    assert low - 1e-9 <= values.mean() <= high + 1e-9
    assert wider[0] <= low + 1e-9 and wider[1] >= high - 1e-9
