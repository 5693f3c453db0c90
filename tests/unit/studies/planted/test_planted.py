"""The study of planted bias: the designs and their tables of values."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import ttest_1samp, ttest_ind

from biasflow.base.errors import BiasflowError
from biasflow.papers.frames import Run
from biasflow.planted.stereoset import ideal_preference
from biasflow.results.scores import tidy
from biasflow.studies.measures import Judged
from biasflow.studies.planted import designs as module
from biasflow.studies.planted.designs import erased, ratio_interval, two_by_two
from biasflow.studies.planted.plan import LAST_LAYER, blocks, calibration_name, calibration_task, judged, met
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

KINDS = {"jobs": "occupation", "who": "coreference", "pairs": "nli"}
OPTIONS = {
    "encoder": {"layers": 3},
    "bias": [0.0, 0.5, 1.0],
    "seeds": [0, 1, 2, 3, 4],
    "task_bias": [0.0, 0.5, 1.0],
    "methods": ["leace"],
    "tasks": {name: {"kind": kind} for name, kind in KINDS.items()},
}
Said = Callable[[Judged, float, float, int, str], float]


def run_of(said: Said, options: Mapping = OPTIONS, **files: Mapping) -> Run:
    """said(measure, bias, task_bias, seed, method), task_bias 0 for an encoder, is what a measure says of a model."""
    rows = []
    for one in judged({name: about["kind"] for name, about in options["tasks"].items()}):
        for task_bias in options["task_bias"] if one.task else [0]:
            for bias in met(options, task_bias) if one.task else options["bias"]:
                methods = (
                    ["none", *options["methods"]] if bias == 1 and task_bias == (1 if one.task else 0) else ["none"]
                )
                for seed in options["seeds"]:
                    rows += [
                        {
                            "encoder": calibration_name(bias, seed),
                            "task": calibration_task(one.task, task_bias) if one.task else "-",
                            "strategy": "plain" if one.task else "-",
                            "seed": str(seed) if one.task else "-",
                            "method": method,
                            "dataset": f"{calibration_task(one.data, 0)}-raw" if one.data else "planted",
                            "metric": one.metric,
                            "part": one.measure.part.replace(LAST_LAYER, "layer[2]"),
                            "variant": one.measure.variant,
                            "value": said(one, bias, task_bias, seed, method),
                        }
                        for method in methods
                    ]
    scores = tidy(pd.DataFrame(rows))
    return Run(scores, pd.DataFrame(), pd.DataFrame(), files=files, options=options)


def design(said, measure="m", seeds=5) -> pd.DataFrame:
    """said(bias, task_bias, seed) of every cell."""
    rows = [(measure, "outside", b, t, seed, said(b, t, seed)) for b in (0, 1) for t in (0, 1) for seed in range(seeds)]
    return pd.DataFrame(rows, columns=["measure", "group", "bias", "task_bias", "seed", "value"])


def test_known_effects():
    wave = 0.01 * np.cos(3 * np.arange(20)).reshape(2, 2, 5)
    made = design(lambda b, t, seed: 2 * b + 6 * t + 4 * b * t + 0.01 * seed + wave[b, t, seed])
    row = two_by_two(made).iloc[0]
    assert row[["pretraining_effect", "task_effect", "interaction_effect"]].tolist() == pytest.approx(
        [4, 8, 4], abs=0.02
    )
    wide = made.pivot(index=["bias", "seed"], columns="task_bias", values="value")
    means, changes = wide.mean(axis=1), wide[1] - wide[0]
    of_pretraining = ttest_ind(means[1], means[0], equal_var=False).confidence_interval()
    assert (row["pretraining_low"], row["pretraining_high"]) == pytest.approx((of_pretraining.low, of_pretraining.high))
    of_task = ttest_ind(changes[1] / 2, -changes[0] / 2, equal_var=False).confidence_interval()
    assert (row["task_low"], row["task_high"]) == pytest.approx((of_task.low, of_task.high))
    assert (row["pretraining_p"], row["task_p"], row["interaction_p"]) == pytest.approx((2 / 252, 2 / 1024, 2 / 252))
    means = [row[f"mean_{cell}"] for cell in ("neither", "pretraining_only", "task_only", "both")]
    assert means == pytest.approx([0.02, 2.02, 6.02, 12.02], abs=0.02)
    assert [row[f"eta_{part}"] for part in ("pretraining", "task", "interaction")] == pytest.approx(
        [16 / 84, 64 / 84, 4 / 84], abs=1e-3
    )


@pytest.mark.parametrize(
    ("weights", "follows"), [((1, 0), "pre-training"), ((0, 1), "task"), ((1, 1), "both"), ((0, 0), "neither")]
)
def test_what_a_measure_follows(weights, follows):
    noise = np.random.default_rng(1).normal(0, 0.1, (2, 2, 5))
    found = two_by_two(design(lambda b, t, seed: weights[0] * b + weights[1] * t + noise[b, t, seed]))
    assert found["follows"].tolist() == [follows]


def test_a_design_with_other_than_two_biases_or_with_a_model_less_has_no_effects():
    made = design(lambda b, t, seed: b + t + 0.01 * seed)
    for key in ("bias", "task_bias"):
        for wrong in (made[made[key] == 0], pd.concat([made, made[made[key] == 0].assign(**{key: 0.5})])):
            with pytest.raises(BiasflowError, match=r"measure m: .*two of each"):
                two_by_two(wrong)
    row = two_by_two(made.iloc[1:]).iloc[0]
    assert row["follows"] == module.UNDEFINED and np.isnan(row["eta_task"]) and row["mean_both"] == pytest.approx(2.02)


NEVER, PRESENT = np.arange(5) / 10, 2 + np.arange(5) / 10


def frame(under, never=NEVER, present=PRESENT, sign=1) -> pd.DataFrame:
    parts = ((0, "none", never), (1, "none", present), (1, "leace", under))
    rows = [("m", "inside", sign, b, seed, how, one) for b, how, part in parts for seed, one in enumerate(part)]
    return pd.DataFrame(rows, columns=["measure", "group", "sign", "bias", "seed", "method", "value"])


@pytest.mark.parametrize(
    ("under", "closed", "verdict"),
    [
        (NEVER, 1, module.BACK),
        (PRESENT - 1, 0.5, module.SHORT),
        (PRESENT - 4, 2, module.BEYOND),
        (PRESENT + 1, -0.5, module.AWAY),
    ],
)
def test_how_much_of_the_way_a_method_goes(under, closed, verdict):
    row = erased(frame(under)).iloc[0]
    assert row["closed"] == pytest.approx(closed) and row["low"] <= closed <= row["high"]
    assert row["verdict"] == verdict
    assert (row["never"], row["present"], row["erased"]) == pytest.approx((0.2, 2.2, under.mean()))
    assert row["p"] == pytest.approx(1 if verdict == module.BACK else 2 / 252)


def test_three_models_a_side_are_enough_to_see_the_bias():
    """Of the 20 ways to deal six values out, one is as far apart: p is 0.05."""
    assert erased(frame(NEVER[:3], NEVER[:3], PRESENT[:3])).iloc[0]["verdict"] == module.BACK


def test_the_interval_is_fiellers():
    """Where no other models count and the bias is always 2, it is the t interval of the mean, halved."""
    under = np.array([0.3, 1.1, 0.2, 0.9, 0.7])
    expected = ttest_1samp((2 - under) / 2, 0).confidence_interval()
    assert ratio_interval(np.full(5, 2.0), under, np.zeros(5)) == pytest.approx((expected.low, expected.high))
    assert np.isnan(ratio_interval(np.full(5, 2.0), np.ones(5), np.zeros(5))).all()  # nothing varies
    assert np.isnan(ratio_interval(NEVER, under, NEVER[::-1])).all()  # no way to go


TWO = OPTIONS | {"seeds": [3, 4]}


def models(found, task) -> set[tuple[str, int]]:
    chosen = [block for block in found.values() if block.get("task") == task and "trainings" not in block]
    return {(name, seed) for block in chosen for name in block["encoders"] for seed in block["seeds"]}


def test_either_end_meets_both_and_the_middle_itself_with_the_seed_of_the_encoder():
    found = blocks(TWO, {})
    ends = {(f"planted-bias{bias}-seed{seed}", seed) for bias in (0, 1) for seed in (3, 4)}
    assert models(found, "planted-jobs-bias0") == models(found, "planted-jobs-bias1") == ends
    assert models(found, "planted-pairs-bias0.5") == {(f"planted-bias0.5-seed{seed}", seed) for seed in (3, 4)}


def test_only_what_has_both_biases_in_full_is_measured_under_methods():
    found = blocks(TWO, {})
    under = [block for block in found.values() if block["methods"] != ["none"]]
    assert under and all(block["methods"] == ["none", "leace"] for block in under)
    assert {name.rpartition("-seed")[0] for block in under for name in block["encoders"]} == {"planted-bias1"}
    assert {block.get("task") for block in under if "trainings" not in block} == {
        None, *(f"planted-{name}-bias1" for name in TWO["tasks"]),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"task_bias": [0.0, 0.3, 1.0]}, "task_bias.*of that alone"),
        ({"task_bias": [0.0, 0.5]}, "task_bias.*0 and 1, the ends"),
        ({"tasks": {"cola": {"kind": "glue"}}}, r"tasks\.cola\.kind"),
    ],
)
def test_one_line_that_names_the_key(change, named):
    with pytest.raises(BiasflowError, match=rf"papers\.planted\.{named}"):
        blocks(OPTIONS | change, {})


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
