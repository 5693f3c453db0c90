"""What an eraser leaves, by family of probe: of how many people a probe tells the gender from the vectors of texts.

A linear eraser promises that no linear probe finds gender; a quadratic one, one with a kernel or with a hidden layer
may. Beside each stands the same probe of shuffled labels, which finds what there is not, and (of the untouched
vectors) of true labels after LEACE and QLEACE that were fitted to texts like these. QLEACE is an oracle: no quadratic
probe finds gender after it, but it needs to know the gender.

Sources: Belrose et al. (2023), Hewitt & Liang (2019)."""

from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.readouts.files import METHOD, load_table
from biasflow.results.bootstrap import RESAMPLED, interval


def balanced_accuracy(z: np.ndarray, right: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """The mean over both genders of the share of people of whom a probe tells it: 0.5 at chance, 1 at most.

    z [people]: 0 or 1; right [people]: whether it does; counts [resamples, people]: how often each is drawn (once by
    default). Returns [resamples]; NaN where a gender is not there."""
    counts = np.ones((1, len(z))) if counts is None else counts
    with np.errstate(invalid="ignore"):
        shares = [counts @ (right * (z == label)) / (counts @ (z == label)) for label in (0, 1)]
    return np.mean(shares, axis=0)


def score(path: str | Path) -> pd.DataFrame:
    """Return the balanced accuracy of every probe, from a file of readouts/families.py: <family>_probe, under every
    method and split.

    Columns method, setting, split_seed, metric, variant (the labels, see there), value, n, low, high,
    resampled; n: people; low, high: bootstrap over these, within each gender, the same draws for all methods."""
    rows = []
    keys = [*METHOD, "split_seed", "family", "labels"]
    for (*model, family, labels), people in load_table(path, [*keys[2:], "z", "right"]).groupby(keys, sort=False):
        z, right = people["z"].to_numpy(), people["right"].to_numpy()
        ends = interval(lambda counts, z=z, right=right: balanced_accuracy(z, right, counts), z, strata=True)
        rows.append((*model, f"{family}_probe", labels, balanced_accuracy(z, right)[0], len(z), *ends))
    return pd.DataFrame(rows, columns=[*keys[:3], "metric", "variant", "value", "n", "low", "high", RESAMPLED])


def score_word_families(path: str | Path) -> pd.DataFrame:
    """Return `score` of a file of readouts/word_families.py, with the metrics <family>_word_probe; n: contexts."""
    return score(path).assign(metric=lambda scores: scores["metric"].str.replace("_probe", "_word_probe"))
