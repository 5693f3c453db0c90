"""Fine-tuning on tables of texts and labels, for all tasks with such data."""

from collections.abc import Mapping

from biasflow.base.tabular import read_text_csv
from biasflow.strategies import Strategy
from biasflow.training.finetune import Recipe, finetune


def train_on_tables(*places, strategy: str, recipe: Mapping, adaptation: Mapping | None = None, **training) -> dict:
    """Fine-tune an encoder on the file of the role `train`, watched on that of `validation` (CSV).

    places: the folders of `finetune`, and role -> files of the data; strategy, adaptation: name and other fields of
    `strategies.Strategy`; recipe: the fields of `finetune.Recipe`; training: what else `finetune` takes, such as texts
    and labels, the columns of texts and the classes."""
    *folders, data = places
    tables = [read_text_csv(path) for role in ("train", "validation") for path in data[role]]
    known = Strategy(strategy, **adaptation or {})
    return finetune(*folders, *tables, recipe=Recipe(**recipe), strategy=known, **training)
