"""The file of the readout `clusters`: predicted clusters of documents as a table, written and read. Imports no torch.

Columns: method, setting, head (OWN or RETRAINED), head_seed (NA for OWN), text (of TEXTS), document (its number in that
text, from 0), clusters (JSON: a list of clusters, each a list of [first, last], numbers of words, both included)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.corpora.conll import Clusters
from biasflow.readouts.files import METHOD, load_table

OWN, RETRAINED = "own", "retrained"
NA = "-"  # the seed of a model's own head, which has none beside that of its training
TEST, PRO, ANTI = TEXTS = ("test", "pro", "anti")
NAMES = [*METHOD, "head", "head_seed"]
COLUMNS = [*NAMES, "text", "document", "clusters"]


@dataclass(frozen=True)
class Predicted:
    """What H heads predict of the n documents of a text.

    heads  columns NAMES, [H]
    answers  (number of a document, its clusters): each that some head predicts, once
    places [H, n]: where in `answers` the prediction of each head for each document stands"""

    heads: pd.DataFrame
    answers: Sequence[tuple[int, Clusters]]
    places: np.ndarray


def cluster_rows(predicted: Mapping[str, Iterable[Clusters]], **names: str) -> pd.DataFrame:
    """The rows of one head; predicted: text -> the clusters of its documents, in their order; names: of NAMES."""
    rows = [
        (text, number, json.dumps(clusters, separators=(",", ":")))
        for text, of_text in predicted.items()
        for number, clusters in enumerate(of_text)
    ]
    return pd.DataFrame(rows, columns=["text", "document", "clusters"]).assign(**names)[COLUMNS]


def load_clusters(path: str | Path, text: str, n: int) -> Predicted:
    """What all heads of a file predict of a text of n documents, the heads in the order of the file.

    AbsentError where none of them is predicted: somebody's files may be of other texts alone. BiasflowError names the
    file and what is wrong: no such table, a head that does not predict each of the documents once, clusters that cannot
    be read."""
    table = load_table(path, COLUMNS[len(METHOD) :])
    table = table[table["text"] == text]
    head = table.groupby(NAMES, sort=False).ngroup().to_numpy()
    document = table["document"].to_numpy()
    heads = table[NAMES].drop_duplicates(ignore_index=True)
    for number, names in enumerate(heads.itertuples(index=False)):
        if not np.array_equal(np.sort(document[head == number]), np.arange(n)):
            raise BiasflowError(
                f"{path}: {text}: {' '.join(names)} predicts {(head == number).sum()} documents, not each of the {n} "
                "of the data once; predict them again."
            )
    if heads.empty:
        raise AbsentError(f"{path}: no prediction of {text}; predict its {n} documents.")
    places = np.empty((len(heads), n), dtype=np.int64)
    places[head, document] = table.groupby(["document", "clusters"], sort=False).ngroup()
    different = table[["document", "clusters"]].drop_duplicates()
    answers = [(int(number), _clusters(path, cell)) for number, cell in different.itertuples(index=False)]
    return Predicted(heads, answers, places)


def _clusters(path: str | Path, cell: str) -> Clusters:
    try:
        return tuple(tuple((int(first), int(last)) for first, last in cluster) for cluster in json.loads(cell))
    except (ValueError, TypeError) as error:
        raise BiasflowError(f"{path}: clusters {cell[:40]!r} cannot be read ({error}); predict them again.") from error
