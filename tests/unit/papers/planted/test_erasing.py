"""Bias that was erased, beside bias that was never there."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from biasflow.papers.planted import erasing as module
from biasflow.papers.planted.designs import erased, ratio_interval

NEVER, PRESENT = np.arange(5) / 10, 2 + np.arange(5) / 10


def frame(under, never=NEVER, present=PRESENT, sign=1) -> pd.DataFrame:
    parts = ((0, "none", never), (1, "none", present), (1, "leace", under))
    rows = [("m", "inside", sign, b, seed, how, one) for b, how, part in parts for seed, one in enumerate(part)]
    return pd.DataFrame(rows, columns=["measure", "group", "sign", "bias", "seed", "method", "value"])


@pytest.mark.parametrize(
    ("under", "closed", "verdict"),
    [
        (NEVER, 1, module.BACK),
        (PRESENT - 1, 0.5, module.SHORT),
        (PRESENT - 4, 2, module.BEYOND),
        (PRESENT + 1, -0.5, module.AWAY),
    ],
)
def test_how_much_of_the_way_a_method_goes(under, closed, verdict):
    row = erased(frame(under)).iloc[0]
    assert row["closed"] == pytest.approx(closed) and row["low"] <= closed <= row["high"]
    assert row["verdict"] == verdict
    assert (row["never"], row["present"], row["erased"]) == pytest.approx((0.2, 2.2, under.mean()))
    assert row["p"] == pytest.approx(1 if verdict == module.BACK else 2 / 252)


def test_the_interval_is_fiellers():
    """Where no other models count and the bias is always 2, it is the t interval of the mean, halved."""
    under = np.array([0.3, 1.1, 0.2, 0.9, 0.7])
    expected = ttest_1samp((2 - under) / 2, 0).confidence_interval()
    assert ratio_interval(np.full(5, 2.0), under, np.zeros(5)) == pytest.approx((expected.low, expected.high))
    assert np.isnan(ratio_interval(np.full(5, 2.0), np.ones(5), np.zeros(5))).all()  # nothing varies
    assert np.isnan(ratio_interval(NEVER, under, NEVER[::-1])).all()  # no way to go


@settings(max_examples=10, deadline=None)
@given(st.floats(0.1, 100), st.floats(-50, 50), st.floats(-1, 2))
def test_the_share_does_not_depend_on_the_scale(scale, shift, part):
    under = PRESENT - part * 2
    moved = frame(scale * under + shift, never=scale * NEVER + shift, present=scale * PRESENT + shift)
    assert erased(moved).iloc[0]["closed"] == pytest.approx(part, abs=1e-6)
