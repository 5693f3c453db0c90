"""How many seeds a difference needs: against a printed table, and by simulation of what is measured."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from biasflow.results.power import TOO_FEW, families, power
from biasflow.results.scores import concatenate, tidy
from biasflow.results.statistics import MOST_SEEDS, sd_interval, sd_of_interval, seeds_needed, t_interval


@pytest.mark.parametrize(("effect", "n"), [(0.2, 394), (0.5, 64), (0.8, 26), (1.0, 17)])
def test_seeds_are_those_of_the_usual_tables(effect, n):
    """Cohen (1992, table 2) prints 393, 64 and 26 for 80 % power at 5 %; the first is 394 by the exact distribution."""
    assert seeds_needed(2.0, 2 * effect) == n


def test_no_spread_needs_two_and_no_difference_any_number():
    assert seeds_needed(0.0, 0.1) == 2 and seeds_needed(1e-9, 1.0) == 2
    assert seeds_needed(1.0, 0.0) is None and seeds_needed(1.0, 1e-3) is None
    assert seeds_needed(1.0, 0.126) == pytest.approx(MOST_SEEDS, rel=0.02)


def test_pairs_need_as_many_seeds_as_the_tables_of_the_paired_test_say():
    assert [seeds_needed(1.0, d, paired=True) for d in (0.5, 1.0, 2.0)] == [34, 10, 5]  # one sample, 5 %


@given(st.lists(st.integers(-99, 99), min_size=3, max_size=9))
def test_an_interval_gives_back_the_standard_deviation_that_it_was_made_of(values):
    low, high = t_interval(values)
    assert sd_of_interval(low, high, len(values)) == pytest.approx(np.std(values, ddof=1), abs=1e-9)


def test_the_seeds_that_are_said_have_the_power():
    rng, n = np.random.default_rng(0), seeds_needed(1.0, 1.2)
    a, b = rng.normal(0, 1, (2000, n)), rng.normal(1.2, 1, (2000, n))
    assert (stats.ttest_ind(a, b, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.05)


def test_a_standard_deviation_lies_in_its_interval_as_often_as_it_should():
    assert sd_interval(1.0, 2) == pytest.approx((0.446, 31.91), rel=1e-3)
    found = [sd_interval(sample.std(ddof=1), 5) for sample in np.random.default_rng(0).normal(size=(2000, 5))]
    assert np.mean([low <= 1 <= high for low, high in found]) == pytest.approx(0.95, abs=0.02)


def of_seeds(values, encoder="bert", task="bios"):
    rows = [
        {"seed": str(seed), "metric": "tpr_gap_sum", "value": value, "low": value - 0.196, "high": value + 0.196}
        for seed, value in enumerate(values)
    ]
    about = {"encoder": encoder, "task": task, "strategy": "plain", "method": "none", "head": "own", "dataset": "raw"}
    return tidy(pd.DataFrame(rows), **about)


def test_components_of_a_measure():
    found = power(of_seeds([1.0, 1.2, 1.4]), {}).iloc[0]
    assert (found["seeds"], found["note"]) == (3, "")
    assert tuple(found[["value", "distance", "sd_items", "sd_seeds"]]) == pytest.approx((1.2, 1.2, 0.1, 0.2))
    assert found["seeds_for_half"] == seeds_needed(0.2, 0.6) < found["seeds_for_tenth"]


def test_one_seed_is_too_few():
    found = power(of_seeds([1.0]), {}).iloc[0]
    assert found["note"] == TOO_FEW and found[["sd_seeds", "seeds_for_half"]].isna().all()


def test_encoders_that_are_alike_but_for_the_seed_are_seeds():
    names = pd.DataFrame(
        [
            (f"bert{seed}-{bias}", "encoder", attribute, value)
            for bias in ("0", "1")
            for seed in range(3)
            for attribute, value in (("bias", bias), ("seed", str(seed)))
        ]
        + [("hub", "encoder", "id", "x"), ("mirror", "encoder", "id", "x"), ("nli", "task", "seed", "0")],
        columns=["name", "kind", "attribute", "value"],
    )
    of = families(names)
    assert {of[f"bert{seed}-1"] for seed in range(3)} == {"bert0-1"} and of["bert2-0"] == "bert0-0"
    assert of["hub"] != of["mirror"] and "nli" not in of
    scores = concatenate(of_seeds([1.0 + seed, 1.2 + seed], encoder=f"bert{seed}-1") for seed in range(3))
    found = power(scores, of)
    assert len(found) == 1 and found["seeds"].item() == 3 and found["sd_seeds"].item() == pytest.approx(1.0)
