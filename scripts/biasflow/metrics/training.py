"""What is to be known of a fine-tuning before its scores mean anything: did it learn more than the commonest class?"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.files import read_text

NEEDED = ("method", "validation_score", "train", "validation", "cut")


def diverged(validation_score: float, majority_share: float) -> bool:
    """Whether a training came to nothing: its loss was lost (the score is NaN), or its accuracy on the validation data
    is not above the share of their commonest class (NaN where no classes are predicted)."""
    return bool(np.isnan(validation_score) or validation_score <= majority_share)


def score(path: str | Path) -> pd.DataFrame:
    """Scores of a training.json (tasks.training.save_training): columns dataset, method, setting, metric, value, n.

    dataset "train" (n examples): train_size; truncated, how many texts were too long and cut, those of the validation
    data among them. "validation": validation_accuracy and majority_share (where numbers are predicted,
    validation_pearson alone); diverged, 1 or 0. BiasflowError naming the file if it is no such thing."""
    facts = _facts(path)
    reached = np.nan if facts["validation_score"] is None else facts["validation_score"]
    majority = facts.get("majority_share")
    values = [("train", "train_size", facts["train"]), ("train", "truncated", facts["cut"])]
    values.append(("validation", "diverged", diverged(reached, np.nan if majority is None else majority)))
    if majority is None:
        values.append(("validation", "validation_pearson", reached))
    else:
        values += [("validation", "validation_accuracy", reached), ("validation", "majority_share", majority)]
    frame = pd.DataFrame(values, columns=["dataset", "metric", "value"]).astype({"value": float})
    method, setting = facts["method"]
    return frame.assign(method=method, setting=setting, n=[facts[dataset] for dataset in frame["dataset"]])


def _facts(path: str | Path) -> dict:
    try:
        facts = json.loads(read_text(path))
    except ValueError as error:
        raise BiasflowError(f"{path}: not JSON ({error}); train the model again.") from error
    missing = [key for key in NEEDED if key not in facts]
    if missing:
        raise BiasflowError(f"{path}: has no {missing[0]}; train the model again.")
    return facts
