"""The examples of a fine-tuning in the form that the Trainer needs, and their order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerBase

from biasflow.encoders.batches import grouped_by_length
from biasflow.encoders.tokens import Tokens, tokenise
from biasflow.training.loop import EpochSampler


@dataclass(frozen=True)
class Rows(Dataset):
    """Examples as the Trainer takes them: the tokens of text rows[i], a label (a class number, or a number), and class
    numbers beside it, by name."""

    tokens: Tokens
    rows: np.ndarray
    labels: Sequence[float]
    beside: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> dict[str, object]:
        beside = {name: column[number] for name, column in self.beside.items()}
        return {**self.tokens.of(self.rows[number]), "labels": self.labels[number], **beside}

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each example."""
        return self.tokens.lengths[self.rows]

    @property
    def cut(self) -> int:
        """The number of examples that were too long and cut."""
        return int(self.tokens.cut[self.rows].sum())

    def by_length(self) -> "Rows":
        """Return the rows sorted by length, the shortest first; the sort is stable."""
        order = np.argsort(self.lengths, kind="stable")
        beside = {name: [column[number] for number in order] for name, column in self.beside.items()}
        return Rows(self.tokens, self.rows[order], [self.labels[number] for number in order], beside)


def tokenised(
    tokenizer: PreTrainedTokenizerBase,
    frame: pd.DataFrame,
    *,
    texts: Sequence[str],
    labels: Sequence[str] | None,
    max_length: int,
    beside: Sequence[str] = (),
) -> Rows:
    """The rows of a table with the columns `texts`, `label` and those `beside` it."""
    number = {label: i for i, label in enumerate(labels)}.__getitem__ if labels else float
    numbers = [number(label) for label in frame["label"]]
    others = {name: frame[name].tolist() for name in beside}
    tokens = tokenise(tokenizer, *(frame[text].tolist() for text in texts), max_length=max_length)
    return Rows(tokens, np.arange(len(frame)), numbers, others)


class LengthSampler(EpochSampler):
    """Rows in random order, then `grouped_by_length`."""

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int):
        super().__init__(len(lengths), seed)
        self.lengths, self.batch_size = np.asarray(lengths), batch_size

    def __iter__(self):
        rng = np.random.default_rng([self.seed, self.epoch])
        order = rng.permutation(len(self.lengths))
        grouped = grouped_by_length(self.lengths[order], batch_size=self.batch_size, rng=rng)
        return iter(order[grouped].tolist())
