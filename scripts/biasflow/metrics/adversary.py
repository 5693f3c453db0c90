"""How well the adversary of an adversarial training (strategies.adversarial) predicts gender, by the training's
record."""

from pathlib import Path

import pandas as pd

from biasflow.base.errors import AbsentError
from biasflow.metrics.training import facts_of
from biasflow.tasks import TOLD


def score(path: str | Path) -> pd.DataFrame:
    """Return adversary_accuracy from a training.json, of the epoch kept: columns method, setting, metric, value, n.

    It is the share of validation examples whose gender the adversary predicts, averaged over labels and genders, in
    [0, 1]: 0.5 for a guess from the label alone (`tasks.finetune.mean_recall`); n: examples. AbsentError for a training
    without an adversary or whose loss became NaN, BiasflowError as `metrics.training.score`."""
    facts = facts_of(path)
    if TOLD not in facts:
        raise AbsentError(
            "no adversary predicted gender: the strategy is not adversarial, or the loss of the training became NaN"
        )
    method, setting = facts["method"]
    row = (method, setting, "adversary_accuracy", facts[TOLD]["gender"], facts["validation"])
    return pd.DataFrame([row], columns=["method", "setting", "metric", "value", "n"])
