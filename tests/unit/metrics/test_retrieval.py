"""Retrieval: what similarities of queries to documents in several wordings say of gender."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.metrics.retrieval import (
    neutral_first,
    paired_gap,
    score_retrieval,
    score_retrieval_questions,
    summary,
    summary_of_questions,
    wins,
)
from biasflow.readouts.files import under_methods

KEYS = ["metric", "part", "variant"]
WORDINGS = ("M", "F", "N")


def documents(relevant, others, expected=()):
    """Items from similarities: of relevant and of other documents, [queries][M, F, N]."""
    rows = []
    for query, (its, rest) in enumerate(zip(relevant, others, strict=True)):
        about = {"item": str(query), "reading": "title", "expected": expected[query] if expected else ""}
        for values, is_relevant in ((its, True), (rest, False)):
            for wording, value in zip(WORDINGS, values, strict=True):
                rows.append(about | {"relevant": is_relevant, "wording": wording, "similarity": np.float32(value)})
    return pd.DataFrame(rows)


RELEVANT = [(0.8, 0.6, 0.7), (0.6, 0.6, 0.6), (0.4, 0.5, 0.9), (0.9, 0.5, 0.9)]
OTHERS = [(0.1, 0.2, 0.2), (0.7, 0.1, 0.1), (0.5, 0.5, 0.4), (0.4, 0.4, 0.4)]


def test_known_answers():
    found = summary(documents(RELEVANT, OTHERS, expected=["M", "", "M", "F"])).set_index(KEYS)
    value = found["value"].to_dict()
    # differences 0.2, 0, -0.1, 0.4; relevance 0.5, 0.5, 0.5, 0.5
    assert value["retrieval_gap", "relevant", "title"] == pytest.approx(0.125 / 0.5)
    assert value["retrieval_gap", "non-relevant", "title"] == pytest.approx(((0.1 - 0.2) + 0.6) / 4 / 0.5)
    assert value["retrieval_share", "relevant", "title"] == 2.5 / 4
    assert value["retrieval_ties", "relevant", "title"] == 1
    assert value["retrieval_stereotype", "relevant", "title"] == pytest.approx(1 / 3)
    assert found["n"]["retrieval_stereotype", "relevant", "title"] == 3
    assert value["retrieval_neutral", "relevant", "title"] == pytest.approx((0 + 1 / 3 + 1 + 1 / 2) / 4)
    # the relevant document is nearer but for query 1's masculine, and query 2's masculine and (a tie) feminine one
    assert value["retrieval_accuracy", "-", "title"] == pytest.approx((12 - 2 - 0.5) / 12)
    # exact: 2^4 exchanges, of which those at least as far from 0 as 0.5: the signs of 0.2 and 0.4 alike, and 0's
    # both ways: +-(0.2 + 0.4 - 0.1), +-(0.2 + 0.4 + 0.1), and 0.4 + 0.1 - 0.2 = 0.3 is not
    assert value["retrieval_gap_p", "relevant", "title"] == pytest.approx(8 / 16, abs=0.03)
    assert found[["low", "high"]].astype(float).isna().all(axis=None)  # four queries are too few for an interval


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=12), st.randoms())
def test_where_wording_makes_no_difference_the_gap_is_0_and_every_share_as_by_chance(values, random):
    others = [value / 2 + 0.3 for value in values]
    items = documents([(value,) * 3 for value in values], [(value,) * 3 for value in others], ["M"] * len(values))
    value = summary(items).set_index(KEYS)["value"].loc[:, "relevant", "title"]
    assert value["retrieval_gap"] == 0 and value["retrieval_share"] == value["retrieval_stereotype"] == 0.5
    assert value["retrieval_neutral"] == pytest.approx(1 / 3) and value["retrieval_gap_p"] == 1
    assert value["retrieval_ties"] == len(values)


@given(st.lists(st.tuples(*[st.integers(-100, 100)] * 6), min_size=6, max_size=9), st.integers(1, 50))
def test_genders_exchanged_turn_the_scores_around_and_the_scale_of_similarities_changes_none(rows, scale):
    here, there = ([row[:3] for row in rows], [row[3:] for row in rows])
    turned = [[(f, m, n) for m, f, n in side] for side in (here, there)]
    scaled = [[tuple(scale * value for value in row) for row in side] for side in (here, there)]
    first, other, same = (
        summary(documents(*sides, ["M"] * len(rows))).set_index(KEYS)["value"].loc[:, "relevant", "title"]
        for sides in ((here, there), turned, scaled)
    )
    assert other["retrieval_gap"] == pytest.approx(-first["retrieval_gap"], nan_ok=True)
    assert other["retrieval_share"] == pytest.approx(1 - first["retrieval_share"])
    assert other["retrieval_neutral"] == pytest.approx(first["retrieval_neutral"])
    assert same.drop("retrieval_gap_p").tolist() == pytest.approx(first.drop("retrieval_gap_p").tolist(), nan_ok=True)


def test_a_difference_of_rounding_is_a_tie():
    assert wins([0.5, 0.5, 0.5], [0.5 + 1e-8, 0.5001, np.nan]).tolist() == pytest.approx([0.5, 0, np.nan], nan_ok=True)
    assert neutral_first([[0.5, 0.5 + 1e-8, 0.5], [0.5, 0.6, np.nan]]).tolist() == pytest.approx(
        [1 / 3, np.nan], nan_ok=True
    )


def test_the_direction_from_feminine_to_masculine_wording_erased_leaves_a_gap_of_0():
    rng = np.random.default_rng(0)
    direction, queries = np.eye(6)[0], rng.normal(size=(40, 6))
    neutral, other = rng.normal(size=(2, 40, 6))
    wordings = np.stack([neutral + direction, neutral - direction, neutral])

    def gap(erase):
        keep = np.eye(6) - erase * np.outer(direction, direction)
        s_M, s_F, s_N = ((queries @ keep * (text @ keep)).sum(axis=1) for text in wordings)
        return paired_gap(s_M, s_F, s_N - (queries @ keep * (other @ keep)).sum(axis=1))

    assert gap(True) == pytest.approx(0, abs=1e-12) and abs(gap(False)) > 0.01


def test_a_query_without_some_documents_takes_part_in_what_it_has():
    items = documents(RELEVANT, OTHERS)
    items = items[~((items["item"] == "0") & ~items["relevant"])]
    found = summary(items).set_index(KEYS)
    assert found["n"]["retrieval_gap", "relevant", "title"] == 4
    assert found["n"]["retrieval_gap", "non-relevant", "title"] == 3
    assert found["value"]["retrieval_gap", "relevant", "title"] == pytest.approx(0.125 / 0.5)
    assert found["n"]["retrieval_accuracy", "-", "title"] == 3


def test_no_document_of_a_gender_is_refused():
    items = documents(RELEVANT, OTHERS)
    with pytest.raises(BiasflowError, match="no query has a relevant document of each gender"):
        summary(items[items["wording"] != "M"])


def answers(values):
    """Items of questions: similarities [questions][relevant][F, F, M, M]."""
    rows = [
        {"item": str(question), "reading": "document", "relevant": relevant, "wording": wording, "similarity": value}
        for question, both in enumerate(values)
        for its, relevant in zip(both, (True, False), strict=True)
        for wording, value in zip("FFMM", its, strict=True)
    ]
    return pd.DataFrame(rows).assign(expected="")


def test_known_answers_of_questions():
    first = [(0.9, 0.1, 0.6, 0.6), (0.1, 0.1, 0.1, 0.1)]  # nearest: a woman; mean 0.5 and 0.6
    second = [(0.5, 0.5, 0.7, 0.3), (0.1, 0.3, 0.1, 0.3)]  # nearest: a man; means 0.5
    third = [(0.4, 0.2, 0.4, 0.4), (0.4, 0.4, 0.1, 0.1)]  # a tie; 0.3 and 0.4
    found = summary_of_questions(answers([first, second, third])).set_index(KEYS)["value"]
    assert found["retrieval_first", "relevant", "-"] == pytest.approx((0 + 1 + 0.5) / 3)
    relevance = np.mean([0.55 - 0.1, 0.5 - 0.2, 0.35 - 0.25])
    assert found["retrieval_gap", "relevant", "-"] == pytest.approx(np.mean([0.1, 0, 0.1]) / relevance)
    assert found["retrieval_accuracy", "-", "-"] == pytest.approx(5 / 6)  # not for the third, of women


def test_scores_of_every_method_with_intervals_and_resamples_that_pair(tmp_path):
    rng = np.random.default_rng(1)
    items = documents(rng.normal(size=(30, 3)), rng.normal(size=(30, 3)))
    s = items.pop("similarity").to_numpy()
    table = under_methods([("none", "-"), ("leace", "-")], items, similarity=np.stack([s, s + np.float32(0.25)]))
    table.to_parquet(tmp_path / "r")
    found = score_retrieval(tmp_path / "r").set_index(["method", *KEYS])
    none, leace = (found.loc[method] for method in ("none", "leace"))
    assert none["value"].tolist() == pytest.approx(leace["value"].tolist(), rel=1e-4, nan_ok=True)
    gap = none.loc[("retrieval_gap", "relevant", "title")]
    assert gap["low"] < gap["value"] < gap["high"]
    other = leace.loc[("retrieval_gap", "relevant", "title"), "resampled"]
    assert np.allclose(gap["resampled"], other, atol=1e-4)  # the same queries are drawn
    questions = table.assign(reading="document")
    questions.to_parquet(tmp_path / "q")
    assert set(score_retrieval_questions(tmp_path / "q")["metric"]) == {
        "retrieval_first",
        "retrieval_gap",
        "retrieval_gap_p",
        "retrieval_accuracy",
    }
