"""The values to judge, and the tables and figures that are made of a run."""

from dataclasses import replace

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.papers.planted.blocks import judged
from biasflow.papers.planted.targets import (
    by_dose,
    calibration,
)
from biasflow.papers.planted.values import measured
from tests.unit.papers.planted.made_up import KINDS, run_of

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
