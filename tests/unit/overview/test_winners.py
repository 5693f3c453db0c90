"""A method is named only with three seeds or more, an interval that excludes 0, and against every other candidate."""

import numpy as np
import pandas as pd

from biasflow.overview.maps import UNTOUCHED
from biasflow.overview.winners import removed, verdict

METHODS = ["a", "b", "c"]


def observed(left, *, measures=3, seeds=5, noise=0.01, seed=0):
    """Distances under methods that leave so much of the untouched one, with noise from seed to seed."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        [
            {"encoder": "bert", "seed": str(number), "measure": f"m{measure}", "name": name}
            | {"distance": (measure + 1) * (share + (noise * rng.standard_normal() if name != UNTOUCHED else 0))}
            for number in range(seeds)
            for measure in range(measures)
            for name, share in {UNTOUCHED: 1.0, **left}.items()
        ]
    )


def said(left, **options):
    return verdict(*removed(observed(left, **options), list(left)))


def test_a_clear_winner_is_named_with_its_interval():
    sentence, best = said({"a": 0.2, "b": 0.6, "c": 0.9})
    assert best == "a" and sentence.startswith(
        "a reduces bias: it removes 80 % of the distance from neutral (mean over 5 seeds of the median over 3 "
    )
    assert (
        "measures; 95 % interval 7" in sentence
        and "; adjusted for the choice among the 3 compared methods that keep" in sentence
    )
    assert sentence.endswith(" Every other method removes less.")


def test_a_winner_that_is_not_told_apart_from_the_next_is_not_called_the_best():
    sentence, best = said({"a": 0.2, "b": 0.21, "c": 0.9}, noise=0.1)
    assert best in ("a", "b") and "not told apart from" in sentence and "Every other" not in sentence


def test_a_method_that_adds_bias_is_not_said_to_remove_less_than_nothing():
    sentence, best = said({"a": 1.5, "b": 1.7})
    assert best is None and sentence.startswith("No method that keeps quality is shown to reduce bias.")
    assert "adds 50 % to the distance from neutral" in sentence and "-" not in sentence


def test_a_share_that_is_the_same_on_all_seeds_is_no_claim():
    sentence, best = said({"a": 0.0, "b": 0.7}, noise=0)
    assert best is None and "no width" in sentence


def test_a_model_that_lacks_a_measure_takes_no_part():
    table = observed({"a": 0.5}, noise=0)
    found, _ = removed(table[~((table["seed"] == "4") & (table["measure"] == "m0"))], ["a"])
    assert len(found) == 4
