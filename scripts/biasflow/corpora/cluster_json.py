"""Predicted clusters in JSON files, as coreference systems of the coref-hoi kind write them.

A file is a list of documents, or has one document a line."""

import json
from pathlib import Path

import numpy as np

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_text
from biasflow.corpora.conll import Clusters, Document

WORDS, PREDICTED = ("tokens", "document", "sentences"), ("predicted_clusters", "clusters")


def is_json(path: str | Path) -> bool:
    """Whether a file begins as JSON does, and no CoNLL file."""
    return read_text(path).lstrip().startswith(("[", "{"))


def read_json_clusters(path: str | Path) -> tuple[Document, ...]:
    """Return the documents of a JSON file with the clusters that a system predicts, in the order of the file.

    A document is an object with `doc_key` (optional; KEY_PART or KEY), its words (the first of WORDS that it has: a
    list of words, or of sentences that are lists of words) and its clusters (the first of PREDICTED that it has: lists
    of [first, last]). The numbers are those of words, or of pieces if there is a list `subtoken_map` (piece -> word).

    BiasflowError names file and document: no JSON, no words, no clusters, numbers outside of the document."""
    documents = []
    for number, about in enumerate(_objects(Path(path)), start=1):
        where = f"{path}: document {number}"
        if not isinstance(about, dict):
            raise BiasflowError(f"{where}: is no object with words and clusters; give one object for each document.")
        words = _value(where, about, WORDS)
        if words and isinstance(words[0], list):
            words = [word for sentence in words for word in sentence]
        clusters = _in_words(where, about, _value(where, about, PREDICTED), len(words))
        key, _, part = str(about.get("doc_key", number)).rpartition("_")
        if not key or not part.isdigit():
            key, part = str(about.get("doc_key", number)), "0"
        blank = ("-",) * len(words)
        sentences = (0,) * len(words)
        documents.append(Document(key, part, tuple(map(str, words)), blank, blank, blank, sentences, clusters, ()))
    if not documents:
        raise BiasflowError(f"{path}: no document that can be read; give a JSON file with predicted clusters.")
    return tuple(documents)


def _objects(path: Path) -> list:
    text = read_text(path)
    try:
        if text.lstrip().startswith("["):
            return json.loads(text)
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise BiasflowError(f"{path}: is no JSON ({error}); give a list of documents, or one a line.") from error


def _value(where: str, about: dict, names: tuple[str, ...]) -> list:
    name = next((name for name in names if name in about), None)
    if name is None or not isinstance(about[name], list):
        raise BiasflowError(f"{where}: has no list {' or '.join(names)}; it has {', '.join(sorted(about))}.")
    return about[name]


def _in_words(where: str, about: dict, clusters: list, n: int) -> Clusters:
    """The clusters with numbers of words."""
    try:
        words = np.asarray(about.get("subtoken_map", range(n)), dtype=int)
        spans = [np.asarray(cluster, dtype=int).reshape(-1, 2) for cluster in clusters]
        if any((cluster < 0).any() for cluster in spans):
            raise IndexError("a number below 0")
        in_words = tuple(tuple(sorted((int(a), int(b)) for a, b in words[cluster])) for cluster in spans)
    except (ValueError, TypeError, IndexError) as error:
        raise BiasflowError(f"{where}: its clusters are no lists of [first, last] within it ({error}).") from error
    if outside := [span for cluster in in_words for span in cluster if not 0 <= span[0] <= span[1] < n]:
        raise BiasflowError(f"{where}: the mention {list(outside[0])} is not within its {n} words; correct it.")
    return in_words
