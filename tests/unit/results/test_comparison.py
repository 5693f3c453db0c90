"""Nearer to neutral, as before, or farther: what the interval of a difference is over, and what it holds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.results.comparison import (
    ITEMS,
    SAME_ITEMS,
    SEEDS,
    change,
    difference_interval,
    distance,
    distances,
    p_of_interval,
    smallest_seen,
    with_items,
)
from biasflow.results.scores import NA
from biasflow.results.statistics import t_interval

NUMBERS = st.floats(-10, 10)


def rows(values, *, seeds=None, half=None, draws=None):
    """Scores of one method: a value for each seed or draw, with an interval of `half` to both sides."""
    n = len(values)
    values = np.array(values, dtype=float)
    half = np.nan if half is None else half
    keys = {"seed": seeds or [NA] * n, "split_seed": NA, "readout_seed": draws or [NA] * n, "head_seed": NA}
    return pd.DataFrame({**keys, "value": values, "low": values - half, "high": values + half})


def test_distances_have_a_side_where_less_or_more_is_better():
    assert distance([0.3, 0.7], 0.5, "neutral").tolist() == pytest.approx([0.2, 0.2])
    assert distance([0.3, 0.7], 0.5, "low").tolist() == pytest.approx([0, 0.2])
    assert distance([0.3, 0.7], 0.5, "high").tolist() == pytest.approx([0.2, 0])


@given(NUMBERS, st.floats(0, 5), st.floats(0, 5), NUMBERS, st.sampled_from(["neutral", "low", "high"]))
def test_every_value_of_an_interval_is_as_far_as_its_distances_say(value, below, above, neutral, better):
    away, least, most = distances([value], [value - below], [value + above], neutral, better)
    between = distance(np.linspace(value - below, value + above, 50), neutral, better)
    assert least[0] <= away[0] + 1e-9 and away[0] <= most[0] + 1e-9
    assert (between >= least[0] - 1e-9).all() and (between <= most[0] + 1e-9).all()


def test_where_lower_is_better_a_value_below_neutral_is_no_bias():
    """A compression of 0.971 [0.946, 0.996]: the code costs more than it saves, which is as far as can be."""
    found = change(rows([0.971], half=0.025), rows([1.2], half=0.05), 1, "low")
    assert found.distance == 0 and found.high < 0 and found.over == ITEMS
    assert change(rows([0.971], half=0.025), rows([0.9], half=0.05), 1, "low")[:4] == (0, 0, 0, 0)


def test_differences_that_are_all_the_same_are_no_interval():
    """Three seeds of a classifier that is as right as before on each: the items say how sure that is."""
    names = ["0", "1", "2"]
    found = change(rows([0.5] * 3, seeds=names, half=0.1), rows([0.5] * 3, seeds=names, half=0.1), 1, "high")
    assert found.over == ITEMS and found.low < 0 < found.high
    assert change(rows([0.4] * 3, seeds=names), rows([0.5] * 3, seeds=names), 1, "high").over == NA
    assert change(rows([0.4], half=0), rows([0.5], half=0), 1, "high").over == NA
    assert change(rows([0.5], half=0), rows([0.5], half=0), 1, "high").over == NA
    assert change(rows([0.4], half=0), rows([0.9], half=0.1), 1, "high").over == NA  # one says how sure it is


def test_three_seeds_are_paired():
    """Seeds differ by far more than the method does, and it does the same on each."""
    names, plain = ["0", "1", "2"], np.array([1.0, 3.0, 5.0])
    found = change(rows(plain - [0.5, 0.6, 0.4], seeds=names, half=9), rows(plain, seeds=names, half=9), 0, "low")
    assert found.over == SEEDS and (found.low, found.high) == pytest.approx(t_interval([-0.5, -0.6, -0.4]))
    assert (found.distance, found.other) == pytest.approx((2.5, 3.0))


@pytest.mark.parametrize(("better", "half", "over"), [("low", 0.1, SEEDS), ("neutral", 0.1, NA), ("low", None, NA)])
def test_seeds_alone_do_not_say_how_sure_a_change_of_gaps_is(better, half, over):
    names, plain = ["0", "1", "2"], np.array([1.0, 1.3, 1.6])
    pair = rows(plain - [0.5, 0.6, 0.4], seeds=names, half=half), rows(plain, seeds=names, half=half)
    found = change(*pair, 0, better, noisy=True)
    assert found.over == over
    if half and over == SEEDS:
        low, _ = t_interval([-0.5, -0.6, -0.4])
        assert found.low == pytest.approx(-0.5 - np.hypot(-0.5 - low, np.hypot(0.1, 0.1)))


def test_two_seeds_are_compared_by_their_items():
    names = ["0", "1"]
    found = change(rows([1, 2], seeds=names, half=0.3), rows([2, 3], seeds=names, half=0.4), 0, "low")
    assert found.over == ITEMS and (found.low, found.high) == pytest.approx((-1.5, -0.5))


def test_changes_on_the_same_items_come_before_the_intervals_of_two_scores():
    after, before = rows([52], half=20), rows([50], half=20)
    found = change(after, before, 1, "low", rows([2], half=0.5))
    assert (found.low, found.high, found.over) == (1.5, 2.5, SAME_ITEMS)
    assert change(after, before, 1, "low", rows([2, 2], half=0.5)).over == ITEMS  # not one for each score
    assert change(after, before, 1, "neutral").over == NA  # the two may lie on both sides of neutral


@pytest.mark.parametrize("units", [None, 3, 20])
@given(value=st.floats(0.01, 5), half=st.floats(0.01, 5), sign=st.sampled_from([-1, 1]))
def test_p_is_at_most_5_percent_where_the_interval_leaves_out_0(value, half, sign, units):
    low, high = sorted((sign * (value - half), sign * (value + half)))
    p = p_of_interval(sign * value, low, high, units)
    assert p == pytest.approx(0.05, rel=1e-6) if value == half else (p < 0.05) == (value > half)
    assert p_of_interval(0, low, high) == 1 and np.isnan(p_of_interval(value, np.nan, np.nan))


def test_only_seeds_of_the_untouched_model_compare():
    plain = rows([1, 2], seeds=["0", "1"], half=0.1)
    assert change(rows([5], seeds=["1"], half=0.1), plain, 0, "low").other == 2
    alone = change(rows([5], seeds=["2"], half=0.1), plain, 0, "low")
    assert alone.distance == 5 and np.isnan(alone.other) and alone.over == NA
    assert change(rows([5], half=0.1), None, 0, "low").over == NA


@pytest.mark.parametrize("together", [0.0, 0.8])
def test_the_interval_of_a_difference_covers_it(together):
    """Means of 50 items that go up and down together, or do not: it holds the true difference in 95 % or more."""
    rng = np.random.default_rng(0)
    noise = rng.multivariate_normal([0, 0], [[1, together], [together, 1]], size=(4000, 50))
    means, half = noise.mean(axis=1), 1.96 * noise.std(axis=1) / np.sqrt(50)
    held = [
        low <= 0 <= high
        for mean, side in zip(means, half, strict=True)
        for low, high in [difference_interval(*((m, m - h, m + h) for m, h in zip(mean, side, strict=True)))]
    ]
    assert np.mean(held) > (0.94 if together == 0 else 0.99)


def test_errors_of_seeds_and_items_add_up_as_squares():
    assert with_items(1.0, (0.7, 1.3), (0.6, 1.4)) == pytest.approx((0.5, 1.5))
    assert with_items(1.0, (0.7, 1.3), (np.nan, np.nan)) == (0.7, 1.3)
    assert np.isnan(with_items(1.0, (np.nan, np.nan), (0.6, 1.4))).all()
    names = ["0", "1", "2"]
    after, before = rows([1.0, 1.1, 0.9], seeds=names), rows([2.0, 2.0, 2.0], seeds=names)
    seeds = change(after, before, 0, "low")
    both = change(after, before, 0, "low", rows([-1.0, -0.9, -1.1], seeds=names, half=0.5))
    assert both.over == SEEDS and (both.high + 1) ** 2 == pytest.approx((seeds.high + 1) ** 2 + 0.5**2)


def test_the_smallest_effect_is_seen_in_80_of_100_cases():
    """(1.96 + 0.84) standard errors; Student's t over three seeds."""
    assert smallest_seen(-1.96, 1.96) == pytest.approx(2.8, abs=0.01)
    values = np.random.default_rng(0).normal(2.8, 1, 4000)
    assert np.mean(values - 1.96 > 0) == pytest.approx(0.8, abs=0.02)
    assert smallest_seen(-4.303, 4.303, 3) == pytest.approx(4.303 + 1.061, abs=0.01) and np.isnan(smallest_seen(1, 1))
