"""The interval of a correlation of gaps: known answers, properties, and how often it covers the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.metrics.noisy_correlation import correlation_interval

SHARES = np.linspace(0.05, 0.95, 28)


def of(y, noise):
    return correlation_interval(SHARES, y, np.full(len(SHARES), noise))


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
