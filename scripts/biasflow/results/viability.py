"""Which debiased models keep enough accuracy on the task itself to be of use."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError

Reading = Literal["absolute", "relative"]
READINGS: tuple[Reading, ...] = get_args(Reading)
_SLACK = 1e-9  # accuracies are counts over n: only floating point can put one this close below the cutoff


def cutoff(base_accuracy: float, *, threshold: float = 0.05, reading: Reading = "absolute") -> float:
    """The smallest viable accuracy: base - threshold (`absolute`) or (1 - threshold) x base (`relative`).

    Dawkins et al. (2024, table 7) ask that the base accuracy is not reduced by more than 5 %, without saying 5 % of
    what; hence the two readings. `base_accuracy` and `threshold` are shares in [0, 1]. Raises BiasflowError for an
    unknown reading and for shares outside [0, 1]."""
    if reading not in READINGS:
        raise BiasflowError(f"reading {reading!r} of viable is unknown; choose from {', '.join(READINGS)}")
    for name, value in (("base accuracy", base_accuracy), ("threshold", threshold)):
        if not 0 <= value <= 1:
            raise BiasflowError(f"viable: the {name} is {value}, not in [0, 1]; give a share, not a percentage")
    return base_accuracy - threshold if reading == "absolute" else (1 - threshold) * base_accuracy


def viable(
    accuracy: ArrayLike, base_accuracy: float, *, threshold: float = 0.05, reading: Reading = "absolute"
) -> np.ndarray:
    """accuracy >= `cutoff(...)` for each model; accuracy: [...] shares in [0, 1] -> bool [...].

    A model exactly at the cutoff is viable. Raises BiasflowError as `cutoff` does, and for an accuracy that is not in
    [0, 1]."""
    accuracy = np.asarray(accuracy, dtype=float)
    outside = accuracy[~((accuracy >= 0) & (accuracy <= 1))]
    if outside.size:
        raise BiasflowError(f"viable: an accuracy is {outside.flat[0]}, not in [0, 1]; give shares, not percentages")
    return accuracy >= cutoff(base_accuracy, threshold=threshold, reading=reading) - _SLACK
