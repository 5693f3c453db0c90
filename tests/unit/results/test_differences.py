"""Which scores of two runs differ: by known intervals, and whatever the rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.results.differences import (
    COLUMNS,
    DIFFERS,
    ONLY_FIRST,
    ONLY_SECOND,
    UNTESTED,
    differences,
    in_words,
    more_biased,
)
from biasflow.results.matrix import by_rows
from biasflow.results.scores import tidy

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


@pytest.mark.parametrize(
    ("metric", "first", "second", "expected"),
    [
        ("weat_effect_size", (0.1, 0, 0.2), (-0.9, -1, -0.8), ([], ["WEAT (bert)"])),  # nearer to neutral is better
        ("weat_effect_size", (-0.5, -0.6, -0.4), (0.5, 0.4, 0.6), ([], [])),  # as far on both sides
        ("stereotype_score", (70, 65, 75), (50, 45, 55), (["Stereotype Score (bert)"], [])),
        ("accuracy", (0.9, 0.89, 0.91), (0.5, 0.49, 0.51), ([], [])),  # a cost
    ],
)
def test_which_of_two_is_more_biased_is_farther_from_neutral(metric, first, second, expected):
    rows = differences(made(**{metric: first}), made(**{metric: second}))
    assert list(rows["what"]) == [DIFFERS]
    rows["part"], rows["variant"] = next(key[1:] for key in by_rows() if key[0] == metric)
    assert more_biased(rows.assign(method="none")) == expected
    assert more_biased(rows.assign(method="leace")) == ([], [])


SCORES = st.tuples(st.floats(-5, 5), st.floats(0, 2), st.floats(0, 2)).map(lambda s: (s[0], s[0] - s[1], s[0] + s[2]))


@given(st.dictionaries(st.sampled_from("abcd"), SCORES), st.dictionaries(st.sampled_from("abcd"), SCORES))
def test_the_other_way_round_the_same_scores_differ(first, second):
    there, back = (kinds(made(**one), made(**other)) for one, other in ((first, second), (second, first)))
    swapped = {ONLY_FIRST: ONLY_SECOND, ONLY_SECOND: ONLY_FIRST}
    assert there == {metric: swapped.get(what, what) for metric, what in back.items()}
    assert kinds(made(**first), made(**first)) == {}
