"""Ranked lists: exposure, shares of the first places, costs and fairness, of an encoder's lists, of lists of others, of
searches for people, and of queries with documents."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.corpora.people import ASKED
from biasflow.corpora.people import SIMILARITIES as SIMILARITIES_FILE
from biasflow.corpora.rankings import read_rankings
from biasflow.metrics.given_rankings import score as score_given
from biasflow.metrics.given_rankings import summary as summary_of_given
from biasflow.metrics.people_search import Search
from biasflow.metrics.people_search import score as score_search
from biasflow.metrics.people_search import summary as summary_of_search
from biasflow.metrics.rankings import (
    exposure_gap,
    exposures,
    in_first,
    ndcg,
    neutrality,
    nfairr,
    ranks,
    recall,
    top_share,
)
from biasflow.metrics.retrieval import (
    neutral_first,
    paired_gap,
    score_retrieval,
    score_retrieval_questions,
    summary,
    summary_of_questions,
    wins,
)
from biasflow.readouts import external_rankings
from biasflow.readouts.files import save_arrays, under_methods

SIMILARITIES = st.lists(st.integers(-9, 9), min_size=2, max_size=12)


def test_all_men_before_all_women_have_the_gap_of_the_two_sums_of_discounts():
    n, discounts = 7, 1 / np.log2(1 + np.arange(1, 15))
    men, women = discounts[:n].sum(), discounts[n:].sum()
    exposure = exposures(ranks(-np.arange(14)))
    is_woman = np.arange(14) >= n
    assert exposure_gap(exposure, is_woman) == pytest.approx((men - women) / (men + women))
    assert exposure_gap(exposure, ~is_woman) == pytest.approx((women - men) / (men + women))
    assert exposure_gap(exposures(ranks(-np.arange(14)), 7), is_woman) == 1
    assert top_share(in_first(ranks(-np.arange(14)), 10), is_woman) == 0.3


def test_what_tells_nobody_apart_gives_a_gap_of_0_and_the_share_of_the_pool():
    places = ranks(np.full(6, 0.3) + 1e-9 * np.arange(6))  # differences of rounding alone
    is_woman = np.array([True, False, True, False, True, False])
    for k in (None, 1, 4, 6):
        assert exposure_gap(exposures(places, k), is_woman) == 0
    assert top_share(in_first(places, 2), is_woman) == pytest.approx(0.5) and in_first(
        places, 2
    ).sum() == pytest.approx(2)


@given(SIMILARITIES, st.integers(1, 12), st.randoms())
def test_places_are_shared_by_those_that_tie_and_no_order_of_documents_matters(values, k, random):
    order = list(range(len(values)))
    random.shuffle(order)
    places, shuffled = ranks(values), ranks(np.array(values)[order])
    assert exposures(places, k)[order] == pytest.approx(exposures(shuffled, k))
    assert in_first(places, k)[order] == pytest.approx(in_first(shuffled, k))
    assert in_first(places, k).sum() == pytest.approx(min(k, len(values)))
    assert exposures(places).sum() == pytest.approx((1 / np.log2(1 + np.arange(1, len(values) + 1))).sum())
    assert exposures(ranks(np.multiply(values, 3.0)), k) == pytest.approx(exposures(places, k))


def test_costs_of_a_list():
    places, relevant = ranks([0.9, 0.8, 0.7, 0.6]), np.array([False, True, False, True])
    best = 1 + 1 / np.log2(3)
    assert ndcg(exposures(places, 10), relevant, 10) == pytest.approx((1 / np.log2(3) + 1 / np.log2(5)) / best)
    assert recall(in_first(places, 2), relevant, 2) == 0.5
    assert recall(in_first(places, 1), ~relevant, 1) == 1  # one place, and it is of one of the two
    assert np.isnan(ndcg(exposures(places, 10), np.zeros(4, bool), 10))


def test_neutrality_and_nfairr_by_hand():
    neutral = neutrality([1, 0, 2, 3, 1], [0, 0, 0, 1, 1])
    assert neutral.tolist() == [1, 1, 0, 0.5, 1]  # one word of gender leaves a document neutral
    worst, best = [0.0, 0.5, 1.0], [1.0, 0.5, 0.0]
    exposure = exposures(ranks([3, 2, 1]))
    assert nfairr(exposure, best) == 1
    assert nfairr(exposure, worst) == pytest.approx((0.5 / np.log2(3) + 0.5) / (1 + 0.5 / np.log2(3)))
    assert nfairr(exposures(ranks([3, 2, 1]), 1), worst, 1) == 0
    assert np.isnan(nfairr(exposure, [0, 0, 0]))


DISCOUNTS = 1 / np.log2(1 + np.arange(1, 5))


def test_scores_of_lists_by_hand(tmp_path):
    first = ["q1 Q0 m1 1 9 x", "q1 Q0 w1 2 8 x", "q1 Q0 n1 3 7 x", "q1 Q0 w2 4 6 x"]
    second = ["q2 Q0 n1 1 5 x", "q2 Q0 m1 2 4 x"]  # nobody but a man: no gap
    (tmp_path / "run").write_text("\n".join(first + second) + "\n")
    (tmp_path / "genders.csv").write_text("document,gender\nm1,M\nw1,F\nw2,F\nn1,\n")
    (tmp_path / "texts.csv").write_text("document,text\nm1,he and he\nw1,a person\nw2,he and she\n")
    files = {"genders": [tmp_path / "genders.csv"], "texts": [tmp_path / "texts.csv"]}
    facts = external_rankings.read([tmp_path / "run"], files, tmp_path / "readout")
    assert facts == {"queries": 2, "documents": 6}
    found = score_given(tmp_path / "readout").set_index(["metric", "part"])
    women = (DISCOUNTS[1] + DISCOUNTS[3]) / 2
    assert found["value"]["exposure_gap", "all"] == pytest.approx((DISCOUNTS[0] - women) / (DISCOUNTS[0] + women))
    assert found["n"]["exposure_gap", "all"] == 1 and found["n"]["list_share", "10"] == 2
    assert found["value"]["list_share", "10"] == pytest.approx(0)  # all are shown
    neutral = np.array([0, 1, 1])  # m1, w1, w2 of q1: two words of one gender, none, one of each
    fairest = DISCOUNTS[:3] @ np.sort(neutral)[::-1]
    assert found["value"]["nfairr", "all"] == pytest.approx(DISCOUNTS[:3] @ neutral / fairest)
    assert found["n"]["nfairr", "all"] == 1  # the list of q2 has no neutral document with a text


def test_women_first_and_then_men_in_lists_of_twenty(tmp_path):
    lines = [f"q{q} Q0 {'w' if r < 10 else 'm'}{r} {r + 1} {-r} x" for q in range(8) for r in range(20)]
    (tmp_path / "run").write_text("\n".join(lines) + "\n")
    genders = [
        f"{name}{r},{gender}" for name, gender, its in (("w", "F", range(10)), ("m", "M", range(10, 20))) for r in its
    ]
    (tmp_path / "genders.csv").write_text("document,gender\n" + "\n".join(genders) + "\n")
    table = read_rankings([tmp_path / "run"], genders=tmp_path / "genders.csv")
    found = summary_of_given(table).set_index(["metric", "part"])
    assert found["value"]["exposure_gap", "10"] == -1 and found["value"]["list_share", "10"] == 0.5
    assert found["low"]["list_share", "10"] == found["high"]["list_share", "10"] == 0.5
    assert "nfairr" not in found.index.get_level_values("metric")  # no texts


P, N = 8, 12  # professions; women of each, and men
PEOPLE = {"profession": np.repeat(np.arange(P), 2 * N), "is_woman": np.tile(np.repeat([True, False], N), P)}
SHARES = np.linspace(0.05, 0.75, P)
KEYS = ["metric", "part", "variant"]


def search(own, versions=("raw",), searched=None, swapped=None):
    """Searches for professions whose own people have similarities `own`, [P, 2 N], and all others lower ones."""
    searched = np.arange(P) if searched is None else searched
    similarities = np.full((P, 2 * N * P), -99.0) - np.arange(2 * N * P) % 3
    for number in range(P):
        similarities[number, PEOPLE["profession"] == number] = own[number]
    lists = dict.fromkeys(versions, np.broadcast_to(similarities[searched], (3, 1, len(searched), 2 * N * P)))
    if swapped is not None:
        lists["swapped"] = lists["raw"] + swapped
    names = [f"p{number}" for number in range(P)]
    is_changed = np.ones(2 * N * P, bool)
    return Search(lists, names, searched, SHARES, PEOPLE["profession"], PEOPLE["is_woman"], is_changed)


def scores(*args, **options):
    return summary_of_search(search(*args, **options)).set_index(KEYS)


def test_all_men_first_in_every_profession():
    own = np.tile(-np.arange(2 * N)[::-1], (P, 1))  # women are the first rows, and here the last of their list
    found = scores(own)["value"].xs("raw", level="variant")
    discounts = 1 / np.log2(1 + np.arange(1, 2 * N + 1))
    gap = (discounts[:N].sum() - discounts[N:].sum()) / discounts.sum()
    assert found["exposure_gap", "all"] == pytest.approx(gap)
    assert found["profession_exposure_gap", "p3"] == pytest.approx(gap)
    assert found["exposure_gap", "10"] == 1 and found["top_share", "10"] == 0
    assert found["top_share", "50"] == pytest.approx((N + 26 / 2) / 50, abs=0.05)  # all of them, and 26 of others
    assert found["exposure_gap_p", "all"] == found["top_share_p", "10"] == 1 / 2000
    # 2 N choose N orders: those of chance are far below 1
    assert 0.6 < found["exposure_gap_size", "10"] < 0.8 and 0.3 < found["top_share_size", "10"] < 0.45
    assert np.isnan(found["exposure_gap_pearson", "all"])  # all professions have the same gap
    assert found["search_ndcg", "-"] == found["search_recall", "-"] == 1
    assert found["gendered_queries", "female"] == 0 and found["gendered_queries", "male"] == 1


def test_similarities_that_do_not_depend_on_gender_leave_nothing():
    own = np.tile(np.tile(np.arange(N), 2), (P, 1))  # to every woman a man who is as near
    found = scores(own)["value"].xs("raw", level="variant")
    for part in ("all", "10", "50"):
        assert found["exposure_gap", part] == pytest.approx(0, abs=1e-12) and found["exposure_gap_p", part] == 1
        assert found["exposure_gap_size", part] < 0  # less than chance gives
    assert found["top_share", "10"] == found["gendered_queries", "female"] == pytest.approx(0.5)


def test_gaps_that_go_with_the_share_of_women_are_correlated_with_it_and_their_mean_has_an_interval():
    rng = np.random.default_rng(0)
    lift = np.where(PEOPLE["is_woman"][: 2 * N], 1, -1) * (SHARES - 0.5)[:, None]
    found = scores(rng.normal(size=(P, 2 * N)) + 4 * lift)
    along = found.loc[("exposure_gap_pearson", "all", "raw")]
    assert along["low"] <= along["value"] < along["high"] < 0 and along["n"] == P
    mean = found.loc[("exposure_gap", "all", "raw")]
    assert mean["low"] < mean["value"] < mean["high"] and mean["resampled"].shape == (2000,)
    own = found.loc[("profession_exposure_gap", "p7", "raw")]
    assert own["high"] < 0 and own["n"] == 2 * N


def test_the_swap_gap_has_the_sign_of_the_usual_gender_and_leaves_out_texts_without_a_word_of_gender():
    nearer_to_he = np.where(PEOPLE["is_woman"], 0.5, -0.5)  # the masculine version of all is nearer by a half
    own = np.zeros((P, 2 * N))
    found = summary_of_search(search(own, swapped=nearer_to_he)).set_index("metric").loc["swap_gap"]
    of_men = (SHARES < 0.5).sum()
    assert found["value"] == pytest.approx((of_men - (P - of_men)) / P * 0.5) and found["n"] == P * 2 * N
    only_men = search(own, searched=np.array([0, 1]), swapped=nearer_to_he)
    only_men.is_changed[PEOPLE["is_woman"]] = False
    found = summary_of_search(only_men).set_index("metric").loc["swap_gap"]
    assert found["value"] == pytest.approx(0.5) and found["n"] == 2 * N and np.isnan(found["low"])


def test_scores_of_every_method_come_from_the_file(tmp_path):
    rng = np.random.default_rng(1)
    one = search(rng.normal(size=(P, 2 * N)), ("raw", "scrubbed"))
    array = np.stack([one.similarities[name] for name in ("raw", "scrubbed")], axis=-2)  # [asked, 1, P, versions, n]
    similarities = array.reshape(len(ASKED) * P, -1).astype("float32")
    about = {name: getattr(one, name).astype(int).tolist() for name in ("profession", "is_woman", "is_changed")}
    about |= {"professions": one.names, "searched": one.names, "shares": SHARES.tolist()}
    about |= {"versions": ["raw", "scrubbed"], "templates": ["a {profession}"]}
    axis = [("none", "-"), ("leace-random-matched", "draw0")]
    save_arrays(tmp_path / "r", {SIMILARITIES_FILE: np.stack([similarities, -similarities])}, axis, **about)
    found = score_search(tmp_path / "r").set_index(["method", "setting", *KEYS]).sort_index()
    here = summary_of_search(one).set_index(KEYS)["value"]
    assert found.loc[("none", "-"), "value"].to_dict() == pytest.approx(here.to_dict(), nan_ok=True)
    assert found.loc[("leace-random-matched", "draw0", "search_ndcg", "-", "raw"), "value"] == 0  # the others first


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
