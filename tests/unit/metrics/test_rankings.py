"""Ranked lists: exposure, shares of the first places, costs, and the fairness of lists that others made."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.metrics.rankings import (
    exposure_gap,
    exposures,
    in_first,
    ndcg,
    neutrality,
    nfairr,
    ranks,
    recall,
    top_share,
)

SIMILARITIES = st.lists(st.integers(-9, 9), min_size=2, max_size=12)


def test_all_men_before_all_women_have_the_gap_of_the_two_sums_of_discounts():
    n, discounts = 7, 1 / np.log2(1 + np.arange(1, 15))
    men, women = discounts[:n].sum(), discounts[n:].sum()
    exposure = exposures(ranks(-np.arange(14)))
    is_woman = np.arange(14) >= n
    assert exposure_gap(exposure, is_woman) == pytest.approx((men - women) / (men + women))
    assert exposure_gap(exposure, ~is_woman) == pytest.approx((women - men) / (men + women))
    assert exposure_gap(exposures(ranks(-np.arange(14)), 7), is_woman) == 1
    assert top_share(in_first(ranks(-np.arange(14)), 10), is_woman) == 0.3


def test_what_tells_nobody_apart_gives_a_gap_of_0_and_the_share_of_the_pool():
    places = ranks(np.full(6, 0.3) + 1e-9 * np.arange(6))  # differences of rounding alone
    is_woman = np.array([True, False, True, False, True, False])
    for k in (None, 1, 4, 6):
        assert exposure_gap(exposures(places, k), is_woman) == 0
    assert top_share(in_first(places, 2), is_woman) == pytest.approx(0.5) and in_first(
        places, 2
    ).sum() == pytest.approx(2)


@given(SIMILARITIES, st.integers(1, 12), st.randoms())
def test_places_are_shared_by_those_that_tie_and_no_order_of_documents_matters(values, k, random):
    order = list(range(len(values)))
    random.shuffle(order)
    places, shuffled = ranks(values), ranks(np.array(values)[order])
    assert exposures(places, k)[order] == pytest.approx(exposures(shuffled, k))
    assert in_first(places, k)[order] == pytest.approx(in_first(shuffled, k))
    assert in_first(places, k).sum() == pytest.approx(min(k, len(values)))
    assert exposures(places).sum() == pytest.approx((1 / np.log2(1 + np.arange(1, len(values) + 1))).sum())
    assert exposures(ranks(np.multiply(values, 3.0)), k) == pytest.approx(exposures(places, k))


def test_costs_of_a_list():
    places, relevant = ranks([0.9, 0.8, 0.7, 0.6]), np.array([False, True, False, True])
    best = 1 + 1 / np.log2(3)
    assert ndcg(exposures(places, 10), relevant, 10) == pytest.approx((1 / np.log2(3) + 1 / np.log2(5)) / best)
    assert recall(in_first(places, 2), relevant, 2) == 0.5
    assert recall(in_first(places, 1), ~relevant, 1) == 1  # one place, and it is of one of the two
    assert np.isnan(ndcg(exposures(places, 10), np.zeros(4, bool), 10))


def test_neutrality_and_nfairr_by_hand():
    neutral = neutrality([1, 0, 2, 3, 1], [0, 0, 0, 1, 1])
    assert neutral.tolist() == [1, 1, 0, 0.5, 1]  # one word of gender leaves a document neutral
    worst, best = [0.0, 0.5, 1.0], [1.0, 0.5, 0.0]
    exposure = exposures(ranks([3, 2, 1]))
    assert nfairr(exposure, best) == 1
    assert nfairr(exposure, worst) == pytest.approx((0.5 / np.log2(3) + 0.5) / (1 + 0.5 / np.log2(3)))
    assert nfairr(exposures(ranks([3, 2, 1]), 1), worst, 1) == 0
    assert np.isnan(nfairr(exposure, [0, 0, 0]))
