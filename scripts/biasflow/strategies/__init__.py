"""Strategies, one per file: how the training of a task is debiased, or done in another way.

A module has what its strategies need of these; what it lacks stays as it is:
rows(name, train, validation, *, labels, genders, seed): the row numbers of the training and of the validation part that
    a training reads; labels and genders (F or M) are those of all rows, the draws depend on `seed` alone
debias(name, documents, **options): the training documents of coreference (tasks.coreference.strategies)
adapt(model, **options): the model that is trained in the place of a new one, with a loss or weights of its own
BESIDE: columns of class numbers, from 0, that the adapted model is given by these names and predicts besides the label
finish(model): makes an adapted model, when it is trained, one that is saved and read like any other, in place"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from biasflow.base.by_name import module_named

Model = TypeVar("Model")  # a module of torch, which those who ask for rows alone do not load


@dataclass(frozen=True)
class Strategy:
    """A strategy. name: in the configuration; module: its module (this one: the training as it is); text: what it
    trains on (raw, scrubbed); options: of its `adapt` or `debias`."""

    name: str = "plain"
    module: str = "strategies"
    text: str = "raw"
    options: Mapping[str, object] = field(default_factory=dict)

    def rows(
        self, train: np.ndarray, validation: np.ndarray, *, labels: Sequence[str], genders: Sequence[str], seed: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of both parts that a training with this strategy reads; BiasflowError if it is impossible."""
        if rows := self.part("rows"):
            return rows(self.name, train, validation, labels=labels, genders=genders, seed=seed)
        return train, validation

    def adapt(self, model: Model) -> Model:
        """Return the model that is trained in the place of a new one."""
        adapt = self.part("adapt")
        return adapt(model, **self.options) if adapt else model

    def finish(self, model: Model) -> None:
        """Make a trained model of `adapt` one like any other."""
        if finish := self.part("finish"):
            finish(model)

    def part(self, name: str, default: object = None):
        """Return what the module has under this name, if it has it."""
        return getattr(module_named(f"biasflow.{self.module}"), name, default)
