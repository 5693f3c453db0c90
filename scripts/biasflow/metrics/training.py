"""What is to be known of a fine-tuning before its scores mean anything: did it learn more than is had for nothing?"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_text

NEEDED = ("method", "validation_metric", "validation_score", "train", "validation", "cut")
TRAININGS = ["train", "validation", "cut", "classes", "majority_share", "validation_metric", "validation_score"]
FOR_NOTHING = {"conll_f1": 0.0}  # the score of who predicts nothing at all; of classes it is the commonest one's share


def diverged(validation_score: float, for_nothing: float) -> bool:
    """Whether a training came to nothing: its loss was lost (the score is NaN), or its score on the validation data is
    not above what is had for nothing: the share of the commonest class of what accuracy is, 0 of an F1 (NaN: there is
    no such number, as for a correlation)."""
    return bool(np.isnan(validation_score) or validation_score <= for_nothing)


def score(path: str | Path) -> pd.DataFrame:
    """Scores of a training.json (tasks.training.save_training): columns dataset, method, setting, metric, value, n.

    dataset "train" (n examples): train_size; truncated, how many texts were too long and cut, those of the validation
    data among them. "validation": validation_<metric>, of what the epoch was chosen by (accuracy, pearson where numbers
    are predicted, conll_f1); majority_share where classes are; diverged, 1 or 0. BiasflowError naming the file if it is
    no such thing."""
    facts = facts_of(path)
    name, reached = facts["validation_metric"], facts["validation_score"]
    reached = np.nan if reached is None else reached
    for_nothing = facts.get("majority_share", FOR_NOTHING.get(name, np.nan))
    values = [
        ("train", "train_size", facts["train"]),
        ("train", "truncated", facts["cut"]),
        ("validation", f"validation_{name}", reached),
        ("validation", "diverged", diverged(reached, for_nothing)),
    ]
    values += [("validation", key, facts[key]) for key in ("majority_share",) if key in facts]
    frame = pd.DataFrame(values, columns=["dataset", "metric", "value"]).astype({"value": float})
    method, setting = facts["method"]
    return frame.assign(method=method, setting=setting, n=[facts[dataset] for dataset in frame["dataset"]])


def facts_of(path: str | Path) -> dict:
    """What a training.json says; BiasflowError as `score`."""
    try:
        facts = json.loads(read_text(path))
    except ValueError as error:
        raise BiasflowError(f"{path}: not JSON ({error}); train the model again.") from error
    missing = [key for key in NEEDED if key not in facts]
    if missing:
        raise BiasflowError(f"{path}: has no {missing[0]}; train the model again.")
    return facts
