"""What the judgement of the measures needs of a run: encoders of known bias, untouched, and models for coreference that
were trained on documents of the same bias. Imports no pandas."""

from collections.abc import Mapping
from itertools import product

from scripts.biasflow.plan.sources import calibration_name, calibration_task


def calibrated(options: Mapping) -> list[str]:
    """The encoders: one per amount of planted bias and seed."""
    return [calibration_name(bias, seed) for bias, seed in product(options["bias"], options["seeds"])]


def blocks(options: Mapping, config: Mapping) -> dict[str, dict]:
    """A block of the encoders, and one for each amount of bias where they are trained. `options`: the key
    papers.planted of `config`, complete."""
    found = {"planted": {"encoders": calibrated(options), "methods": ["none"], "metrics": ["strength", "log_odds"]}}
    if options["coreference"]:
        for bias in options["bias"]:
            about = {"encoders": calibrated({**options, "bias": [bias]}), "task": calibration_task(bias)}
            found[calibration_task(bias)] = {**about, "metrics": ["winobias", "coreference", "training"]}
    return found
