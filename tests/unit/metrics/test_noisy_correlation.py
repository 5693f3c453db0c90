"""The interval of a correlation of gaps: known answers, properties, and how often it covers the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.coverage import RATES, Classifier, coverage_of_gaps
from biasflow.metrics.noisy_correlation import correlation_interval

SHARES = np.linspace(0.05, 0.95, 28)


def of(y, noise):
    return correlation_interval(SHARES, y, np.full(len(SHARES), noise))


def test_without_noise_to_speak_of_the_interval_is_the_value():
    y = SHARES + np.random.default_rng(0).normal(scale=0.3, size=28)
    r = np.corrcoef(SHARES, y)[0, 1]
    assert of(y, 1e-10) == pytest.approx((r, r), abs=1e-3)
    assert of(-y, 1e-10) == pytest.approx((-r, -r), abs=1e-3)


def test_noise_hides_a_correlation_and_the_interval_says_how_large_it_may_be():
    """A line with noise as large as its own spread: the data correlate at about .7, the truth at 1."""
    y = SHARES + np.random.default_rng(0).normal(scale=SHARES.std(), size=28)
    low, high = of(y, SHARES.var())
    assert np.corrcoef(SHARES, y)[0, 1] < 0.85 < low + 0.3 and high > 0.97


def test_what_has_no_interval():
    assert np.isnan(of(np.zeros(28), 0.1)).all() and np.isnan(of(SHARES**2, 0.0)).all()
    assert np.isnan(correlation_interval(SHARES[:5], SHARES[:5], [0.1] * 5)).all()
    y = np.where(np.arange(28) < 23, np.nan, SHARES)
    assert np.isnan(of(y, 0.1)).all()  # five points that have both


@settings(deadline=None, max_examples=60)
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


@pytest.mark.parametrize("r", [0.2, 0.5, 0.8, 0.95])
def test_the_truth_is_covered_at_the_projects_own_sizes(r):
    found = coverage_of_gaps(Classifier(professions=28, people=20, r=r), replications=60)
    assert (found[list(RATES)] >= 0.85).all(), found
    assert r < 0.8 or found["percentile"] < 0.1
