"""How much is left, verdicts, viability, and what a method costs."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from biasflow.overview.costs import costs, over_encoders, quality, worst
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
    UNMEASURED,
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


def cells(*rows, **more):
    columns = ["name", "label", "value", "untouched", "better", "change_low", "change_high"]
    table = pd.DataFrame(rows, columns=columns)
    more = {"caution": "", "untouched_caution": "", "weak": False, "dataset": "data"} | more
    return table.assign(group="cost", measure=table["label"], header=table["label"], **more)


def test_a_share_is_of_the_untouched_value_and_worse_in_both_directions():
    result = costs(cells(("a", "perplexity", 110, 100, "low", 5, 15), ("a", "accuracy", 0.76, 0.8, "high", 0.02, 0.06)))
    assert result[["worse", "low", "high"]].to_numpy() == pytest.approx(
        np.array([[0.1, 0.05, 0.15], [0.05, 0.025, 0.075]])
    )
    assert list(result["quality"]) == [UNCLEAR, UNCLEAR]


def test_an_equal_score_of_few_items_may_have_cost_something():
    """20 of 36 right, before and after: of other items the method may lose a fifth, or gain one."""
    result = costs(cells(("a", "accuracy", 0.56, 0.56, "high", -0.2, 0.2)))
    assert list(result["quality"]) == [UNCLEAR] and worst(result)["high"] == pytest.approx(0.2 / 0.56)
    result = costs(cells(("a", "perplexity", 100, 100, "low", 0, 0), ("b", "perplexity", 90, 100, "low", -20, 1)))
    assert list(result["quality"]) == [VIABLE, VIABLE]


@pytest.mark.parametrize(
    ("lost", "cautions", "says"),
    [
        (0.0, {"untouched_caution": "guesses"}, NO_CLAIM),
        (0.4, {"untouched_caution": "guesses"}, NO_CLAIM),
        (0.0, {"caution": "guesses"}, NO_CLAIM),
        (0.4, {"caution": "guesses"}, NOT_VIABLE),  # the method made it guess
        (0.4, {}, NOT_VIABLE),
        (0.0, {}, VIABLE),
    ],
)
def test_a_classifier_that_guesses_has_no_quality_to_keep(lost, cautions, says):
    row = ("a", "accuracy", 0.9 - lost, 0.9, "high", lost - 0.01, lost + 0.01)
    assert list(costs(cells(row, **cautions))["quality"]) == [says]
    assert costs(cells(row, weak=True, **cautions)).empty  # of a weak head


def test_quality_is_what_the_worst_verdict_says_and_the_price_that_of_the_cost_that_says_it():
    result = costs(
        cells(
            ("a", "perplexity", 101, 100, "low", 0, 2),
            ("a", "pseudo-perplexity", 99, 100, "low", -14, 12),
            ("b", "perplexity", 130, 100, "low", 25, 35),
            ("b", "pseudo-perplexity", 140, 100, "low", 10, 70),
            ("c", "perplexity", 104, 100, "low", np.nan, np.nan),
        )
    )
    by_name = dict(list(result.groupby("name")))
    assert quality(result, ["a", "b", "c", "d"]).to_dict() == {
        "a": UNCLEAR,
        "b": NOT_VIABLE,
        "c": UNCLEAR,
        "d": UNMEASURED,
    }
    named = {name: tuple(worst(rows)[["cost", "worse"]]) for name, rows in by_name.items()}
    assert named == {"a": ("pseudo-perplexity", -0.01), "b": ("pseudo-perplexity", 0.4), "c": ("perplexity", 0.04)}
    assert worst(result[:0]) is None


def test_encoders_that_differ_in_their_seed_are_judged_together():
    """Each interval over items includes 5 %; the three encoders tell that quality is kept."""
    each = [costs(cells(("a", "perplexity", value, 100, "low", -10, 10))) for value in (101, 102, 103)]
    assert {row for one in each for row in one["quality"]} == {UNCLEAR}
    together = over_encoders(each)
    assert together["worse"].item() == pytest.approx(0.02) and together["quality"].item() == VIABLE
    assert over_encoders(each[:1]) is each[0]
    doubted = costs(cells(("a", "perplexity", 102, 100, "low", -10, 10), caution="guesses"))
    assert over_encoders([*each[:2], doubted])["quality"].item() == NO_CLAIM
