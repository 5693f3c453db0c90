"""Bias planted in pre-training x bias planted in the task: effects that are known."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from biasflow.papers.planted.designs import shares, two_by_two


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


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=12, max_size=12), st.floats(0.1, 10), st.floats(-5, 5))
def test_shares_of_variance_sum_to_one_and_do_not_depend_on_the_scale(numbers, scale, shift):
    cells = np.array(numbers, float).reshape(4, 3)
    found = shares(cells)
    if np.ptp(cells) == 0:
        assert np.isnan(list(found.values())).all()
        return
    assert sum(found.values()) == pytest.approx(1)
    assert shares(scale * cells + shift) == pytest.approx(found, abs=1e-9)
    total = ((cells - cells.mean()) ** 2).sum()
    assert found["residual"] == pytest.approx(((cells - cells.mean(axis=1, keepdims=True)) ** 2).sum() / total)
