"""Fine-tuning on tables of texts and labels, for all tasks with such data."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.base.tabular import read_text_csv
from biasflow.strategies import Strategy
from biasflow.training.finetune import Recipe, finetune


def train_on_tables(
    encoder_folder: str | Path,
    folder: str | Path,
    work: str | Path,
    data: Mapping[str, tuple[Path, ...]],
    *,
    texts: Sequence[str],
    labels: Sequence[str] | None,
    strategy: str,
    recipe: Mapping,
    method: Mapping | None = None,
    adaptation: Mapping | None = None,
    **training,
) -> dict:
    """Fine-tune an encoder on the file of the role `train`, watched on that of `validation` (CSV).

    texts, labels: the columns of texts, and the classes (None: a number is predicted); strategy, adaptation: name
    and other fields of `strategies.Strategy`; recipe: the fields of `finetune.Recipe`; method, seed and device: as in
    `finetune`."""
    tables = [read_text_csv(path) for role in ("train", "validation") for path in data[role]]
    return finetune(
        encoder_folder,
        folder,
        work,
        *tables,
        texts=texts,
        labels=labels,
        recipe=Recipe(**recipe),
        strategy=Strategy(strategy, **adaptation or {}),
        method=method,
        **training,
    )
