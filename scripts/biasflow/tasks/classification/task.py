"""Classification of texts or pairs of texts: how a classifier is trained, and the examples that it predicts.

Texts of people with a gender have a classifier on the first token (encoders.first_token): a linear layer, which lies
beside the encoder as head.safetensors, so what it predicts follows from the vectors of that token
(readouts.first_token). Other texts have the classification head of transformers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from biasflow.base.tabular import read_parquet, read_text_csv
from biasflow.strategies import Strategy
from biasflow.tasks.classification.splits import labels_of, rows_of, texts_of, women
from biasflow.training.examples import Examples, of_table


def train(
    *places,
    strategy: str,
    seed: int,
    recipe: Mapping,
    adaptation: Mapping | None = None,
    texts: Sequence[str] = ("text",),
    labels: Sequence[str] | None = (),
    **training,
) -> dict:
    """Fine-tune an encoder to predict labels.

    places: the folders of `finetune`, and role -> files of the data: `texts` (a Parquet file), of people with a gender,
    which are split and debiased here by `seed` and strategy, or `train` and `validation` (CSV). strategy, adaptation:
    name and other fields of `strategies.Strategy`; seed: of the split, of the strategy's draws, and of the training;
    recipe: the fields of `finetune.Recipe`; texts: the columns of a text or a pair; labels: the classes, none for those
    of the data, None where a number is predicted; training: method and device, as in `finetune`. BiasflowError: what
    the split, the strategy and `finetune` refuse. A classifier on the first token whose loss is lost is kept as it was
    before, and marked in training.json."""
    from biasflow.encoders.first_token import new_first_token_classifier
    from biasflow.training.finetune import Recipe, finetune  # readouts need no Trainer

    *folders, data = places
    known = Strategy(strategy, **adaptation or {})
    if "texts" in data:
        table = read_parquet(data["texts"][0])
        parts = labelled_texts(table, known, seed)
        training |= {"new_model": new_first_token_classifier, "keep_diverged": True}
    else:
        parts = table, _ = [read_text_csv(path) for role in ("train", "validation") for path in data[role]]
    if labels is not None and not labels:
        labels = labels_of(table)
    return finetune(
        *folders, *parts, texts=texts, labels=labels, recipe=Recipe(**recipe), seed=seed, strategy=known, **training
    )


def labelled_texts(table: pd.DataFrame, strategy: Strategy, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the training and the validation texts of an encoder: two tables text, label, gender (1: a woman), with the
    numbers of the rows of the table as index.

    Both parts of the seed's split are debiased by the strategy: balanced, or scrubbed."""
    rows = rows_of(table, strategy, seed)
    texts, labels = texts_of(table, strategy.text), table["label"].to_numpy()
    examples = pd.DataFrame({"text": texts, "label": labels, "gender": women(table)})
    return examples.iloc[rows.train], examples.iloc[rows.validation]


def examples(
    data: Mapping[str, tuple[Path, ...]],
    *,
    texts: Sequence[str],
    labels: Sequence[str] | None = (),
    name: str | None = None,
) -> Examples:
    """The examples in the file of the role `examples` (CSV). texts, labels: as in `train`; no labels: those of the
    file of the role `train`; name: of a task of GLUE, whose official scores are computed."""
    if labels is not None and not labels:
        labels = labels_of(read_text_csv(data["train"][0]))
    return of_table(read_text_csv(data["examples"][0]), texts=texts, classes=labels)
