"""The records of a file of biographies, whatever its format: the columns that are used, as the file has them."""

import io
import json
import pickle
import reprlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.files import read_text
from scripts.biasflow.corpora.separated import separated

# Our column -> what a file may call it, the first that is there counts.
NAMES_OF = {
    "text": ("text", "hard_text", "raw"),
    "profession": ("profession", "title"),
    "gender": ("gender",),
    "name": ("name",),
    "scrubbed": ("scrubbed", "bio"),
}
COLUMNS = tuple(NAMES_OF)
OPTIONAL = ("name", "scrubbed")
_EMPTY = "holds no biography; check the file."
_SHOWN = 60  # characters of a value in a message
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _SHOWN


def read_records(path: Path) -> pd.DataFrame:
    """One row per record, one column per name of COLUMNS, values as they are (None where there is none).

    The index, named line, row or record, is the place in the file, from 1. attrs["hub"]: whether the columns have the
    names of the hub's files. Formats and errors as `bios.read_bios` has them."""
    try:
        with open(path, "rb") as stream:
            start = stream.read(4)
    except OSError as error:
        raise BiasflowError(f"{path}: cannot be read: {error.strerror}.") from error
    if start == b"PAR1":
        records = _parquet(path)
    elif start[:1] == b"\x80" or path.suffix in (".pkl", ".pickle"):
        records = _table(path, _unpickled(path), "record")
    else:
        records = _of_text(path, read_text(path))
    if records.empty and not len(records.columns):
        raise BiasflowError(f"{path}: {_EMPTY}")
    columns = _columns(path, records)
    if columns.empty:
        raise BiasflowError(f"{path}: {_EMPTY}")
    return columns


def refuse(path: Path, values: pd.Series, wrong: pd.Series, why: str) -> None:
    """BiasflowError that names the first place where `wrong` holds, and the value there (cut where it is long)."""
    if wrong.any():
        place = wrong.idxmax()
        raise BiasflowError(f"{path}: {values.index.name} {place}: {values.name}: {_shown(values[place])} {why}.")


def _shown(value: object) -> str:
    """A value in a message: as in Python, cut where it is long, nested or not printable."""
    try:
        return _REPR.repr(value)
    except (ValueError, RecursionError):  # a number with thousands of digits
        return f"a {type(value).__name__}"


def _one_line(message: object, most: int = 200) -> str:
    """What others wrote, as a part of one line: no line break, no full stop at its end, all printable, cut."""
    text = _printable(" ".join(str(message).split()).rstrip("."))
    return text if len(text) <= most else f"{text[:most]} ..."


