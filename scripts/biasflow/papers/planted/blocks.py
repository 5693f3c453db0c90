"""What the judgement of the measures needs of a run: encoders of known bias, untouched. Imports no pandas."""

from collections.abc import Mapping
from itertools import product

from scripts.biasflow.plan.sources import calibration_name


def calibrated(options: Mapping) -> list[str]:
    """The encoders: one per amount of planted bias and seed."""
    return [calibration_name(bias, seed) for bias, seed in product(options["bias"], options["seeds"])]


def blocks(options: Mapping, config: Mapping) -> dict[str, dict]:
    """The one block. `options`: the key papers.planted of `config`, complete."""
    return {"planted": {"encoders": calibrated(options), "methods": ["none"], "metrics": ["strength", "log_odds"]}}
