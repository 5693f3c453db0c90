"""Predicted classes on disk, and the scores made of them. Imports no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics.nli import nli_scores

BEFORE, AFTER = "before", "after"  # stages: with the head as fine-tuned, and retrained on the projected features
OCCUPATIONS, TEST = "occupations", "test"


def named(stage: str, part: str) -> str:
    """The name of an array: predictions of one stage on one test set."""
    return f"{stage}/{part}"


def save_predictions(predictions: Mapping[str, np.ndarray], path: str | Path) -> None:
    """Write named arrays of class numbers as safetensors."""
    save_file({name: np.ascontiguousarray(array) for name, array in predictions.items()}, path)


def load_predictions(path: str | Path) -> dict[str, np.ndarray]:
    """Read what `save_predictions` wrote; a truncated file is a BiasflowError that names it."""
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise BiasflowError(f"{path}: not a whole safetensors file ({error}); delete it and run again") from error


def scores_by_stage(
    predictions: Mapping[str, np.ndarray], settings: Sequence[tuple[str, str]], test_labels: Sequence[str]
) -> pd.DataFrame:
    """`nli_scores` of every stage that was predicted, with a column `stage`."""
    stages = [stage for stage in (BEFORE, AFTER) if named(stage, TEST) in predictions]
    return pd.concat(
        [
            nli_scores(
                settings, predictions[named(stage, OCCUPATIONS)], predictions[named(stage, TEST)], test_labels
            ).assign(stage=stage)
            for stage in stages
        ],
        ignore_index=True,
    )
