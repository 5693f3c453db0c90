"""How much is left, verdicts, viability and the Pareto front."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.overview.judgements import DIFFERS, SAME, UNKNOWN, keeps, left, pareto, verdict

NUMBERS = st.floats(-10, 10).map(lambda number: round(number, 2))


def test_left_is_the_share_of_the_distance():
    assert left([0.5, 2, -1, 0], 1, 0).tolist() == [0.5, 2, 1, 0]
    assert left([0.75], [0.25], [0.5]).tolist() == [1]  # as far on the other side
    assert np.isnan(left([3], [0], [0])).all() and np.isnan(left([3], [np.nan], [0])).all()


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_left_does_not_depend_on_the_origin(value, untouched, neutral, shift):
    if abs(untouched - neutral) > 0.01:
        assert left([value], [untouched], [neutral]) == pytest.approx(
            left([value + shift], [untouched + shift], [neutral + shift]), rel=1e-6, abs=1e-9
        )


def test_verdicts():
    assert verdict(0.1, 0.4, 0) == DIFFERS and verdict(-0.1, 0.4, 0) == SAME and verdict(0, 1, 0) == SAME
    assert verdict(np.nan, np.nan, 0) == UNKNOWN


def test_costs_may_be_five_percent_worse():
    assert keeps(pd.Series([0.8, 0.76, 0.7599, np.nan]), 0.8, "high").tolist() == [True, True, False, True]
    assert keeps(pd.Series([10, 10.5, 10.6, np.nan]), 10, "low").tolist() == [True, True, False, True]


def test_front_of_three_points():
    assert pareto([[0, 3], [1, 1], [2, 2], [3, 0], [1, 1]]).tolist() == [True, True, False, True, True]


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_every_point_is_on_the_front_or_dominated_by_one_that_is(points):
    front = pareto(points)
    assert front.any()
    for point, on_front in zip(points, front, strict=True):
        dominating = [
            other
            for other, its in zip(points, front, strict=True)
            if its and other != point and other[0] <= point[0] and other[1] <= point[1]
        ]
        assert on_front != bool(dominating)
