"""Which encoders meet which data under which methods; what a measure follows, and whether erasing brings it back."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp, ttest_ind

from biasflow.base.errors import BiasflowError
from biasflow.studies.planted import designs as module
from biasflow.studies.planted.designs import erased, ratio_interval, two_by_two
from biasflow.studies.planted.plan import blocks
from tests.unit.studies.planted.made_up import OPTIONS


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
