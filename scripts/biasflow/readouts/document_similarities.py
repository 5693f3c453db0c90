"""The readout `document_similarities`: how near queries are to documents, by the vectors of an encoder."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

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
    """The cosine of every query with its documents, under every method: a table with the columns of the test's items,
    method, setting, and similarity (float32).

    `items` names the module whose items(**files, **of) lists queries and documents (corpora.retrieval). Each distinct
    text is read once, so that equal texts are equally near; a text that is longer than the encoder takes is cut."""
    reader = open_reader(source, "none").reaching(words=False)
    table = items_of(reader, source, items, of, limit).reset_index(drop=True)
    documents = len(table) // table["reading"].nunique()
    reader.left_out.of = documents + len(reader.left_out.reasons)
    return reader.write(output, table.drop(columns=["query", "text"]), similarity=similarities(reader, table, pooling))


def similarities(reader: Reader, table: pd.DataFrame, pooling: Pooling) -> np.ndarray:
    """Return the cosine of the query and the text of each row, float32 [methods, rows]; NaN where a vector is zero."""
    texts = list(dict.fromkeys([*table["query"], *table["text"]]))
    vectors = embed(reader, texts, [pooling], cut=True)[pooling]
    with np.errstate(invalid="ignore"):
        units = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    row_of = {text: row for row, text in enumerate(texts)}
    queries, documents = (table[column].map(row_of).to_numpy() for column in ("query", "text"))
    return np.stack([np.einsum("rd,rd->r", unit[queries], unit[documents]) for unit in units])
