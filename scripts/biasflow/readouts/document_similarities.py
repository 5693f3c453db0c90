"""The readout `document_similarities`: how near queries are to documents, by the vectors of an encoder."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from biasflow.encoders.places import SENTENCE
from biasflow.readouts.cloze import items_of
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.readouts.vectors import Pooling, embed


def read(
    source: Source,
    output: Path,
    *,
    items: str,
    of: Mapping[str, str] | None = None,
    pooling: Pooling = "cls",
    limit: int | None = None,
) -> dict[str, object]:
    """How near every query is to its documents, under every method: a table with the columns of the test's items,
    method, setting, and similarity (float32), a cosine, or of vectors of sentence-transformers what the folder says.

    `items` names the module whose items(**files, **of) lists queries and documents (corpora.retrieval). Each distinct
    text is read once, so that equal texts are equally near; a text that is longer than the encoder takes is cut."""
    reader = open_reader(source, "none").reaching(sentence=pooling == SENTENCE)
    table = items_of(reader, source, items, of, limit).reset_index(drop=True)
    documents = len(table) // table["reading"].nunique()
    reader.left_out.of = documents + len(reader.left_out.reasons)
    return reader.write(output, table.drop(columns=["query", "text"]), similarity=similarities(reader, table, pooling))


def similarities(reader: Reader, table: pd.DataFrame, pooling: Pooling) -> np.ndarray:
    """Return the similarity of the query and the text of each row, float32 [methods, rows]; NaN where the cosine of a
    zero vector would be taken."""
    sides = []
    for column, kind in (("query", "query"), ("text", "document")):
        rows, texts = pd.factorize(table[column])
        sides.append(torch.from_numpy(embed(reader, texts, [pooling], cut=True, kind=kind)[pooling])[:, rows])
    similarity = reader.sentence_encoder.similarity if pooling == SENTENCE else _cosine
    return torch.stack([similarity(*both) for both in zip(*sides, strict=True)]).numpy()


def _cosine(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    return (first * second).sum(-1) / (first.norm(dim=-1) * second.norm(dim=-1))
