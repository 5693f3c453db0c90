"""She-he log-odds by occupation against planted shares of women."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.metrics.log_odds import agreement, score
from biasflow.planted.world import load_world
from tests.unit.metrics.test_occtmp import readout

SHARES = np.array([0.9, 0.7, 0.1])
LOGITS = np.log(SHARES / (1 - SHARES))


def test_the_log_odds_of_the_shares_themselves_have_slope_one():
    found = agreement(LOGITS, SHARES)
    assert (found.r, found.slope, found.n) == (pytest.approx(1), pytest.approx(1), 3)
    half = agreement(3 + LOGITS / 2, SHARES)
    assert (half.r, half.slope) == (pytest.approx(1), pytest.approx(0.5))


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=3), st.floats(-5, 5), st.floats(0.1, 5))
def test_a_shift_changes_nothing_and_a_factor_the_slope_alone(log_odds, shift, factor):
    found, changed = agreement(log_odds, SHARES), agreement(shift + factor * np.array(log_odds), SHARES)
    assert changed.slope == pytest.approx(factor * found.slope, abs=1e-9)
    if np.ptp(log_odds) > 1e-3:
        assert changed.r == pytest.approx(found.r, abs=1e-6) and -1 - 1e-9 <= found.r <= 1 + 1e-9


def test_scores_by_method_with_the_shares_of_the_planted_world(tmp_path):
    shares = {name: load_world().shares[name] for name in load_world().occupations}
    own = {name: (-2.0, -2.0 + math.log(share / (1 - share))) for name, share in shares.items()}
    weaker = {name: (-2.0, -2.0 + (she - he) / 4) for name, (he, she) in own.items()}
    found = score(readout(tmp_path / "p.parquet", none=own, hard=weaker)).set_index(["method", "metric"])
    assert found["value"].to_dict() == pytest.approx(
        {
            ("none", "log_odds_r"): 1,
            ("none", "log_odds_slope"): 1,
            ("hard", "log_odds_r"): 1,
            ("hard", "log_odds_slope"): 0.25,
        }
    )
    assert (found["n"] == len(shares)).all()
