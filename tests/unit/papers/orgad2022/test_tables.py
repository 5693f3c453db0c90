"""The tables of both halves: rows, means, changes and tests, printed values, divergence, and what was not run."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.metrics.coreference import METRICS as F1_METRICS
from biasflow.metrics.winobias import KINDS, SIDES, class_rows
from biasflow.papers.orgad2022.halves import COREFERENCE, F1_DIFFERENCE, OCCUPATION
from biasflow.papers.orgad2022.selection import select
from biasflow.results.scores import NA, concatenate
from tests.unit.papers.orgad2022.made_up import COREFERENCE as ASKED
from tests.unit.papers.orgad2022.made_up import (
    FIGURES,
    READINGS,
    SIX,
    STRATEGIES,
    TABLES,
    coreference_scores,
    run,
    scores,
    with_diverged,
    without,
)
from tests.unit.papers.orgad2022.made_up import run as run_of


@pytest.fixture(scope="module")
def tiny():
    return scores()


def row_of(table, measure, strategy):
    """The one row of the text that it was trained on, in the first reading."""
    setting = "scrubbed" if strategy == "scrubbing" else "raw"
    keys = {"encoder": "tiny", "measure": measure, "strategy": strategy, "setting": setting}
    return table[table[[*keys]].eq(pd.Series(keys)).all(axis=1)].iloc[0]


def test_a_diverged_seed_of_none_is_missing_in_the_pairs_of_every_strategy_and_not_in_their_means(tiny):
    lost = run(with_diverged(tiny, "plain", 0))
    table = TABLES["table3"](lost)
    row = row_of(table, "TPR gap (S)", "subsampling")
    assert row["n"] == 3 and row["pairs"] == 2 and row["change"] == pytest.approx(2)
    assert row_of(table, "TPR gap (S)", "none")["diverged"] == "seed 0"
    # The frozen encoder was never fine-tuned.
    frozen = row_of(TABLES["table5"](lost), "Accuracy", "none")
    assert frozen["n"] == 3 and frozen["diverged"] == ""


def test_a_diverged_seed_needs_no_scores_and_a_strategy_may_lose_all(tiny):
    lost = without(with_diverged(tiny, "scrubbing", 0, 5, 11), strategy="scrubbing", seed="5", head="own")
    row = row_of(TABLES["table3"](run(lost)), "Accuracy", "scrubbing")
    assert row["n"] == 0 and np.isnan(row["mean"]) and row["diverged"] == "seeds 0, 5, 11" and np.isnan(row["p"])
    one = TABLES["table1"](run(lost)).query("encoder == 'tiny'").set_index(["model", "setting"])
    assert np.isnan(one.loc[("scrubbing", "scrubbed"), "compression"])
    assert one.loc[("scrubbing", "scrubbed"), "diverged"] == "seeds 0, 5, 11"


def test_two_scores_of_the_same_are_an_error(tiny):
    again = tiny[(tiny["head"] == "own") & (tiny["strategy"] == "scrubbing") & (tiny["metric"] == "accuracy")]
    twice = concatenate([tiny, again.assign(split_seed="99")])
    with pytest.raises(BiasflowError, match=r"accuracy.*scrubbing.*more than one"):
        TABLES["table3"](run(twice))


ROBERTA = "roberta-base"


@pytest.fixture(scope="module")
def roberta():
    return coreference_scores(encoder=ROBERTA, seeds=SIX)


def coreference_run(frame, **options):
    asked = {"coreference": ASKED["task"], "coreference_strategies": ASKED["strategies"]}
    return run_of(frame, **(asked | options))


def test_the_measures_are_those_that_the_metrics_give():
    rows = pd.concat(class_rows(np.arange(2 * 41 * 41)[None], reading) for reading in READINGS)
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
    table = TABLES["table7"](coreference_run(roberta, files=files))
    below = table[table["encoder"] == "no encoder"]
    assert set(zip(below["measure"], below["strategy"], below["mean"].round(6), strict=True)) == {
        ("F1", "rules", 0.48),
        ("F1 diff (pro - anti)", "rules", 4.0),
        ("F1 diff (pro - anti)", "best possible", 12.0),
    }
    assert table.tail(3)["encoder"].eq("no encoder").all() and table["n"].dtype == "Int64"


MODEL_TABLES = ["table1", "table2", "table3", "table4", "table5", "table6", "ceat", "correlations"]


def others(frame):
    """Rows of other blocks and papers in the same table: other values under other keys."""
    changed = frame.assign(value=99.0)
    tuned, bare = changed[changed["task"] == "bios"], changed[(changed[["task", "strategy"]] == NA).all(axis=1)]
    return [
        changed.assign(method="leace"),
        changed.assign(method="dawkins2024", setting="layer-12 0,1,0"),
        tuned.assign(task="bios-bias0"),
        tuned[tuned["strategy"] == "plain"].assign(strategy="oversampling-keep"),
        tuned[tuned["strategy"] == "plain"].assign(strategy="with-leace", method="leace"),
        tuned[tuned["seed"] == "0"].assign(seed="99", split_seed="99"),
        tuned[tuned["head"] == "retrained"].assign(head="retrained-long"),
        bare[(bare["split_seed"] == "0") & (bare["head"] == NA)].assign(split_seed="99"),
        bare[bare["head"] == "frozen-plain"].assign(head="frozen-anon"),
        changed.assign(encoder="another"),
    ]


@pytest.mark.parametrize("name", MODEL_TABLES)
def test_rows_of_other_methods_tasks_strategies_seeds_and_heads_change_no_table(name, tiny):
    alone = TABLES[name](run(tiny))
    among = concatenate([tiny, *others(tiny)])
    pd.testing.assert_frame_equal(TABLES[name](run(among, encoders=["tiny"])), alone)


def test_methods_that_are_asked_for_are_models_of_their_own(tiny):
    """Also one whose name comes before that of the strategy that all are compared with."""
    own = tiny[(tiny["task"] == "bios") & (tiny["metric"] != "diverged")]
    after = own.assign(method="leace", value=own["value"] + 0.25)
    grid = own[own["strategy"] == "plain"].assign(method="grid", setting="layer-12 0,1", value=7.0)
    carried = own[own["strategy"] == "plain"].assign(strategy="with-hard", method="hard", value=own["value"] + 0.5)
    frame = concatenate([tiny, after, grid, carried])
    options = {"methods": ["none", "leace", "grid"], "strategies": [*STRATEGIES, "with-hard"]}
    table = TABLES["table3"](run(frame, **options))
    own = table[(table["encoder"] == "tiny") & (table["measure"] == "Accuracy")].set_index(["strategy", "setting"])
    names = [model for model, _ in own.index]
    assert names[:3] == ["none", "leace", "grid layer-12 0,1"] and names[-1] == "with-hard"
    assert names.count("scrubbing, leace") == 2 and not table.columns.duplicated().any()
    assert own.loc[("leace", "raw"), "change"] == pytest.approx(0.25)
    assert own.loc[("with-hard", "raw"), "change"] == pytest.approx(0.5)
    assert own.loc[("scrubbing, leace", "scrubbed"), "change"] == pytest.approx(3.25)
    models = select(run(frame, **options), OCCUPATION).models
    assert len(FIGURES["figure3"](run(frame, **options)).legends[0].get_texts()) == len(models)


@pytest.mark.parametrize("name", ["table1", "table1b", "table2_coreference", "table3", "ceat", "ceat_coreference"])
def test_printed_numbers_stand_under_a_name_of_their_own_where_another_encoder_has_theirs(name):
    made = run_of(scores(encoder=ROBERTA))
    values = made.names["value"].where(made.names["attribute"] != "revision", "0" * 40)
    table = TABLES[name](replace(made, names=made.names.assign(value=values)))
    assert f"{ROBERTA} (printed)" in set(table["encoder"])
