"""The numbers that authors print, from what real models and systems gave for each item or document."""

import json

import numpy as np
import pandas as pd
import pytest

from biasflow.corpora.gest import read_gest
from biasflow.corpora.stereoset import LABELS
from biasflow.metrics.crows_pairs import stereotype_share
from biasflow.metrics.gest import rates
from biasflow.metrics.intrasentence import icat, shares
from tests.real.files import DATA, needs_data
from tests.real.published_clusters import SIDES, read_and_scored

pytestmark = needs_data
ITEMS = DATA / "published_items"


def test_gest_rates_are_those_of_the_authors_notebook():
    stereotypes = read_gest(DATA / "bias_tests/gest/gest.csv")["stereotype"]
    printed = pd.read_csv(ITEMS / "gest/printed_rates.csv")
    assert len(printed) == 576
    for (model, template), rows in printed.groupby(["model", "template"]):
        scores = np.loadtxt(ITEMS / f"gest/{model}_template-{template}.txt")
        ours = rates(scores, stereotypes, reading="released")[rows["stereotype"] - 1]
        np.testing.assert_allclose(ours, rows["rate"], rtol=0, atol=0.005 + 1e-9)


@pytest.mark.parametrize(("model", "printed"), [("bert", [60.48, 61.09, 56.88]), ("scibert", [57.16, 57.67, 54.13])])
def test_crows_pairs_scores_are_those_of_the_released_script(model, printed):
    pairs = pd.read_csv(ITEMS / f"crows_pairs/{model}_crows_score.csv")
    # The script stores the two likelihoods of a pair that goes against a stereotype under each other's names.
    stereo, first, second = pairs["stereo_antistereo"] == "stereo", pairs["sent_more_score"], pairs["sent_less_score"]
    more, less = first.where(stereo, second), second.where(stereo, first)
    assert ((more > less) == (pairs["score"] == 1)).all()
    everything = stereotype_share(more, less, decimals=3)
    directions = [stereotype_share(more[own], less[own], decimals=3, neutral=False) for own in (stereo, ~stereo)]
    np.testing.assert_allclose([100 * share for share in (everything, *directions)], printed, rtol=0, atol=0.005)


def test_stereoset_scores_within_sentences_are_those_that_are_printed():
    """Of professions this copy of StereoSet has other identifiers."""
    items = json.loads((DATA / "stereoset/dev.json").read_text())["data"]["intrasentence"]
    printed = pd.read_csv(ITEMS / "stereoset/printed_scores.csv")
    printed = printed[(printed["part"] == "intrasentence") & printed["domain"].isin(["gender", "race", "religion"])]
    assert printed["predictions"].nunique() == 9
    for (name, domain), rows in printed.groupby(["predictions", "domain"]):
        predictions = json.loads((ITEMS / f"stereoset/predictions_{name}.json").read_text())["intrasentence"]
        scores = {each["id"]: each["score"] for each in predictions}
        asked = [item for item in items if item["bias_type"] == domain]
        words = [{each["gold_label"]: scores[each["id"]] for each in item["sentences"]} for item in asked]
        ss, lms = shares([[word[label] for label in LABELS] for word in words], [item["target"] for item in asked])
        values = rows.set_index("score")["value"][["LM Score", "SS Score", "ICAT Score"]]
        np.testing.assert_allclose(100 * np.array([lms, ss, icat(ss, lms)]), values, rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    """(metric, part, variant) -> value, of the development part alone."""
    facts, rows = read_and_scored(tmp_path_factory.mktemp("published"))
    assert facts == {"documents": dict.fromkeys(SIDES, 792), "repeated": dict.fromkeys(SIDES, 0)}
    return rows.set_index(["metric", "part", "variant"])["value"]


def test_f1_of_the_four_files(values):
    printed = {("anti", "type1"): 0.5248, ("pro", "type1"): 0.8007, ("anti", "type2"): 0.7634, ("pro", "type2"): 0.8883}
    assert {key: round(values["conll_f1", *key], 4) for key in printed} == printed


def test_the_difference_over_both_types_is_pooled_and_not_their_mean(values):
    difference = values["f1_difference"].droplevel("variant")
    assert round(difference["all"], 3) == 20.319
    assert round((difference["type1"] + difference["type2"]) / 2, 3) == 20.043


def test_what_the_authors_notebook_prints(values):
    printed = {("anti", "type1"): 53.06, ("pro", "type1"): 86.21, ("anti", "type2"): 81.44, ("pro", "type2"): 93.41}
    assert {key: round(100 * values["first_mention_f1", *key], 2) for key in printed} == printed
