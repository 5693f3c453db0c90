"""The values that are judged, and what the two heads have learnt, read directly."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from biasflow.base.errors import BiasflowError
from biasflow.planted.stereoset import ideal_preference
from biasflow.studies.planted.plan import judged
from biasflow.studies.planted.targets import (
    MASKED,
    NEXT,
    PROBABILITY,
    by_dose,
    calibration,
    findings,
    ideal_slope,
    preference,
    read_directly,
)
from biasflow.studies.planted.values import measured
from tests.unit.studies.planted.made_up import KINDS, OPTIONS, run_of

MEASURES = {one.name: one for one in judged(KINDS)}


def said(one, bias, task_bias, seed, method) -> float:
    """Encoders say their bias, trained models that of their task, both nothing under a method."""
    return (method == "none") * one.sign * (task_bias if one.task else bias) + seed / 100


@pytest.fixture(scope="module")
def run():
    return run_of(said)


def test_every_measure_of_every_model_is_there_once(run):
    found = measured(run)
    assert list(dict.fromkeys(found["measure"])) == list(MEASURES)
    counts = found[found["method"] == "none"].groupby("measure", sort=False).size()
    assert set(counts[[name for name, one in MEASURES.items() if one.task]]) == {5 * 5}  # 2 x 2 and half with half
    assert set(counts[[name for name, one in MEASURES.items() if not one.task]]) == {3 * 5}
    expected = [
        said(MEASURES[row.measure], row.bias, row.task_bias, row.seed, row.method) for row in found.itertuples()
    ]
    assert found["value"].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(("column", "other"), [("head", "retrained"), ("strategy", "ca"), ("dataset", "planted-seen")])
def test_other_heads_strategies_and_stimuli_are_not_mixed_in(run, column, other):
    more = run.scores.assign(**{column: other}, value=99.0)
    found = measured(replace(run, scores=pd.concat([run.scores, more], ignore_index=True)))
    assert found["value"].max() < 2


def test_a_score_that_is_missing_is_named(run):
    gone = (run.scores["metric"] == "distance") & (run.scores["encoder"] == "planted-bias0.5-seed2")
    with pytest.raises(BiasflowError, match=r"planted-bias0\.5-seed2.*Distance"):
        measured(replace(run, scores=run.scores[~gone]))


def test_doses_are_those_of_models_with_as_much_bias_before_and_in_the_task(run):
    found = by_dose(run)
    assert (found["task_bias"].isna() | (found["task_bias"] == found["bias"])).all()
    table = calibration(run).set_index("measure")
    assert table.loc["Strength", "mean_bias_0.5"] == pytest.approx(0.52)
    assert set(table.loc[[name for name, one in MEASURES.items() if one.sign], "smallest_dose"]) == {0.5}
    assert set(table.loc[[name for name, one in MEASURES.items() if not one.sign], "p_full"]) == {1}


LABELS = ("stereotype", "anti-stereotype", "unrelated")


def triples(nats: float, triples: int = 3) -> pd.DataFrame:
    """A head that gives the stereotype so many nats more than the anti-stereotype, whose labels a swap turns."""
    rows = []
    for triple in range(triples):
        for swapped in (False, True):
            for label, sign in zip(LABELS, (-1, 1, 0) if swapped else (1, -1, 0), strict=True):
                p = expit(2 + triple + sign * nats / 2)
                rows.append({"method": "none", "triple": str(triple), "label": label, "swapped": swapped, "p": p})
    return pd.DataFrame(rows)


@pytest.mark.parametrize("nats", [0, 0.7, -1.5])
def test_the_preference_is_what_was_given(nats):
    found = preference(triples(nats))
    assert found[NEXT] == pytest.approx(nats)
    assert np.sign(found[PROBABILITY]) == np.sign(nats)


@pytest.fixture
def files(tmp_path):
    """Next-sentence heads that have learnt half of the bias on held-out triples, and all of it on the others."""
    files = {}
    for bias in OPTIONS["bias"]:
        for seed in OPTIONS["seeds"]:
            for stimuli, share in (("planted", 0.5), ("planted-seen", 1)):
                path = tmp_path / f"{bias}-{seed}-{stimuli}.parquet"
                triples(share * ideal_preference(bias) + seed / 100).to_parquet(path)
                files[f"planted-bias{bias:g}-seed{seed}/{stimuli}"] = path
    return files


def test_heads_are_compared_with_a_perfect_learner(files):
    run = run_of(lambda one, bias, *_: ideal_slope(bias), next_sentence=files)
    found = read_directly(run).set_index(["quantity", "stimuli", "bias"])
    assert found.loc[(MASKED, "as in pre-training", 0.5), "learnt"] == pytest.approx(1)
    assert found.loc[(NEXT, "held out", 1), "learnt"] == pytest.approx(0.5, abs=0.02)
    assert found.loc[(NEXT, "as in pre-training", 0.5), "learnt"] == pytest.approx(1, abs=0.03)
    assert found.loc[(NEXT, "held out", 0.5), "p"] == pytest.approx(1 / 252)
    assert np.isnan(found.loc[(PROBABILITY, "held out", 1), "ideal"])
    del files["planted-bias0-seed2/planted-seen"]
    with pytest.raises(BiasflowError, match=r"bias0-seed2.*planted-seen.*stimuli"):
        read_directly(run)


def test_what_the_tables_come_to_is_counted(files):
    """Encoders say their bias, trained models that of the task, quality nothing; the method takes out all."""

    found = findings(run_of(said, next_sentence=files)).set_index("finding")
    assert (found["k"] <= found["n"]).all()
    task = found.loc["outside: of pre-training and task it follows task"]
    assert task["k"] == task["n"] == len(task["cases"].split("; ")) > 10
    assert found.loc["outside: of pre-training and task it follows pre-training", "k"] == 0
    assert found.loc["cost: the rank correlation with the planted bias has q <= 0.05", "k"] == 0
    assert found.loc["inside: 0.5 is the smallest bias that differs from none", "cases"].startswith("Strength; ")
    assert found.loc["leace: as if never there", "k"] == found.loc["leace: as if never there", "n"]
    head = found.loc[f"{NEXT}, held out: doses that differ from none", "cases"]
    assert head.startswith("0.5 (learnt 0.5") and head.count("learnt") == 2
