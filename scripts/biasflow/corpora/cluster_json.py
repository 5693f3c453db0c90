"""Predicted clusters in JSON files, as coreference systems of the coref-hoi kind write them.

A file is a list of documents, or has one document a line."""

import reprlib
from pathlib import Path

import numpy as np

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json, read_text
from biasflow.corpora.conll import Clusters, Document
from biasflow.corpora.records import json_lines

WORDS, PREDICTED = ("tokens", "document", "sentences"), ("predicted_clusters", "clusters")
AROUND = {"[CLS]", "[SEP]", "[PAD]", "<s>", "</s>", "<pad>"}  # pieces that are no part of a word


def is_json(path: str | Path) -> bool:
    """Whether a file begins as JSON does, and no CoNLL file."""
    return read_text(path).lstrip().startswith(("[", "{"))


def read_json_clusters(path: str | Path) -> tuple[Document, ...]:
    """Return the documents of a JSON file with the clusters that a system predicts, in the order of the file.

    A document is an object with `doc_key` (optional; KEY_PART or KEY), its words (the first of WORDS that it has: a
    list of words, or of sentences that are lists of words) and its clusters (the first of PREDICTED that it has: lists
    of [first, last]). If there is a list `subtoken_map` (piece -> word), the numbers are those of pieces, and so may be
    the words.

    BiasflowError names file and document: no JSON, no words, no clusters, clusters that are no lists of [first, last],
    numbers outside of the document."""
    documents = []
    is_list = read_text(path).lstrip().startswith("[")
    objects = read_json(path) if is_list else (about for _, about in json_lines(path))
    for number, about in enumerate(objects, start=1):
        where = f"{path}: document {number}"
        if not isinstance(about, dict):
            raise BiasflowError(f"{where}: is no object with words and clusters; give one object for each document.")
        where = f"{where} ({about['doc_key']})" if "doc_key" in about else where
        words = _value(where, about, WORDS)
        if words and isinstance(words[0], list):
            words = [word for sentence in words for word in sentence]
        numbers = about.get("subtoken_map", [*range(len(words))])
        if not isinstance(numbers, list) or not all(type(number) is int and number >= 0 for number in numbers):
            raise BiasflowError(
                f"{where}: subtoken_map is no list of the number of the word of each piece; correct it."
            )
        if "subtoken_map" in about and len(words) == len(numbers):
            words = _of_pieces(words, numbers)
        clusters = _in_words(where, _value(where, about, PREDICTED), np.asarray(numbers), len(words))
        key, _, part = str(about.get("doc_key", number)).rpartition("_")
        if not key or not part.isdigit():
            key, part = str(about.get("doc_key", number)), "0"
        blank = ("-",) * len(words)
        sentences = (0,) * len(words)
        documents.append(Document(key, part, tuple(map(str, words)), blank, blank, blank, sentences, clusters, ()))
    if not documents:
        raise BiasflowError(f"{path}: no document that can be read; give a JSON file with predicted clusters.")
    return tuple(documents)


def _value(where: str, about: dict, names: tuple[str, ...]) -> list:
    name = next((name for name in names if name in about), None)
    if name is None or not isinstance(about[name], list):
        raise BiasflowError(f"{where}: has no list {' or '.join(names)}; it has {', '.join(sorted(about))}.")
    return about[name]


def _of_pieces(pieces: list, numbers: list) -> list[str]:
    """The words that pieces of WordPiece or SentencePiece make up. numbers: of the word of each piece."""
    words = [""] * (max(numbers, default=-1) + 1)
    for piece, number in zip(map(str, pieces), numbers, strict=True):
        words[number] += "" if piece in AROUND else piece.removeprefix("##").lstrip("\u2581\u0120")
    return words


def _in_words(where: str, clusters: list, numbers: np.ndarray, n: int) -> Clusters:
    """The clusters with numbers of words; numbers: of the word of each piece or word."""
    in_words = []
    for cluster in clusters:
        try:
            spans = np.asarray(cluster)
            if not spans.size:
                continue
            if spans.ndim != 2 or spans.shape[1] != 2 or spans.dtype.kind != "i" or spans.min() < 0:
                raise ValueError
            in_words.append(tuple(sorted((int(first), int(last)) for first, last in numbers[spans])))
        except (ValueError, TypeError, IndexError) as error:
            shown = reprlib.repr(cluster)
            raise BiasflowError(
                f"{where}: the cluster {shown} is no list of mentions [first, last] within the document; write "
                "clusters as [[[0, 1], [7, 7]], [[3, 4], [9, 9]]]."
            ) from error
    if outside := [span for cluster in in_words for span in cluster if not 0 <= span[0] <= span[1] < n]:
        raise BiasflowError(f"{where}: the mention {list(outside[0])} is not within its {n} words; correct it.")
    return tuple(in_words)
