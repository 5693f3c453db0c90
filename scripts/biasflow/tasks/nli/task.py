"""Natural language inference: how a classifier is trained."""

from biasflow.corpora.nli import LABELS, TEXTS
from biasflow.tasks.tables import train_on_tables


def train(*places, **training) -> dict:
    """Fine-tune an encoder on pairs (files of `write_nli`); arguments as in `tables.train_on_tables`."""
    return train_on_tables(*places, texts=TEXTS, labels=LABELS, **training)
