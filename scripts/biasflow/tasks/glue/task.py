"""GLUE: its examples, and how a classifier is trained. Any data with a GLUE task's columns and classes will do."""

from collections.abc import Mapping
from pathlib import Path

from biasflow.base.tabular import read_text_csv
from biasflow.corpora.glue import TASKS
from biasflow.training.examples import Examples, of_table


def texts_and_labels(name: str) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The text columns of the GLUE task `name`, and its classes (None: a number is predicted)."""
    entry = TASKS[name]
    return entry.texts, entry.labels or None


def examples(data: Mapping[str, tuple[Path, ...]], *, name: str) -> Examples:
    """The examples of the GLUE task `name` in the file of the role `examples`, a CSV with its columns and `label`."""
    (path,) = data["examples"]
    texts, classes = texts_and_labels(name)
    return of_table(read_text_csv(path), texts=texts, classes=classes)


def train(*places, name: str, **training) -> dict:
    """Fine-tune an encoder on the GLUE task `name` (CSV files); other arguments as in `tables.train_on_tables`."""
    from biasflow.tasks.tables import train_on_tables  # predictions need no Trainer

    texts, labels = texts_and_labels(name)
    return train_on_tables(*places, texts=texts, labels=labels, **training)
