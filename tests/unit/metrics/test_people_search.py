"""People search: whom of a profession searches show first, in sum over professions, and what they still find."""

import numpy as np
import pytest

from biasflow.corpora.people import ASKED, SIMILARITIES
from biasflow.metrics.people_search import Search, score, summary
from biasflow.readouts.files import save_arrays

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
    return summary(search(*args, **options)).set_index(KEYS)


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
    found = summary(search(own, swapped=nearer_to_he)).set_index("metric").loc["swap_gap"]
    of_men = (SHARES < 0.5).sum()
    assert found["value"] == pytest.approx((of_men - (P - of_men)) / P * 0.5) and found["n"] == P * 2 * N
    only_men = search(own, searched=np.array([0, 1]), swapped=nearer_to_he)
    only_men.is_changed[PEOPLE["is_woman"]] = False
    found = summary(only_men).set_index("metric").loc["swap_gap"]
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
    save_arrays(tmp_path / "r", {SIMILARITIES: np.stack([similarities, -similarities])}, axis, **about)
    found = score(tmp_path / "r").set_index(["method", "setting", *KEYS]).sort_index()
    here = summary(one).set_index(KEYS)["value"]
    assert found.loc[("none", "-"), "value"].to_dict() == pytest.approx(here.to_dict(), nan_ok=True)
    assert found.loc[("leace-random-matched", "draw0", "search_ndcg", "-", "raw"), "value"] == 0  # the others first
