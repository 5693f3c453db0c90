"""Strategies, one per file: how a task's training data are debiased, by the rows and the text that a training reads.

Every module has `rows(name, train, validation, *, labels, genders, seed)`: the row numbers of the training and of the
validation part as the strategy `name` has them. labels and genders (F or M) are those of all rows; the draws depend on
`seed` alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np


@dataclass(frozen=True)
class Strategy:
    """A strategy. name: in the configuration; module: its module here; text: what it trains on (raw, scrubbed)."""

    name: str = "plain"
    module: str = "strategies.plain"
    text: str = "raw"

    def rows(
        self, train: np.ndarray, validation: np.ndarray, *, labels: Sequence[str], genders: Sequence[str], seed: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of both parts that a training with this strategy reads; BiasflowError if it is impossible."""
        module = import_module(f"biasflow.{self.module}")
        return module.rows(self.name, train, validation, labels=labels, genders=genders, seed=seed)
