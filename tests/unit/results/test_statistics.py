import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.papers.published import read_published
from scripts.biasflow.results.statistics import correlation, paired_permutation

METHODS = ("spearman", "pearson", "kendall")


def few(x, y, method, **options):
    return correlation(x, y, method, resamples=40, **options)


def test_published_strength_and_fairness():
    """The specification: rho(S, eta) of the printed table 7 is -0.038, p = 0.743."""
    printed = read_published("dawkins2024_table7")
    found = correlation(printed["strength"], printed["fairness"], "spearman")
    assert (round(found.estimate, 3), round(found.p, 3), found.n, found.reason) == (-0.038, 0.743, 76, "")
    assert found.low < found.estimate < found.high


@pytest.mark.parametrize("method", METHODS)
def test_perfect_agreement(method):
    x = np.arange(10.0)
    assert few(x, 2 * x + 1, method).estimate == pytest.approx(1)
    assert few(x, -x, method).estimate == pytest.approx(-1)


def test_agrees_with_scipy():
    x, y = np.random.default_rng(3).normal(size=(2, 40))
    assert few(x, y, "kendall").p == stats.kendalltau(x, y).pvalue
    assert few(x, y, "pearson").estimate == stats.pearsonr(x, y).statistic


@pytest.mark.parametrize("method", METHODS)
def test_the_interval_covers_the_truth_and_follows_the_seed(method):
    x = np.random.default_rng(0).normal(size=60)
    y = x + np.random.default_rng(1).normal(size=60)
    a, b, c = (few(x, y, method, seed=seed) for seed in (0, 0, 1))
    assert -1 <= a.low < a.estimate < a.high <= 1
    assert a == b and a.low != c.low


@settings(max_examples=30)
@given(st.lists(st.integers(-50, 50), min_size=4, max_size=15, unique=True), st.randoms())
def test_spearman_sees_ranks_only_and_pearson_no_scale(x, random):
    y = x[:]
    random.shuffle(y)
    x, y = np.array(x, float), np.array(y, float)
    assert few(x**3, np.exp(y / 50), "spearman").estimate == pytest.approx(few(x, y, "spearman").estimate)
    assert few(3 * x - 7, y, "pearson").estimate == pytest.approx(few(x, y, "pearson").estimate)
    for method in METHODS:
        assert few(y, x, method).estimate == pytest.approx(few(x, y, method).estimate)
        assert few(x[::-1], y[::-1], method).estimate == pytest.approx(few(x, y, method).estimate)


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
    assert paired_permutation(np.full(10, 0.3), np.full(10, 0.1)) == 2 / 1024


def test_no_difference_and_a_single_pair_show_nothing():
    assert paired_permutation([1, 2, 3], [1, 2, 3]) == 1
    assert paired_permutation([1], [2]) == 1


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8))
def test_exact_p_is_the_share_of_sign_patterns(differences):
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in
            itertools.product((1, -1), repeat=len(differences))]  # fmt: skip
    expected = np.mean(np.array(sums) >= abs(sum(differences)))
    # Tenths are not exact in floating point: patterns that tie must still count.
    scaled = np.array(differences) / 10
    assert paired_permutation(scaled, np.zeros(len(scaled))) == pytest.approx(expected)
    assert paired_permutation(np.zeros(len(scaled)), scaled) == pytest.approx(expected)


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


@pytest.mark.parametrize(("a", "b"), [([], []), ([1, 2], [1]), ([1, math.inf], [1, 2])])
def test_pairs_that_do_not_pair_are_refused(a, b):
    with pytest.raises(BiasflowError):
        paired_permutation(a, b)
