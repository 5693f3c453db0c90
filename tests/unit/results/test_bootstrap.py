"""Bootstrap intervals over items, whole groups, or within strata."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.results.bootstrap import drawn_tables, ends, interval, share_interval, weighted_mean

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


def test_fewer_than_six_units_have_no_interval():
    """Units are groups that are drawn whole, or items that are free within strata: all but one in each, and one."""
    assert np.isnan(width(interval(mean_of(VALUES[:5]), np.arange(5))))
    assert width(interval(mean_of(VALUES[:6]), np.arange(6))) > 0
    assert np.isnan(width(interval(mean_of(VALUES[:60]), np.arange(60) // 12)))
    assert np.isnan(width(interval(mean_of(VALUES[:6]), np.repeat([0, 1], 3), strata=True)))
    assert width(interval(mean_of(VALUES[:8]), np.repeat([0, 1], 4), strata=True)) > 0


@settings(deadline=None, max_examples=50)
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
    table = np.array([[30, 0], [50, 20]])
    drawn = drawn_tables(table, resamples=4000)
    assert drawn.shape == (4000, 2, 2) and (drawn.sum(axis=(1, 2)) == 100).all() and not drawn[:, 0, 1].any()
    assert drawn.mean(axis=0) == pytest.approx(table, abs=0.5)
    assert drawn[:, 0, 0].var() == pytest.approx(100 * 0.3 * 0.7, rel=0.1)
    assert not drawn_tables(np.zeros((2, 2), dtype=int), resamples=3).any()
