"""How many seeds a difference needs: against a printed table, and by simulation of what is measured."""

import pandas as pd
import pytest

from biasflow.results.power import families, power
from biasflow.results.scores import concatenate, tidy
from biasflow.results.statistics import seeds_needed


@pytest.mark.parametrize(("effect", "n"), [(0.2, 394), (0.5, 64), (0.8, 26), (1.0, 17)])
def test_seeds_are_those_of_the_usual_tables(effect, n):
    """Cohen (1992, table 2) prints 393, 64 and 26 for 80 % power at 5 %; the first is 394 by the exact distribution."""
    assert seeds_needed(2.0, 2 * effect) == n


def of_seeds(values, encoder="bert", task="bios"):
    rows = [
        {"seed": str(seed), "metric": "tpr_gap_sum", "value": value, "low": value - 0.196, "high": value + 0.196}
        for seed, value in enumerate(values)
    ]
    about = {"encoder": encoder, "task": task, "strategy": "plain", "method": "none", "head": "own", "dataset": "raw"}
    return tidy(pd.DataFrame(rows), **about)


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


def test_what_lies_on_the_unbiased_side_of_neutral_is_no_distance_that_seeds_could_show():
    """A probe below chance has found no bias."""
    scores = of_seeds([0.4, 0.3, 0.5]).assign(metric="probe_accuracy", variant="paper-best")
    found = power(scores, {}).query("measure == 'probe accuracy'")
    assert found["distance"].tolist() == [0] and found["seeds_for_half"].isna().all()
