"""Texts on disk: documents as in BERT's old pre-training format (one sentence per line and an empty line between
documents), and separate texts, read one at a time: lines of a text file, JSON lines and tables (Reddit), Parquet."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from textwrap import shorten

import numpy as np

from biasflow.base.errors import BiasflowError
from biasflow.base.files import OPENERS, read_text, text_lines, whole_file
from biasflow.base.tabular import table_rows
from biasflow.corpora.records import json_lines, parquet_file

NEEDED = 4  # documents of a text that a next-sentence head is trained on: two of them are held out
FIELDS = ("body", "text")  # Reddit comments have a body
# What the column of texts is called in a table.
COLUMNS = (*FIELDS, "comment", "comments", "comment_processed", "comments_processed", "sentence", "sentences")
REMOVED = {"[deleted]", "[removed]"}  # in place of a comment on Reddit
TABLES = (".csv", ".tsv")
NUMBERED = re.compile(r"\d+\t")  # how the sentences of the Leipzig corpora begin
FIRST = 100  # lines that tell whether the lines are numbered
ROWS = 1000  # of Parquet that are read at once


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
    """All sentences of a corpus file in their order: what `read_texts` takes, a sentence a line or row."""
    return [sentence.strip() for sentence in read_texts(path)]


def sample_sentences(sentences: Sequence[str], n: int, *, seed: int) -> list[str]:
    """Draw n of the sentences without replacement and return them in their order; all if there are no more than n."""
    if len(sentences) <= n:
        return list(sentences)
    chosen = np.random.default_rng(seed).choice(len(sentences), size=n, replace=False)
    return [sentences[place] for place in np.sort(chosen)]


def read_texts(path: str | Path) -> Iterator[str]:
    """The texts of a corpus in the file's order, one at a time, whatever its size; empty ones are left out.

    The ending says what the file is; all but .parquet also as .gz, .bz2 or .xz:

    .txt         a text a line; if each of the first FIRST lines begins with a number and a tab, as in the Leipzig
                 corpora, the numbers are left out, in the whole file
    .jsonl       an object a line, with the text in `body` or `text`
    .csv, .tsv   a table (`tabular.table_rows`) whose first line names its columns, one of them in COLUMNS, in any case
    .parquet     column `body` or `text`

    Comments that were deleted or removed are left out. BiasflowError names the file, and the line where there is one:
    another ending, no such file, a file that is cut off or not what its ending says, bytes that are no UTF-8, no or
    several columns or fields of text, a row with more or fewer cells than there are columns, no text at all. An error
    of a line comes when that line is reached; the file is opened, and its first lines are read, at once."""
    path = Path(path)
    packed = path.suffix.lower() in OPENERS
    ending = Path(path.stem).suffix.lower() if packed else path.suffix.lower()
    readers = {".txt": _plain_texts, ".jsonl": _json_texts, **dict.fromkeys(TABLES, _table_texts)}
    read = readers.get(ending, parquet_texts if ending == ".parquet" and not packed else None)
    if read is None:
        known = ", ".join(readers)
        raise BiasflowError(f"{path}: ends in none of {known} (also {', '.join(OPENERS)}), .parquet; convert it.")
    texts = (text for text in read(path) if text.strip() and text.strip() not in REMOVED)
    first = next(texts, None)
    if first is None:
        raise BiasflowError(f"{path}: holds no text; name another file.")
    return chain([first], texts)


def _plain_texts(path: Path) -> Iterator[str]:
    lines = (line.rstrip("\r\n") for line in text_lines(path))
    lines = (line for line in lines if line.strip())
    first = list(islice(lines, FIRST))
    if all(NUMBERED.match(line) for line in first):
        return (NUMBERED.sub("", line, count=1) if NUMBERED.match(line) else line for line in chain(first, lines))
    return chain(first, lines)


def _json_texts(path: Path) -> Iterator[str]:
    for number, record in json_lines(path):
        fields = record if isinstance(record, dict) else {}
        text = next((fields[field] for field in FIELDS if isinstance(fields.get(field), str)), None)
        if text is None:
            raise BiasflowError(f"{path}: line {number}: is no object with text in the field {' or '.join(FIELDS)}.")
        yield text


def _table_texts(path: Path) -> Iterator[str]:
    rows = table_rows(path, COLUMNS)
    column = _text_column(path, next(rows, (1, []))[1])
    return (row[column] for _, row in rows)


def _text_column(path: Path, header: list[str]) -> int:
    """The place of the one column of texts."""
    places = [place for place, name in enumerate(header) if name.strip().lower() in COLUMNS]
    if len(places) == 1:
        return places[0]
    several = f"several columns of text, {', '.join(header[place] for place in places)}; keep one"
    none = f"no column of text; call it one of {', '.join(COLUMNS)}"
    columns = shorten(", ".join(repr(name) for name in header), 200, placeholder=" ...")
    raise BiasflowError(f"{path}: the first line names {several if places else none}. Its columns: {columns}.")


def parquet_texts(path: str | Path, names: Sequence[str] = FIELDS) -> Iterator[str]:
    """The texts of a Parquet file's first column of these names in its order, "" where there is none.

    No more than ROWS of them are in memory at once, and the packed bytes of a row group. BiasflowError names a file
    that is not Parquet, is damaged or has no such column of text."""
    with parquet_file(path) as file:
        columns = [name for name in names if name in file.schema_arrow.names]
        if not columns:
            raise BiasflowError(f"{path}: has no column {' or '.join(names)}.")
        for batch in file.iter_batches(ROWS, columns=columns[:1]):
            for text in batch.column(0).to_pylist():
                if text is not None and not isinstance(text, str):
                    raise BiasflowError(f"{path}: column {columns[0]} holds {type(text).__name__}, no text.")
                yield text or ""
