"""The vectors of labelled texts, with genders and classes, to which methods with `fitted_to: task` are fitted."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedTokenizerBase

from biasflow.base.tabular import read_parquet
from biasflow.encoders.first_token import first_token_vectors
from biasflow.encoders.places import LAST_CLS, SENTENCE
from biasflow.encoders.sentence_encoder import vectors_of
from biasflow.tasks.classification.splits import classes_of, of_genders, split, texts_of, women


def gendered_vectors(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    data: Mapping[str, Sequence[Path]],
    *,
    seed: int,
    max_length: int | None = None,
    place: str = LAST_CLS,
    text: str = "raw",
) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
    """X [n, d], z [n] and y [n]: the vectors at a place of texts of women and men in a split's training part as it is,
    1 for a woman's, and the number of the label (`classes_of`), as `methods.fitting.fit_block` takes them (task).

    data: the Parquet file of the role `texts`; seed: of the split; place: last.cls or sentence; max_length (of first
    tokens; a sentence encoder has its own) and errors: as in `first_token_vectors`."""
    table = read_parquet(data["texts"][0])
    table = table.iloc[of_genders(table, split(table, seed).train)]
    texts = texts_of(table, text)
    if place == SENTENCE:
        vectors = vectors_of(model, tokenizer, texts)
    else:
        vectors, _ = first_token_vectors(model, tokenizer, texts, max_length=max_length)
    return vectors.float(), women(table), classes_of(table)
