"""Scores of a fine-tuning itself: did it learn more than a trivial classifier? If not, its other scores mean
nothing."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.files import read_text
from biasflow.training import TOLD

NEEDED = ("method", "validation_metric", "validation_score", "train", "validation", "cut")
TRAININGS = ["train", "validation", "cut", "classes", "majority_share", "validation_metric", "validation_score"]
FOR_NOTHING = {"conll_f1": 0.0}  # the score without any prediction; with classes it is the commonest one's share


def score(path: str | Path) -> pd.DataFrame:
    """Return the scores of a training.json (training.task.save_training): columns dataset, method, setting, metric,
    value, n.

    dataset "train" (n examples): train_size; truncated, the number of texts that were too long and cut, including the
    validation data. "validation": validation_<metric>, by which the epoch was chosen (accuracy, pearson for predicted
    numbers, conll_f1); majority_share if there are classes; diverged, 1 or 0: whether the training failed, as its loss
    became NaN, or as it is no better than a trivial model. BiasflowError names a file of another kind."""
    facts = facts_of(path)
    name, reached = facts["validation_metric"], facts["validation_score"]
    reached = np.nan if reached is None else reached
    for_nothing = facts.get("majority_share", FOR_NOTHING.get(name, np.nan))
    values = [
        ("train", "train_size", facts["train"]),
        ("train", "truncated", facts["cut"]),
        ("validation", f"validation_{name}", reached),
        ("validation", "diverged", np.isnan(reached) or reached <= for_nothing),
    ]
    values += [("validation", key, facts[key]) for key in ("majority_share",) if key in facts]
    frame = pd.DataFrame(values, columns=["dataset", "metric", "value"]).astype({"value": float})
    method, setting = facts["method"]
    return frame.assign(method=method, setting=setting, n=[facts[dataset] for dataset in frame["dataset"]])


def score_adversary(path: str | Path) -> pd.DataFrame:
    """How well the adversary of an adversarial training (strategies.adversarial) predicts gender, by the training's
    record.

    Returns adversary_accuracy from a training.json, of the epoch kept: columns method, setting, metric, value, n. It is
    the share of validation examples whose gender the adversary predicts, averaged over labels and genders, in [0, 1]:
    0.5 for a guess from the label alone (`training.finetune.mean_recall`); n: examples. AbsentError for a training
    without an adversary or whose loss became NaN, BiasflowError as `score`."""
    facts = facts_of(path)
    if TOLD not in facts:
        raise AbsentError(
            "no adversary predicted gender: the strategy is not adversarial, or the loss of the training became NaN"
        )
    row = (*facts["method"], "adversary_accuracy", facts[TOLD]["gender"], facts["validation"])
    return pd.DataFrame([row], columns=["method", "setting", "metric", "value", "n"])


def facts_of(path: str | Path) -> dict:
    """Return the contents of a training.json; BiasflowError as `score`."""
    try:
        facts = json.loads(read_text(path))
    except ValueError as error:
        raise BiasflowError(f"{path}: not JSON ({error}); train the model again.") from error
    missing = [key for key in NEEDED if key not in facts]
    if missing:
        raise BiasflowError(f"{path}: has no {missing[0]}; train the model again.")
    return facts
