"""The words for what calibrations say of a measure: known classes, numbers worked out by hand, and properties."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nct, t

from biasflow.results.evidence import (
    COULD_NOT_TELL,
    DID_NOT,
    IN_ALL,
    IN_SOME,
    NOT_TRIED,
    SEES,
    Evidence,
    evidence,
    evidence_of,
    pooled,
)

HALF = t.ppf(0.975, 5)  # of an interval over six seeds with a standard error of 1


def row(encoder, measure, slope, error, *, q=0.01, at_0=1.0, occupations="all", group="inside"):
    low, high = slope - HALF * error, slope + HALF * error
    verdict = SEES if low > 0 else "does not"
    ends = {"slope": slope, "slope_low": low, "slope_high": high, "mean_dose_0": at_0, "seeds": 6, "share_dose": 0.1}
    about = {"encoder": encoder, "measure": measure, "occupations": occupations, "group": group, "q": q}
    return about | ends | {"verdict": verdict}


def judged(*rows, moved=0.2):
    """The evidence of these rows; held-out log-odds of either encoder move by `moved` of what they are at dose 0."""
    others = [row(name, "log-odds slope", 2 * moved, 0.01, at_0=2.0, occupations="held out") for name in ("one", "two")]
    return evidence(pd.DataFrame([*others, *rows])).set_index("measure")


GEST = "GEST rate"  # whose neutral value is 1
CASES = {
    "agrees": ([(0.05, 0.01), (0.06, 0.01)], IN_ALL, "yes, in all 2"),
    "in one": ([(0.05, 0.01), (0.0, 0.01)], IN_SOME, "in 1 of 2"),
    "in both, ten times as far in one": ([(0.05, 0.01), (0.5, 0.01)], IN_SOME, "yes, in all 2,\nnot equally far"),
    "could, but did not": ([(0.0, 0.01), (0.0, 0.05)], DID_NOT, "no, in none of 2"),
    "could not": ([(0.0, 0.1), (0.0, 0.1)], COULD_NOT_TELL, "could not tell"),
    "in one, against it in the other": ([(0.05, 0.01), (-0.5, 0.01)], IN_SOME, "reversed in\n1 of 2"),
    "in the only one": ([(0.05, 0.01)], IN_SOME, "in 1 of 1"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_measure_gets_the_word_that_its_slopes_support(case):
    slopes, found, brief = CASES[case]
    rows = [row(name, GEST, *slope, at_0=1.5) for name, slope in zip(("one", "two"), slopes, strict=False)]
    said = judged(*rows).loc[GEST]
    assert said["evidence"] == found and Evidence(*said[[*Evidence._fields]]).brief == brief
    assert (said["encoders"], said["followed"]) == (len(slopes), sum(slope > 0 for slope, _ in slopes))


def test_an_interval_without_a_small_q_does_not_follow():
    assert judged(row("one", GEST, 0.5, 0.01, q=0.06), row("two", GEST, 0.5, 0.01)).loc[GEST, "followed"] == 1


def test_power_is_that_of_the_share_by_which_held_out_log_odds_moved():
    """Log-odds moved by a fifth of what they are at dose 0: GEST, .5 off neutral, would by .1, two standard errors."""
    said = judged(row("one", GEST, 0.0, 0.05, at_0=1.5)).loc[GEST]
    assert said["power"] == pytest.approx(nct.sf(HALF, 5, 2.0))
    assert said["smallest_slope"] == pytest.approx(0.05 * (HALF + t.ppf(0.8, 5)))
    assert judged(row("one", GEST, 0.0, 0.05, at_0=0.5)).loc[GEST, "power"] == pytest.approx(said["power"])
    assert judged(row("one", GEST, 0.0, 0.05, at_0=1.5), moved=-1).loc[GEST, "power"] == pytest.approx(0.025)


def test_a_measure_that_moves_against_the_dose_is_said_to():
    said = judged(row("one", GEST, -0.5, 0.01), row("two", GEST, 0.05, 0.01)).loc[GEST]
    assert (said["evidence"], said["against"]) == (IN_SOME, 1) and "against the dose in one" in said["sentence"]
    low_is_biased = judged(row("one", "JSDivS", 0.5, 0.01)).loc["JSDivS"]
    assert low_is_biased["against"] == 1


def test_without_held_out_log_odds_nobody_knows_whether_a_measure_could_have_followed():
    said = evidence(pd.DataFrame([row("one", GEST, 0.0, 0.001)]).drop(columns="encoder")).iloc[0]
    assert said["evidence"] == COULD_NOT_TELL and np.isnan(said["power"])


def test_a_constant_measure_could_not_follow_and_costs_and_controls_are_no_measures():
    rows = [row("one", GEST, 0.0, 0.0, at_0=1.5), row("one", "perplexity", 1.0, 0.1, group="cost")]
    found = judged(*rows)
    assert set(found.index) == {GEST, "log-odds slope"} and found.loc[GEST, "evidence"] == COULD_NOT_TELL


def test_a_score_finds_the_row_of_its_test():
    rows = [row("one", "SEAT (sent-weat6)", 0.5, 0.1), row("two", "SEAT (sent-weat6)", 0.5, 0.1)]
    table = judged(*rows, row("one", GEST, 0.0, 0.001, at_0=1.5)).reset_index()
    assert evidence_of(table, "seat_effect_size", "sent-weat6").green
    assert evidence_of(table, "seat_effect_size", "sent-mine").evidence == NOT_TRIED
    assert evidence_of(table, "gest_stereotype_rate", "gest").evidence == DID_NOT
    assert not evidence_of(table, "weat_effect_size", "C6").tried


@given(
    st.lists(
        st.tuples(st.floats(-3, 3), st.floats(0.01, 3)),
        min_size=1,
        max_size=5,
    )
)
def test_the_pooled_slope_lies_between_the_slopes_and_one_encoder_agrees_with_nothing(pairs):
    slopes, errors = zip(*pairs, strict=True)
    found = pooled(slopes, errors, [5] * len(slopes))
    assert min(slopes) - 1e-9 <= found.slope <= max(slopes) + 1e-9
    assert np.isnan(found.low) or found.low <= found.slope <= found.high
    assert len(slopes) > 1 or not found.agree


def test_the_pooled_slope_of_equal_errors_is_the_mean_with_the_freedom_of_all():
    found = pooled([0.047, 0.0599], [0.0148, 0.0148], [5, 5])
    half = t.ppf(0.975, 10) * 0.0148 / np.sqrt(2)
    assert found == pytest.approx((0.05345, 0.05345 - half, 0.05345 + half, True))
    apart = pooled([0.0, 1.0], [0.1, 0.1], [5, 5])
    assert (apart.slope, apart.agree) == (0.5, False) and np.isnan(apart.low)  # of two encoders no interval
