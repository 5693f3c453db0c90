"""Corpora of separate texts, read one at a time: lines of a text file, JSON lines (Reddit comments), Parquet."""

import bz2
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

from scripts.biasflow.errors import BiasflowError

OPENERS: dict[str, Callable] = {".gz": gzip.open, ".bz2": bz2.open}  # the archives of Reddit comments are .bz2
FIELDS = ("body", "text")  # Reddit comments have a body
REMOVED = {"[deleted]", "[removed]"}  # what Reddit puts in the place of a comment


def read_texts(path: str | Path) -> Iterator[str]:
    """The texts of a corpus in the file's order, one at a time, whatever its size; empty ones are left out.

    The ending says what the file is: .txt (a text a line), .jsonl (an object a line, with the text in `body` or
    `text`; comments that were deleted or removed are left out), both also as .gz or .bz2, or .parquet (column `body` or
    `text`). BiasflowError names the file, and the line where there is one: another ending, no such file, a file that is
    cut off or not what its ending says, bytes that are no UTF-8, an object without text, no text at all. An error of a
    line comes when that line is reached; the file is opened at once."""
    path = Path(path)
    packed = path.suffix.lower() in OPENERS
    ending = Path(path.stem).suffix.lower() if packed else path.suffix.lower()
    if ending == ".parquet" and not packed:
        texts = _parquet_texts(path)
    elif ending in (".txt", ".jsonl"):
        texts = _line_texts(path, ending)
    else:
        raise BiasflowError(f"{path}: ends in none of .txt, .jsonl (also .gz, .bz2), .parquet; rename or convert it.")
    first = next(texts, None)
    if first is None:
        raise BiasflowError(f"{path}: holds no text.")
    return chain([first], texts)


def _line_texts(path: Path, ending: str) -> Iterator[str]:
    for number, line in _lines(path):
        if not line.strip():
            continue
        text = line if ending == ".txt" else _json_text(path, number, line)
        if text.strip() and text.strip() not in REMOVED:
            yield text


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line number (from 1) and line, without its end; only \\n ends a line."""
    number = 0
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as stream:
            for number, line in enumerate(stream, start=1):
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise BiasflowError(
            f"{path}: line {number}: byte {error.start + 1} is no UTF-8 text; check the file."
        ) from error
    except (EOFError, zlib.error) as error:
        raise BiasflowError(f"{path}: line {number + 1}: the file is cut off or damaged; fetch it again.") from error
    except OSError as error:
        raise BiasflowError(f"{path}: line {number + 1}: cannot be read: {error.strerror or error}.") from error


def _json_text(path: Path, number: int, line: str) -> str:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise BiasflowError(f"{path}: line {number}: not valid JSON: {error.msg}.") from error
    for field in FIELDS:
        if isinstance(record, dict) and isinstance(record.get(field), str):
            return record[field]
    raise BiasflowError(f"{path}: line {number}: no object with text in the field {' or '.join(FIELDS)}.")


def _parquet_texts(path: Path) -> Iterator[str]:
    from pyarrow import ArrowException  # slow to load, and needed for this kind of file only
    from pyarrow.parquet import ParquetFile

    try:
        with closing(ParquetFile(path)) as file:
            columns = [field for field in FIELDS if field in file.schema_arrow.names]
            if not columns:
                raise BiasflowError(f"{path}: has no column {' or '.join(FIELDS)}.")
            for batch in file.iter_batches(columns=columns[:1]):
                for text in batch.column(0).to_pylist():
                    if text is not None and not isinstance(text, str):
                        raise BiasflowError(f"{path}: column {columns[0]} holds {type(text).__name__}, no text.")
                    if text and text.strip() and text.strip() not in REMOVED:
                        yield text
    except (ArrowException, OSError) as error:
        raise BiasflowError(f"{path}: cannot be read as Parquet: {' '.join(str(error).split())}") from error