def _printable(text: str) -> str:
    """`text` with control characters and half characters (lone surrogates) as escapes."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _columns(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    found = {}
    for column, names in NAMES_OF.items():
        there = [name for name in names if name in table]
        if not there and column not in OPTIONAL:
            has = ", ".join(_one_line(name, 30) for name in table)
            raise BiasflowError(f"{path}: has no column {' or '.join(names)}; it has {_one_line(has)}.")
        values = table[there[0]] if there else pd.Series("", index=table.index)
        if there == ["raw"] and "start_pos" in table:
            values = _after_first_sentence(path, table)
        found[column] = values.astype(object).where(values.notna(), None).rename(column)
    raw = pd.DataFrame(found)
    raw.attrs["hub"] = "hard_text" in table
    return raw


def _after_first_sentence(path: Path, table: pd.DataFrame) -> pd.Series:
    """raw[start_pos:], since the first sentence names the profession."""
    whole = table["start_pos"].map(lambda start: type(start) is int and start >= 0)
    refuse(path, table["start_pos"], ~whole, "is no position in the text")
    return pd.Series(
        [text[start:] if isinstance(text, str) else None for text, start in table[["raw", "start_pos"]].to_numpy()],
        index=table.index,
        dtype=object,
    )


def _parquet(path: Path) -> pd.DataFrame:
    from pyarrow import ArrowException  # slow to load, and needed for files from the hub only
    from pyarrow.parquet import ParquetFile

    wanted = {name for names in NAMES_OF.values() for name in names} | {"start_pos"}
    try:
        with ParquetFile(path) as file:
            names = file.schema_arrow.names
            _refuse_twice(path, [name for name in names if name in wanted])
            columns = file.read(columns=[name for name in names if name in wanted]).to_pydict()
            rows = file.metadata.num_rows
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise BiasflowError(f"{path}: cannot be read as Parquet: {_one_line(error)}.") from error
    return pd.DataFrame(columns, index=pd.RangeIndex(1, rows + 1, name="row"), dtype=object)


def _refuse_twice(path: Path, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BiasflowError(f"{path}: the column {name!r} is there twice; keep one of the two.")


def _of_text(path: Path, text: str) -> pd.DataFrame:
    start = text.lstrip()[:1]
    if start == "[":
        raise BiasflowError(f"{path}: a JSON array; one object a line is needed.")
    return _table(path, _json_lines(path, text), "line") if start == "{" else separated(path, text)


def _json_lines(path: Path, text: str) -> Iterable[tuple[int, dict]]:
    for number, line in enumerate(io.StringIO(text), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=_named_once)
        except json.JSONDecodeError as error:
            place = f"line {number}, column {error.colno}"
            raise BiasflowError(
                f"{path}: {place}: not valid JSON: {error.msg}; one object a line is needed."
            ) from error
        except RecursionError as error:
            raise BiasflowError(f"{path}: line {number}: nested too deeply to be a biography; mend it.") from error
        except ValueError as error:  # a name that is there twice, a number with thousands of digits
            raise BiasflowError(f"{path}: line {number}: {_one_line(error)}.") from error
        yield number, record


def _named_once(pairs: list[tuple[str, object]]) -> dict:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{_one_line(repr(twice), 30)} is there twice; keep one of the two")
    return record


def _table(path: Path, records: Iterable[tuple[int, dict]], unit: str) -> pd.DataFrame:
    """One row per record; a key that a record lacks is None."""
    places, rows = [], []
    for place, record in records:
        if not isinstance(record, dict) or not all(isinstance(name, str) for name in record):
            raise BiasflowError(f"{path}: {unit} {place}: not a record of named values; every {unit} must be one.")
        places.append(place)
        rows.append(record)
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {_printable(name): [row.get(name) for row in rows] for name in names}
    return pd.DataFrame(columns, index=pd.Index(places, name=unit), dtype=object)


class _PlainValues(pickle.Unpickler):
    """Builds numbers, texts, lists, tuples and dicts; a pickle can run code only by way of a global, and none is given.

    Extension codes are refused by the base class or come to `find_class` as well."""

    path: Path

    def find_class(self, module: str, name: str):
        raise self._refused(f"{module}.{name}")

    def persistent_load(self, pid: object):
        raise self._refused("a value outside the file (a persistent id)")

    def _refused(self, what: str) -> BiasflowError:
        return BiasflowError(
            f"{self.path}: the pickle asks for {_one_line(what)}; only plain values are read. It is not the original "
            "BIOS.pkl: delete it, or save its records as JSON lines where you trust it."
        )


def _unpickled(path: Path) -> Iterable[tuple[int, dict]]:
    with open(path, "rb") as stream:
        reader = _PlainValues(stream)
        reader.path = path
        try:
            records = reader.load()
        except BiasflowError:
            raise
        except Exception as error:  # a damaged pickle raises nearly any kind
            raise BiasflowError(f"{path}: cannot be read as a pickle of plain values: {_one_line(error)}.") from error
    if not isinstance(records, list):
        raise BiasflowError(f"{path}: holds no list of biographies; BIOS.pkl is a list of dicts.")
    return enumerate(records, start=1)
