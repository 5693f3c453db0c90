"""How a task's data are cut for a probe of gender: which labels are sent as one code, and which rows stop and test it.

A kind of task whose representations are probed has `cuts(files, **options) -> (labels, cuts)` in a module that its plan
names. files: role -> paths, of the readout `probes`; labels [n]: 1 (feminine) or 0 (masculine) for every row of the
stored vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError

# Readings of whose labels are sent, and how.
RELEASED, SAME_SEED, PAPER, BALANCED = ("released", "same-seed", "paper", "balanced")
NA = "-"  # a key of the table of scores that does not apply


@dataclass(frozen=True)
class Cut:
    """Rows of vectors whose labels are sent as one code, and how.

    data        the reading that it is of, the first part of the metric's variants
    split_seed  of the split that it is of; NA where that is the probe's
    seeds       of the probes: the code is sent once for each
    train, dev, test  numbers of the rows that are sent, that stop the training, and that test the probe of all sent
    control     labels of all rows, [n], those of the cut in random order
    shuffled, mixed  the order in which rows are sent and learnt from: see `readouts.probe.Code`"""

    data: str
    split_seed: str
    seeds: Sequence[int]
    train: np.ndarray
    dev: np.ndarray
    test: np.ndarray
    control: np.ndarray
    shuffled: bool = True
    mixed: bool = False

    @property
    def rows(self) -> np.ndarray:
        """The numbers of all rows of the cut."""
        return np.concatenate([self.train, self.dev, self.test])


def control_labels(z: ArrayLike, seed: int) -> np.ndarray:
    """Return the labels z in random order, so that they are unrelated to their rows.

    A probe cannot compress them, so their compression says what the code costs by itself (1 in bits, if nothing).
    Source: Hewitt & Liang (2019), control tasks."""
    return np.random.default_rng(seed).permutation(np.asarray(z))


class ProbeSplit(NamedTuple):
    """Row numbers of a probe's three parts."""

    train: np.ndarray
    dev: np.ndarray
    test: np.ndarray


def probe_split(n: int, seed: int) -> ProbeSplit:
    """Return the row numbers of the probe's train, dev and test part: a random 80 % of n, and halves of the rest.

    Together they hold each of 0 ... n - 1 once. Raises BiasflowError if a part would be empty (n < 6)."""
    train = int(0.8 * n)
    dev = (n - train) // 2
    if min(train, dev) < 1:
        raise BiasflowError(f"{n} rows cannot be cut into train, dev and test set of a probe; give more texts")
    order = np.random.default_rng(seed).permutation(n)
    return ProbeSplit(order[:train], order[train : train + dev], order[train + dev :])
