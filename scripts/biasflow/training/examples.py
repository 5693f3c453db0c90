"""The examples that a fine-tuned classifier predicts: texts, made when they are used, and gold labels. No torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError

Texts = tuple[list[str], ...]  # one list per text of an example: a sentence, or a pair


@dataclass(frozen=True)
class Examples:
    """n = prod(shape) examples, numbered in C order of `shape`.

    texts: (start, stop) -> the texts of the examples number `start` to `stop` - 1; only these are made. classes: their
    names in the order of the class numbers, None where a number is predicted. gold: each example's class number (or
    number); None where examples have none. ids: of the texts as they are, which come first where copies follow."""

    texts: Callable[[int, int], Texts]
    shape: tuple[int, ...]
    classes: tuple[str, ...] | None
    gold: tuple[float, ...] | None = None
    ids: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return int(np.prod(self.shape))


def of_table(examples: pd.DataFrame, *, texts: Sequence[str], classes: Sequence[str] | None) -> Examples:
    """Return the rows of a table with the columns `texts` and `label` as examples; errors as in `check_labels`."""
    check_labels(examples, classes, "test")
    number = {name: i for i, name in enumerate(classes)}.__getitem__ if classes else float
    columns = [examples[text].tolist() for text in texts]
    return Examples(
        lambda start, stop: tuple(column[start:stop] for column in columns),
        (len(examples),),
        classes and tuple(classes),
        tuple(number(label) for label in examples["label"]),
    )


def check_labels(frame: pd.DataFrame, labels: Sequence[str] | None, part: str) -> None:
    """Raise BiasflowError for no rows, and for the first row whose label is missing or not one of `labels` (None: not a
    finite number)."""
    if frame.empty:
        raise BiasflowError(f"{part} data: there are no examples; check the files of the task.")
    if labels is None:
        right, wanted = np.isfinite(pd.to_numeric(frame["label"], errors="coerce")), "a number"
    else:
        right, wanted = frame["label"].isin(labels), f"one of {', '.join(labels)}"
    if not right.all():
        row = int(np.flatnonzero(~right)[0])
        raise BiasflowError(f"{part} data, row {row + 1}: the label is {frame['label'].iloc[row]!r}, not {wanted}.")
