"""How well the adversary of a training tells gender (strategies.adversarial), as the training says it."""

from pathlib import Path

import pandas as pd

from biasflow.base.errors import AbsentError
from biasflow.metrics.training import facts_of
from biasflow.tasks import TOLD


def score(path: str | Path) -> pd.DataFrame:
    """adversary_accuracy of a training.json, of the epoch that was kept: columns method, setting, metric, value, n.

    Mean over labels and genders of the share of the validation examples whose gender it tells, so that who knows the
    label alone has 0.5 (`tasks.finetune.mean_recall`); n: examples. AbsentError for a training without an adversary
    or whose loss was lost, BiasflowError as `metrics.training.score`."""
    facts = facts_of(path)
    if TOLD not in facts:
        raise AbsentError("no adversary told gender: the strategy is not adversarial, or the training's loss was lost")
    method, setting = facts["method"]
    row = (method, setting, "adversary_accuracy", facts[TOLD]["gender"], facts["validation"])
    return pd.DataFrame([row], columns=["method", "setting", "metric", "value", "n"])
