"""Occupation prediction from biographies (paper C): how a classifier is trained, on the rows and texts of its strategy.

The classifier is a linear layer on the first token (encoders.first_token): what it predicts follows from the vectors of
that token (readouts.first_token) and the layer, which lies beside the encoder as head.safetensors."""

from collections.abc import Mapping

import pandas as pd

from biasflow.base.tabular import read_parquet
from biasflow.strategies import Strategy
from biasflow.tasks.occupation.data import professions_of, rows_of, texts_of, women


def train(*places, strategy: str, seed: int, recipe: Mapping, adaptation: Mapping | None = None, **training) -> dict:
    """Fine-tune an encoder to predict professions from the biographies of the role `biographies` (a Parquet file).

    places: the folders of `finetune`, and role -> files of the data; strategy, adaptation: name and other fields of
    `strategies.Strategy`; seed: of the split, of the strategy's draws, and of the training; recipe: the fields of
    `finetune.Recipe`; training: method and device, as in `finetune`. Where the loss is lost the model as it was before
    is kept, and marked in training.json. BiasflowError: what the split, the strategy and `finetune` refuse."""
    from biasflow.encoders.first_token import new_first_token_classifier
    from biasflow.training.finetune import Recipe, finetune  # readouts need no Trainer

    *folders, data = places
    known = Strategy(strategy, **adaptation or {})
    biographies = read_parquet(data["biographies"][0])
    return finetune(
        *folders,
        *labelled_texts(biographies, known, seed),
        texts=["text"],
        labels=professions_of(biographies),
        recipe=Recipe(**recipe),
        seed=seed,
        new_model=new_first_token_classifier,
        strategy=known,
        keep_diverged=True,
        **training,
    )


def labelled_texts(biographies: pd.DataFrame, strategy: Strategy, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the training and the validation texts of an encoder: two tables text, label, gender (1: a woman), with the
    biographies' numbers as index.

    Both parts of the seed's split are debiased by the strategy: balanced, or scrubbed."""
    rows = rows_of(biographies, strategy, seed)
    texts, labels = texts_of(biographies, strategy.text), biographies["profession"].to_numpy()
    examples = pd.DataFrame({"text": texts, "label": labels, "gender": women(biographies)})
    return examples.iloc[rows.train], examples.iloc[rows.validation]
