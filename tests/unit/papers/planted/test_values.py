"""The values to judge, and the tables and figures that are made of a run."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from biasflow.asking.sources import calibration_name
from biasflow.base.errors import BiasflowError
from biasflow.papers.judge import DOES_NOT, SEES
from biasflow.papers.planted.calibration import (
    by_dose,
    calibration,
    draw_calibration,
    draw_validity,
    erased,
    two_by_two,
)
from biasflow.papers.planted.measures import judged
from biasflow.papers.planted.values import measured
from tests.unit.papers.planted.made_up import KINDS, OPTIONS, run_of

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


def test_draws_are_averaged_and_items_leave_the_variance_of_their_interval(run):
    own = (run.scores["metric"] == "perplexity") & (run.scores["encoder"] == "planted-bias0-seed0")
    more = run.scores[own].assign(readout_seed="1", value=lambda row: row["value"] + 2, low=-1.959964, high=1.959964)
    found = measured(replace(run, scores=pd.concat([run.scores, more], ignore_index=True)))
    row = found[(found["measure"] == "perplexity") & (found["bias"] == 0) & (found["seed"] == 0)].iloc[0]
    assert row["value"] == pytest.approx(1) and row["error"] == pytest.approx(1)


@pytest.mark.parametrize(("column", "other"), [("head", "retrained"), ("strategy", "ca"), ("dataset", "planted-seen")])
def test_other_heads_strategies_and_stimuli_are_not_mixed_in(run, column, other):
    more = run.scores.assign(**{column: other}, value=99.0)
    found = measured(replace(run, scores=pd.concat([run.scores, more], ignore_index=True)))
    assert found["value"].max() < 2


def test_a_measure_of_two_datasets_is_refused(run):
    own = run.scores[run.scores["metric"] == "weat_effect_size"]
    more = own[own["encoder"] == "planted-bias1-seed4"].assign(dataset="C6")
    with pytest.raises(BiasflowError, match="WEAT: read on planted, C6"):
        measured(replace(run, scores=pd.concat([run.scores, more], ignore_index=True)))


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


def test_trained_models_follow_their_task_and_methods_take_it_out(run):
    followed = two_by_two(run).set_index("measure")
    assert set(followed.index) == {name for name, one in MEASURES.items() if one.task}
    signed = [name for name, one in MEASURES.items() if one.task and one.sign]
    assert set(followed.loc[signed, "follows"]) == {"task"}
    table = erased(run).set_index("measure")
    signed = [name for name, one in MEASURES.items() if one.sign]
    assert table.loc[signed, "closed"].to_numpy() == pytest.approx(np.ones(len(signed)))


def test_the_figures_show_every_measure(run):
    figure = draw_calibration(run)
    assert len(figure.axes) == len(MEASURES)
    assert figure.axes[0].lines[0].get_ydata() == pytest.approx([0.02, 0.52, 1.02])
    left, right = draw_validity(run).axes
    assert {label.get_text() for label in left.get_yticklabels()} <= set(MEASURES)
    assert len(left.get_yticklabels()) == len(MEASURES) and len(right.get_yticklabels()) == len(two_by_two(run))
    bare = run_of(said, OPTIONS | {"tasks": {}})
    assert len(draw_validity(bare).axes) == 1


def test_measures_of_others_are_judged_like_ours(tmp_path):
    """One that follows the bias passes, a coin does not; both are corrected with all others."""
    rng, files = np.random.default_rng(0), {}
    for bias in OPTIONS["bias"]:
        for seed in OPTIONS["seeds"]:
            encoder = calibration_name(bias, seed)
            for name, mean in (("coin", 0.0), ("follows", bias)):
                items = rng.normal(mean, 0.1, size=20)
                files[f"{name}/{encoder}"] = tmp_path / f"{name}-{encoder}.csv"
                pd.DataFrame({"item": range(20), "value": items}).to_csv(files[f"{name}/{encoder}"], index=False)
    options = OPTIONS | {"given": {"coin": "up", "follows": "up"}}
    run = run_of(said, options, given=files)
    table = calibration(run).set_index("measure")
    assert list(table.index[-2:]) == ["coin (given)", "follows (given)"]
    assert table.loc["follows (given)", "verdict"] == SEES and table.loc["follows (given)", "q"] < 0.01
    assert table.loc["coin (given)", "verdict"] == DOES_NOT and table.loc["coin (given)", "q"] > 0.05
    assert table.loc["coin (given)", "share_items"] > 0 and table["q"].notna().sum() > len(MEASURES) / 2
    assert not set(two_by_two(run)["measure"]) & set(table.index[-2:])
