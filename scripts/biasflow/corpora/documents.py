"""Corpora on disk: BERT's old pre-training format, one sentence per line and an empty line between documents."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_text, whole_file
from biasflow.corpora.plain_text import read_texts

NEEDED = 4  # documents of a text that a next-sentence head is trained on: two of them are held out


def check_documents(documents: Sequence[Sequence[str]], source: str) -> None:
    """Raise BiasflowError naming `source` unless next-sentence pairs can be drawn: two documents of two sentences or
    more."""
    usable = sum(len(document) >= 2 for document in documents)
    if usable < 2:
        raise BiasflowError(
            f"{source}: has {len(documents)} documents, {usable} of them of two sentences or more; next-sentence "
            "prediction needs at least 2. Write one sentence per line and an empty line between documents."
        )


def read_documents(path: str | Path) -> list[list[str]]:
    """The documents of a corpus file, lists of sentences; BiasflowError for one that no encoder can learn from."""
    documents: list[list[str]] = [[]]
    for line in read_text(path).split("\n"):
        if sentence := line.strip():
            documents[-1].append(sentence)
        elif documents[-1]:
            documents.append([])
    if not documents[-1]:
        documents.pop()
    check_documents(documents, str(path))
    return documents


def count_documents(path: str | Path, most: int) -> int:
    """How many documents of two sentences or more a corpus file has, counted up to `most`: the rest is not read."""
    documents = sentences = 0
    with Path(path).open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            sentences = sentences + 1 if line.strip() else 0
            documents += sentences == 2
            if documents == most:
                break
    return documents


def write_documents(documents: Iterable[Sequence[str]], path: str | Path) -> None:
    """Write the documents so that `read_documents` gives them back; inner line breaks and runs of spaces become one
    space, empty sentences and documents are left out. Whole or absent."""
    cleaned = [[" ".join(sentence.split()) for sentence in document] for document in documents]
    cleaned = [kept for document in cleaned if (kept := [sentence for sentence in document if sentence])]
    check_documents(cleaned, str(path))
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write("\n\n".join("\n".join(document) for document in cleaned) + "\n")


def read_sentences(path: str | Path) -> list[str]:
    """All sentences of a corpus file in their order: what `plain_text.read_texts` takes, a sentence a line or row."""
    return [sentence.strip() for sentence in read_texts(path)]


def sample_sentences(sentences: Sequence[str], n: int, *, seed: int) -> list[str]:
    """Draw n of the sentences without replacement and return them in their order; all if there are no more than n."""
    if n < 1:
        raise BiasflowError(f"sample of {n} sentences: give at least 1.")
    if len(sentences) <= n:
        return list(sentences)
    chosen = np.random.default_rng(seed).choice(len(sentences), size=n, replace=False)
    return [sentences[place] for place in np.sort(chosen)]
