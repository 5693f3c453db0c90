"""What the calibration on an encoder of the user's needs of a run. Imports no pandas."""

from collections.abc import Mapping

from biasflow.papers.derived import calibrated_encoders


def blocks(options: Mapping, config: Mapping) -> dict[str, dict]:
    """One block: the encoder as it is, and the same encoder with every dose and seed, untouched by methods.

    `options`: the key papers.calibrated of `config`, complete."""
    encoders = [options["encoder"], *calibrated_encoders(options)]
    return {"calibrated": {"encoders": encoders, **{key: options[key] for key in ("metrics", "limit")}}}
