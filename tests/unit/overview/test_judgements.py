"""How much is left, verdicts, viability and the Pareto front."""

from types import SimpleNamespace

import numpy as np

from biasflow.overview.judgements import (
    BETTER,
    DIFFERS,
    FARTHER,
    HELPS,
    NEARER,
    NO_CHANGE,
    NO_CLAIM,
    NOT_VIABLE,
    SAME,
    UNCLEAR,
    UNCOMPARED,
    VIABLE,
    WORSE,
    compared,
    kept,
    left,
    turned,
    verdict,
)


def test_left_is_the_share_of_the_distance():
    assert left([0.5, 2, 1, 0], 1).tolist() == [0.5, 2, 1, 0]
    assert left([3, 0], [0, 0]).tolist() == [np.inf, 1] and np.isnan(left([3], [np.nan])).all()


def test_verdicts():
    assert verdict(0.1, 0.4, 0, "neutral") == verdict(-0.4, -0.1, 0, "neutral") == DIFFERS
    assert verdict(-0.1, 0.4, 0, "neutral") == SAME and verdict(0, 1, 0, "low") == SAME
    assert verdict(np.nan, np.nan, 0, "low") == verdict(0, 0, 0, "low") == verdict(0.2, 0.2, 0, "low") == NO_CLAIM


def test_better_than_neutral_is_no_bias():
    """A compression of 0.971 [0.946, 0.996], of which less is better than 1."""
    assert verdict(0.946, 0.996, 1, "low") == SAME and verdict(0.946, 0.996, 1, "high") == DIFFERS
    assert verdict(1.1, 1.2, 1, "low") == DIFFERS and verdict(1.1, 1.2, 1, "high") == SAME


def test_what_an_interval_of_a_change_says():
    def cell(low, high, value=0.5, untouched=0.6, group="inside", caution="", untouched_caution="", helps=""):
        about = {"group": group, "caution": caution, "untouched_caution": untouched_caution, "helps": helps}
        return SimpleNamespace(change_low=low, change_high=high, value=value, untouched=untouched, **about)

    def says(*numbers, **about):
        return compared(cell(*numbers, **about))

    assert says(-0.2, -0.1) == NEARER and says(0.1, 0.2) == FARTHER
    assert says(-0.1, 0.1) == says(0, 0) == NO_CHANGE and says(np.nan, np.nan) == UNCOMPARED
    assert says(0.0002, 0.0004, 0.9997, 1.0) == NO_CHANGE
    assert says(0.1, 0.2, caution="guesses") == says(0.1, 0.2, untouched_caution="guesses") == UNCOMPARED
    assert says(0.1, 0.2, caution="guesses", group="cost") == WORSE  # which is what the method has done
    assert says(0.1, 0.2, untouched_caution="guesses", group="cost") == UNCOMPARED
    assert says(-0.2, -0.1, helps="yes") == HELPS and says(-0.1, 0.1, helps="yes") == NO_CHANGE
    assert says(-0.2, -0.1, helps="no") == NEARER and says(-0.2, -0.1, group="cost") == BETTER


def test_a_score_turns_over_only_with_its_whole_interval():
    def cell(untouched, low, high, better="neutral"):
        return SimpleNamespace(untouched=untouched, low=low, high=high, neutral=1.0, better=better)

    assert turned(cell(1.2, 0.90, 0.99)) and turned(cell(0.8, 1.01, 1.2))
    assert not turned(cell(1.2, 0.90, 1.01)) and not turned(cell(1.2, 1.01, 1.1))
    assert not turned(cell(1.2, 0.90, 0.99, "low")) and not turned(cell(1.2, np.nan, np.nan))
    assert not turned(cell(1.2, 0.9, 0.9))  # no width


def test_costs_may_be_five_percent_worse_in_their_whole_interval():
    assert kept(-0.2, -0.1) == kept(0.01, 0.05) == kept(0.01, 1.05 - 1) == VIABLE
    assert kept(0.05, 0.06) == kept(-0.1, 0.1) == kept(np.nan, np.nan) == UNCLEAR
    assert kept(0.051, 0.06) == NOT_VIABLE
