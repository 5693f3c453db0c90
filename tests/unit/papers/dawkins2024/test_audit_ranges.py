"""What printed numbers stand for: products, means, spreads and rank correlations within what rounding hides."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from biasflow.results.rounding import rounded
from tests.unit.papers.dawkins2024.audit.ranges import mean_of, product_of, rank_correlation, spread_of

FACTORS = st.floats(0, 1)


@given(a=FACTORS, b=FACTORS)
def test_rounding_alone_never_refutes_a_product(a, b):
    printed = product_of(rounded(round(a, 4)), rounded(round(b, 4)))
    assert rounded(round(a * b, 4)).meets(printed)


@given(values=st.lists(FACTORS, min_size=2, max_size=9), decimals=st.integers(1, 4))
def test_rounding_alone_never_refutes_a_mean_or_a_spread(values, decimals):
    exact, half = pd.Series(values), 0.5 * 10**-decimals
    printed = exact.round(decimals)
    assert rounded(round(exact.mean(), decimals), decimals).meets(mean_of(printed, half))
    for ddof in (0, 1):
        spread = rounded(round(exact.std(ddof=ddof), decimals), decimals)
        assert spread.meets(spread_of(printed, half, ddof))


def test_what_rounding_does_not_reach():
    assert not rounded(0.1231).meets(product_of(rounded(0.1463), rounded(0.4717)))
    assert rounded(0.069).meets(product_of(rounded(0.1463), rounded(0.4717)))
    assert not rounded(0.5).meets(mean_of(pd.Series([0.5, 0.5004]), 0.00005))
    assert rounded(0.0707).meets(spread_of(pd.Series([0.4, 0.5]), 0.00005, 1))
    assert not rounded(0.0707).meets(spread_of(pd.Series([0.4, 0.5]), 0.00005, 0))


@pytest.mark.filterwarnings("ignore:All-NaN slice")  # a bootstrap of few pairs, which nobody reads
@settings(max_examples=30, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=4, max_size=4))
def test_bounds_of_a_rank_correlation_are_those_of_all_ways_to_break_ties(pairs):
    x, y = (pd.Series(side, dtype=float) for side in zip(*pairs, strict=True))
    if x.nunique() == 1 or y.nunique() == 1:
        return
    rho, p = rank_correlation(x, y)

    def orders(values):
        """All rankings without ties that keep the order of the values."""
        return [r for r in permutations(range(len(values))) if (values.iloc[list(np.argsort(r))].diff()[1:] >= 0).all()]

    estimates = [np.corrcoef(a, b)[0, 1] for a in orders(x) for b in orders(y)]
    assert rho.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert (rho.low, rho.high) == pytest.approx((min(*estimates, rho.value), max(*estimates, rho.value)))
    assert p.low - 1e-9 <= p.value <= p.high + 1e-9
