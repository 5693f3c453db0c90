"""The file of the readout `clusters`: predicted clusters of documents as a table, written, read, and made of the files
of a system (CoNLL or JSON). Imports no torch.

Columns: method, setting, head (files.OWN or RETRAINED), head_seed (NA for OWN), text (of TEXTS), document (its number
in that text, from 0), clusters (JSON: a list of clusters, each a list of [first, last], numbers of words, both
included)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.tabular import write_parquet
from biasflow.corpora.cluster_json import is_json, read_json_clusters
from biasflow.corpora.conll import Clusters, Document, plain_word, read_conll, read_predictions, repeated_spans
from biasflow.readouts.files import METHOD, NA, OWN, load_table

TEST, PRO, ANTI = TEXTS = ("test", "pro", "anti")
NAMES = [*METHOD, "head", "head_seed"]
COLUMNS = [*NAMES, "text", "document", "clusters"]
Files = Mapping[Path, Sequence[Document]]


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


def read(paths: Sequence[Path], data: Mapping[str, Sequence[Path]], output: Path) -> dict[str, object]:
    """Write the table of the module, of the own head under no method, from files at `paths`.

    data: by role, the file of each of TEXTS. A text of which no document is given has no rows. Returns by text the
    number of documents, and of mentions whose span an earlier cluster of the document has. BiasflowError as in
    `matched`, and for what is neither a CoNLL file nor a JSON file of clusters."""
    texts = {text: data[text][0] for text in TEXTS}
    gold = {path: read_conll(path).documents for path in texts.values()}
    readers = {path: read_json_clusters if is_json(path) else read_predictions for path in paths}
    clusters_by_file = matched({path: reader(path) for path, reader in readers.items()}, gold)
    predicted = {text: clusters_by_file[path] for text, path in texts.items() if path in clusters_by_file}
    names = {"method": "none", "setting": NA, "head": OWN, "head_seed": NA}
    write_parquet(cluster_rows(predicted, **names), output)
    return {
        "documents": {text: len(clusters) for text, clusters in predicted.items()},
        "repeated": {text: sum(map(repeated_spans, clusters)) for text, clusters in predicted.items()},
    }


def matched(predicted: Files, gold: Files) -> dict[Path, list[Clusters]]:
    """Return file of the data -> the clusters predicted for its documents, in their order; a file without predictions
    is left out. A span that a cluster has twice is kept once.

    A document is found by its words, in any case; where several of the data have these words, its name says which is
    meant. BiasflowError names file and document: given twice; not of the data; of other words than the data's; missing,
    where others of its file are given."""
    known: dict[tuple[str, ...], list[tuple]] = {}
    for document in (document for documents in gold.values() for document in documents):
        known.setdefault(_identity(document)[1], []).append(_identity(document))
    matches: dict[tuple, tuple[Path, Document]] = {}
    for path, documents in predicted.items():
        for document in documents:
            identity = _identity(document)
            of_these_words = known.get(identity[1], [])
            if len(of_these_words) == 1:
                identity = of_these_words[0]
            if identity not in of_these_words:
                raise BiasflowError(f"{path}: document {document.name}: {_difference(document, gold)}")
            if identity in matches:
                raise BiasflowError(
                    f"{path}: document {document.name}: is in {matches[identity][0]} as well; give it once."
                )
            matches[identity] = path, document
    clusters = {}
    for path, documents in gold.items():
        missing = [document for document in documents if _identity(document) not in matches]
        if 0 < len(missing) < len(documents):
            raise BiasflowError(
                f"{path}: document {missing[0].name}: is missing, as the first of {len(missing)}, in "
                f"{', '.join(map(str, predicted))}; predict all {len(documents)} documents, or none."
            )
        if not missing:
            clusters[path] = [_spans_once(matches[_identity(document)][1].clusters) for document in documents]
    return clusters


def _identity(document: Document) -> tuple:
    return _name(document), tuple(map(_folded, document.words))


def _folded(word: str) -> str:
    """A word as documents are compared: many systems lower-case."""
    return plain_word(word).casefold()


def _name(document: Document) -> tuple[str, str]:
    """Key and part; the zeros that a part begins with are not always written."""
    return document.key, document.part.lstrip("0")


def _difference(document: Document, gold: Files) -> str:
    """What tells a predicted document from all of the data."""
    name = _name(document)
    alike = [(path, other) for path, documents in gold.items() for other in documents if _name(other) == name]
    if not alike:
        return f"is in none of {', '.join(map(str, gold))}; leave it out."
    path, other = alike[0]
    for number, (theirs, ours) in enumerate(zip(document.words, other.words, strict=False), start=1):
        if _folded(theirs) != _folded(ours):
            return f"word {number} is {theirs!r}, not {ours!r} as in {path}; predict the documents of the data."
    return f"has {len(document.words)} words, not {len(other.words)} as in {path}; write the words of the data."


def _spans_once(clusters: Clusters) -> Clusters:
    return tuple(tuple(dict.fromkeys(cluster)) for cluster in clusters)
