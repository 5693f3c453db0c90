"""What a method costs, with its interval, and what that says of quality."""

import numpy as np
import pandas as pd
import pytest

from biasflow.overview.costs import costs, over_encoders, quality, worst
from biasflow.overview.judgements import NO_CLAIM, NOT_VIABLE, UNCLEAR, UNMEASURED, VIABLE


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


def test_quality_is_what_the_worst_verdict_says_and_the_price_the_largest_loss():
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
    assert named == {"a": ("perplexity", 0.01), "b": ("pseudo-perplexity", 0.4), "c": ("perplexity", 0.04)}
    assert worst(result[:0]) is None


def test_encoders_that_differ_in_their_seed_are_judged_together():
    """Each interval over items includes 5 %; the three encoders tell that quality is kept."""
    each = [costs(cells(("a", "perplexity", value, 100, "low", -10, 10))) for value in (101, 102, 103)]
    assert {row for one in each for row in one["quality"]} == {UNCLEAR}
    together = over_encoders(each)
    assert together["worse"].item() == pytest.approx(0.02) and together["quality"].item() == VIABLE
    assert over_encoders(each[:1]) is each[0]
