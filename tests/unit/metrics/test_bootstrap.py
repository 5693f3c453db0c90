"""Bootstrap intervals over items, whole groups, or within strata."""

import numpy as np
import pytest

from scripts.biasflow.metrics.bootstrap import interval, weighted_mean

VALUES = np.random.default_rng(1).normal(size=200)


def mean_of(values):
    return lambda counts: weighted_mean(counts, values)


def test_the_interval_of_a_mean_is_about_two_standard_errors():
    low, high = interval(mean_of(VALUES), np.arange(len(VALUES)))
    error = VALUES.std() / np.sqrt(len(VALUES))
    assert (low, high) == pytest.approx((VALUES.mean() - 1.96 * error, VALUES.mean() + 1.96 * error), abs=0.02)
    assert interval(mean_of(VALUES), np.arange(len(VALUES))) == (low, high)
    assert interval(mean_of(VALUES), np.arange(len(VALUES)), seed=1) != (low, high)


def test_groups_are_drawn_whole():
    """Two hundred items that are twenty, ten times over, say no more than twenty."""
    twenty = np.repeat(VALUES[:20], 10)
    whole = interval(mean_of(twenty), np.repeat([f"g{i}" for i in range(20)], 10))
    alone = interval(mean_of(VALUES[:20]), np.arange(20))
    assert np.ptp(whole) == pytest.approx(np.ptp(alone), rel=0.1)
    assert np.ptp(interval(mean_of(twenty), np.arange(200))) < np.ptp(whole) / 2


def test_strata_keep_their_sizes():
    groups = np.repeat([0, 1], [150, 50])

    def sizes(counts):
        return np.stack([counts[:, groups == group].sum(axis=1) for group in (0, 1)], axis=-1)

    low, high = interval(sizes, groups, strata=True)
    assert low.tolist() == high.tolist() == [150, 50]


def test_resamples_without_an_estimate_are_left_out():
    rare = np.arange(200) == 0
    low, high = interval(lambda counts: weighted_mean(counts[:, rare], VALUES[rare]), np.arange(200))
    assert low == high == pytest.approx(VALUES[0])
