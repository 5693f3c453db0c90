"""The coreference half of the paper: rows, measures, printed values, and what is said where it was not run."""

import numpy as np
import pandas as pd
import pytest

from biasflow.metrics.coreference import METRICS as F1_METRICS
from biasflow.metrics.winobias import KINDS, SIDES, class_rows
from biasflow.papers.orgad2022.halves import COREFERENCE, F1_DIFFERENCE
from biasflow.results.scores import NA
from tests.unit.papers.orgad2022.made_up import COREFERENCE as ASKED
from tests.unit.papers.orgad2022.made_up import READINGS, SIX, TABLES, coreference_scores
from tests.unit.papers.orgad2022.made_up import run as run_of

ROBERTA = "roberta-base"


@pytest.fixture(scope="module")
def roberta():
    return coreference_scores(encoder=ROBERTA, seeds=SIX)


def run(frame, **options):
    asked = {"coreference": ASKED["task"], "coreference_strategies": ASKED["strategies"]}
    return run_of(frame, **(asked | options))


def test_the_measures_are_those_that_the_metrics_give():
    rows = pd.concat(class_rows(np.ones((1, 2, 41, 41), dtype=int), reading) for reading in READINGS)
    given = {(row.metric, f"{row.variant} {row.part}".removesuffix(f" {NA}")) for row in rows.itertuples()}
    gaps = [measure for measure in COREFERENCE.bias if measure.metric != F1_DIFFERENCE.metric]
    assert len(gaps) == 26 and {measure.key for measure in gaps} <= given
    undefined = {COREFERENCE.undefined(measure) for measure in gaps if measure.metric != "independence"}
    assert undefined == {key for key in given if key[0] == "undefined_cells"}
    assert {measure.metric for measure in COREFERENCE.performance["coreference"]} == {
        f"{name}_f1" for name in ("conll", *F1_METRICS)
    }
    of_pairs = {measure.variant for measure in COREFERENCE.performance["winobias"]}
    assert of_pairs == {*SIDES, *(f"{side} {kind}" for side in SIDES for kind in KINDS)}


def test_what_needs_no_training_stands_below_the_models(roberta, tmp_path):
    test = pd.DataFrame(
        [("test", "rules", "conll_f1", 0.48, 9), ("validation", "rules", "conll_f1", 0.4, 9)],
        columns=["part", "predictor", "metric", "value", "n"],
    )
    pairs = test.assign(part=["pro", "anti"], value=[0.35, 0.31])
    best = pd.DataFrame([("-", "best possible", "f1_difference", 12.0, 9)], columns=test.columns)
    files = {}
    for role, frame in (("baseline", test), ("pairs_baseline", pd.concat([pairs, best]))):
        files[role] = {"coref": tmp_path / f"{role}.csv"}
        frame.to_csv(files[role]["coref"], index=False)
    table = TABLES["table7"](run(roberta, files=files))
    below = table[table["encoder"] == "no encoder"]
    assert set(zip(below["measure"], below["strategy"], below["mean"].round(6), strict=True)) == {
        ("F1", "rules", 0.48),
        ("F1 diff (pro - anti)", "rules", 4.0),
        ("F1 diff (pro - anti)", "best possible", 12.0),
    }
    assert table.tail(3)["encoder"].eq("no encoder").all() and table["n"].dtype == "Int64"
