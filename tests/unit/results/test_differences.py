"""Which scores of two runs differ: by known intervals, and whatever the rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.results.bootstrap import RESAMPLED, interval, weighted_mean
from biasflow.results.comparison import ITEMS, SAME_ITEMS
from biasflow.results.differences import (
    COLUMNS,
    DIFFERS,
    ONLY_FIRST,
    ONLY_SECOND,
    UNTESTED,
    apart,
    differences,
    in_words,
)
from biasflow.results.matrix import by_rows
from biasflow.results.scores import KEYS, NA, tidy

NAN = float("nan")


def made(**scores: tuple[float, float, float]) -> pd.DataFrame:
    rows = [{"metric": name, "value": value, "low": low, "high": high} for name, (value, low, high) in scores.items()]
    return tidy(pd.DataFrame(rows, columns=["metric", "value", "low", "high"]), encoder="bert")


def kinds(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, str]:
    found = differences(first, second)
    return dict(zip(found["metric"], found["what"], strict=True))


def test_a_difference_counts_if_its_interval_leaves_out_zero():
    first = made(far=(0, -1, 1), near=(0, -1, 1), sharp=(0, 0, 0))
    # Half-widths of 1 and 1 make one of sqrt(2): 1.5 is beyond, 1.4 is not.
    second = made(far=(1.5, 0.5, 2.5), near=(1.4, 0.4, 2.4), sharp=(0.1, 0.1, 0.1))
    assert kinds(first, second) == {"far": DIFFERS, "sharp": UNTESTED}  # intervals without width show nothing
    (row,) = differences(first, second).query("metric == 'far'").to_dict("records")
    assert row["difference"] == 1.5 and row["difference_low"] == pytest.approx(1.5 - np.sqrt(2))
    assert list(differences(first, second)) == COLUMNS


def test_what_has_no_interval_differs_where_it_is_not_the_same():
    first = made(same=(1, NAN, NAN), rounded=(1, NAN, NAN), other=(1, NAN, NAN), none=(NAN, NAN, NAN), lost=(1, 0, 2))
    second = made(
        same=(1, NAN, NAN),
        rounded=(1 + 1e-12, NAN, NAN),
        other=(1.01, 0, 2),
        none=(NAN, NAN, NAN),
        lost=(NAN, NAN, NAN),
    )
    assert kinds(first, second) == {"other": UNTESTED, "lost": UNTESTED}


def test_rows_that_only_one_has():
    found = differences(made(a=(1, 0, 2), b=(1, 0, 2)), made(b=(1, 0, 2), c=(1, 0, 2)))
    assert dict(zip(found["metric"], found["what"], strict=True)) == {"a": ONLY_FIRST, "c": ONLY_SECOND}
    assert in_words(found.to_dict("records")[0]) == "encoder=bert metric=a"
    assert kinds(made(), made(a=(1, 0, 2))) == {"a": ONLY_SECOND}


def test_changes_differ_where_both_runs_have_them():
    """A run of an older version has none, and is not told of each. The measure vector_change is no change."""
    names = ["weat_effect_size_change", "weat_effect_size_distance_change", "accuracy_distance_against_control"]
    one, other = (dict.fromkeys([*names, "vector_change"], (value, value - 1, value + 1)) for value in (0, 5))
    assert kinds(made(), made(**one)) == {"vector_change": ONLY_SECOND}
    assert kinds(made(**one), made(**other)) == dict.fromkeys(one, DIFFERS)


def measured(metric, value, low, high, **keys) -> dict:
    """A score of an untouched model, with the part and variant of the measure."""
    part, variant = next(key[1:] for key in by_rows() if key[0] == metric)
    about = {"metric": metric, "part": part, "variant": variant, "method": "none", "encoder": "bert"}
    return {**about, "value": value, "low": low, "high": high, **keys}


def table(*scores: dict) -> pd.DataFrame:
    return tidy(pd.DataFrame(scores))


@pytest.mark.parametrize(
    ("metric", "first", "second", "expected"),
    [
        ("weat_effect_size", (0.1, 0, 0.2), (-0.9, -1, -0.8), ["second"]),  # nearer to neutral is better
        ("weat_effect_size", (-0.5, -0.6, -0.4), (0.5, 0.4, 0.6), [""]),  # as far on both sides
        ("stereotype_score", (70, 65, 75), (50, 45, 55), ["first"]),
        ("stereotype_score", (70, NAN, NAN), (50, 45, 55), [""]),
        ("accuracy", (0.9, 0.89, 0.91), (0.5, 0.49, 0.51), []),  # a cost
    ],
)
def test_which_of_two_is_more_biased_is_farther_from_neutral(metric, first, second, expected):
    sides = [table(measured(metric, *score)) for score in (first, second)]
    assert list(apart(*sides)["more"]) == expected
    assert apart(*(side.assign(method="leace") for side in sides)).empty


def of_items(values: np.ndarray, items: str, **keys) -> tuple[dict, dict]:
    """A score of CrowS-Pairs, the mean of items, and the same with its resamples."""
    ends = interval(lambda counts: weighted_mean(counts, values), np.arange(len(values)))
    score = measured("crows_pairs_score", values.mean(), ends.low, ends.high, n=len(values), **keys)
    return score, dict.fromkeys(KEYS, NA) | score | {"items": items, RESAMPLED: ends.resampled}


@pytest.mark.parametrize(
    ("items", "over", "more"),
    [("same", SAME_ITEMS, ["second"]), ("other", ITEMS, [""]), (NAN, ITEMS, [""])],  # NaN: of an older version
)
def test_runs_are_paired_on_the_same_items_alone(items, over, more):
    """Items of the second run are about 0.02 higher: beyond chance on the same items, but not on as many others."""
    rng = np.random.default_rng(0)
    values, more_by = 0.6 + rng.normal(0, 0.3, 100), rng.uniform(0, 0.04, 100)
    (first, kept), (second, others) = of_items(values, "same"), of_items(values + more_by, items)
    found = apart(table(first), table(second), (pd.DataFrame([kept]), pd.DataFrame([others])))
    assert list(found["over"]) == [over] and list(found["more"]) == more
    assert found["apart"].item() == pytest.approx(-more_by.mean())


def test_the_spread_of_seeds_enters_where_it_is_known():
    """Three seeds of 0.8, 1.0 and 1.2, and one of 0.5: sd 0.2, t 4.303 with two degrees of freedom; the items add 0.1
    of either side, as squares."""
    seeds = [
        measured("weat_effect_size", value, value - 0.1, value + 0.1, encoder=f"s{value}") for value in (0.8, 1, 1.2)
    ]
    alone = [measured("weat_effect_size", 0.5, 0.4, 0.6, encoder="s0.8")]
    family = {f"s{value}": "s0.8" for value in (0.8, 1, 1.2)}
    found = apart(table(*seeds), table(*alone), families=(family, {})).iloc[0]
    assert found["over"] == "items and seeds" and (found["seeds_first"], found["seeds_second"]) == (3, 1)
    reach = np.hypot(4.3027 * 0.2 * np.sqrt(1 / 3 + 1), np.hypot(0.1, 0.1))
    assert (found["apart_low"], found["apart_high"]) == pytest.approx((0.5 - reach, 0.5 + reach), abs=1e-4)
    assert found["more"] == ""
    assert list(apart(table(seeds[0]), table(*alone))["more"]) == ["first"]  # one seed each: by the items alone


SCORES = st.tuples(st.floats(-5, 5), st.floats(0, 2), st.floats(0, 2)).map(lambda s: (s[0], s[0] - s[1], s[0] + s[2]))


@given(st.dictionaries(st.sampled_from("abcd"), SCORES), st.dictionaries(st.sampled_from("abcd"), SCORES))
def test_the_other_way_round_the_same_scores_differ(first, second):
    there, back = (kinds(made(**one), made(**other)) for one, other in ((first, second), (second, first)))
    swapped = {ONLY_FIRST: ONLY_SECOND, ONLY_SECOND: ONLY_FIRST}
    assert there == {metric: swapped.get(what, what) for metric, what in back.items()}
    assert kinds(made(**first), made(**first)) == {}
