"""The records of a file, whatever its format: Parquet, JSON lines, tab-separated or comma-separated text."""

import csv
import json
import reprlib
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import is_parquet

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 60  # characters of a value in a message
Headerless = Callable[[list[str]], Sequence[str] | None]


def read_records(
    path: str | Path, wanted: Collection[str] | None = None, *, headerless: Headerless | None = None
) -> pd.DataFrame:
    """One row per record, values as the file has them (those of separated text are text), None where there is none.

    The content tells the format: Parquet, JSON lines (an object a line), tab-separated if the first line has a tab, and
    then quotes are plain characters; else CSV. Empty lines are left out. wanted: the columns that are kept, of those
    that the file has (None: all); attrs["columns"] names all of them. headerless: the columns of a table whose first
    line is that record already, None where it is a header. The index is the place in the file, from 1: its name is
    line, or in Parquet row.

    A comma or a line break in a text that is not quoted makes its row longer or shorter, and what would be read instead
    of the text is wrong without a trace. So BiasflowError names the file and the line of the first row that is not as
    long as the header, or whose quotes do not match; a line of JSON that is no object; a column or field that is there
    twice; a file that cannot be read, or is neither Parquet nor UTF-8."""
    path = Path(path)
    if is_parquet(path):
        return _parquet(path, wanted)
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            start = stream.read(1)
            while start.isspace():
                start = stream.read(1)
            stream.seek(0)
            if start == "[":
                raise BiasflowError(f"{path}: is a JSON array; write one object in each line.")
            return _json_lines(path, stream, wanted) if start == "{" else _separated(path, stream, wanted, headerless)
    except UnicodeDecodeError as error:
        raise BiasflowError(
            f"{path}: byte {error.start + 1}: neither UTF-8 text nor Parquet; save the file as UTF-8."
        ) from error
    except OSError as error:
        raise BiasflowError(f"{path}: cannot be read: {error.strerror}.") from error


def of_objects(path: Path, objects: Iterable[tuple[int, object]], unit: str, wanted: Collection[str] | None):
    """The records of (place, object), as `read_records` gives them; a key that one lacks is None."""
    places, rows, names = [], [], {}
    for place, record in objects:
        if not isinstance(record, dict) or not all(isinstance(name, str) for name in record):
            raise BiasflowError(f"{path}: {unit} {place}: not a record of named values; every {unit} must be one.")
        names |= dict.fromkeys(record)
        places.append(place)
        rows.append({name: value for name, value in record.items() if wanted is None or name in wanted})
    kept = [name for name in names if wanted is None or name in wanted]
    columns = {printable(name): [row.get(name) for row in rows] for name in kept}
    return _frame(columns, [printable(name) for name in names], pd.Index(places, name=unit))


def columns_of(path: str | Path, table: pd.DataFrame, *namings: Sequence[str]) -> Sequence[str]:
    """Return the names of the columns that a reader needs: the one of its `namings` that fits best.

    BiasflowError that names the first column that is not there, and for a table without a row."""
    best = max(namings, key=lambda naming: len({*naming} & {*table.columns}))
    for name in best:
        if name not in table:
            known = " or ".join(", ".join(naming) for naming in namings)
            unsplit = [column for column in table if ";" in str(column)]
            hint = f" The header is {printable(unsplit[0])}: put commas between the columns." if unsplit else ""
            raise BiasflowError(f"{path}: no column {name}; the columns must be {known}.{hint}")
    if table.empty:
        raise BiasflowError(f"{path}: no row after the header; check the file.")
    return best


def refuse_unknown(path: str | Path, values: pd.Series, known: Collection[object]) -> None:
    """Raise BiasflowError (see `refuse`) for the first value that is not one of the `known` ones."""
    refuse(path, values, ~values.isin([*known]), f"is none of {', '.join(map(str, known))}")


def refuse(path: str | Path, values: pd.Series, wrong: pd.Series, why: str) -> None:
    """Raise BiasflowError that names the first place where `wrong` holds, and the value there (shortened).

    values: a column of `read_records`; its name is that of the column, its index the places."""
    if wrong.any():
        place = wrong.idxmax()
        raise BiasflowError(
            f"{path}: {values.index.name} {place}: column {values.name}: {_shown(values[place])} {why}."
        )


def _shown(value: object) -> str:
    """A value in a message: as in Python, cut where it is long, nested or not printable."""
    try:
        return _REPR.repr(value)
    except (ValueError, RecursionError):  # a number with thousands of digits
        return f"a {type(value).__name__}"


def one_line(message: object, most: int = 200) -> str:
    """Return a foreign text as part of one line: without line breaks and final full stop, printable, shortened."""
    text = printable(" ".join(str(message).split()).rstrip("."))
    return text if len(text) <= most else f"{text[:most]} ..."


def printable(text: str) -> str:
    """Return `text` with control characters and half characters (lone surrogates) as escapes."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _frame(columns: dict[str, list], names: Sequence[str], index: pd.Index) -> pd.DataFrame:
    frame = pd.DataFrame(columns, index=index, dtype=object)
    frame.attrs["columns"] = list(names)
    return frame


def _refuse_twice(path: Path, names: Sequence[str], wanted: Collection[str] | None) -> None:
    for name in names:
        if name and (wanted is None or name in wanted) and names.count(name) > 1:
            raise BiasflowError(f"{path}: the column {one_line(name, 40)!r} appears twice; keep one of the two.")


def _parquet(path: Path, wanted: Collection[str] | None) -> pd.DataFrame:
    from pyarrow import ArrowException  # slow to load, and needed for files from the hub only
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            names = file.schema_arrow.names
            _refuse_twice(path, names, wanted)
            columns = file.read(columns=[name for name in names if wanted is None or name in wanted]).to_pydict()
            index = pd.RangeIndex(1, file.metadata.num_rows + 1, name="row")
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise BiasflowError(f"{path}: cannot be read as Parquet: {one_line(error)}.") from error
    return _frame(columns, names, index)


def _json_lines(path: Path, stream: TextIO, wanted: Collection[str] | None) -> pd.DataFrame:
    def objects() -> Iterator[tuple[int, object]]:
        """The object of each line that is not empty, with its number."""
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                yield number, json.loads(line, object_pairs_hook=_named_once)
            except json.JSONDecodeError as error:
                place = f"line {number}, column {error.colno}"
                raise BiasflowError(
                    f"{path}: {place}: not valid JSON: {error.msg}; one object a line is needed."
                ) from error
            except RecursionError as error:
                raise BiasflowError(f"{path}: line {number}: nested too deeply; mend it.") from error
            except ValueError as error:  # a name that is there twice, a number with thousands of digits
                raise BiasflowError(f"{path}: line {number}: {one_line(error)}.") from error

    return of_objects(path, objects(), "line", wanted)


def _named_once(pairs: list[tuple[str, object]]) -> dict:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{one_line(repr(twice), 30)} appears twice; keep one of the two")
    return record


def _separated(
    path: Path, stream: TextIO, wanted: Collection[str] | None, headerless: Headerless | None
) -> pd.DataFrame:
    by_tab = "\t" in stream.readline()
    stream.seek(0)
    csv.field_size_limit(max(csv.field_size_limit(), min(sys.maxsize, 1 << 30)))  # the module's own is 128 KiB
    reader = csv.reader(stream, **({"delimiter": "\t", "quoting": csv.QUOTE_NONE} if by_tab else {"strict": True}))
    names: list[str] = []
    places: list[int] = []
    rows: list[list[str]] = []
    line = 1  # the one that a record starts on
    try:
        for row in reader:
            if len(row) > 1 or "".join(row).strip():
                if not names:
                    header = headerless and headerless(row)
                    names = list(header or row)
                    _refuse_twice(path, names, None)
                    kept = [place for place, name in enumerate(names) if wanted is None or name in wanted]
                    if not header:
                        line = reader.line_num + 1
                        continue
                if len(row) != len(names):
                    more = len(row) > len(names)
                    cause = "" if by_tab else f"; quote texts with {'commas' if more else 'commas or line breaks'}"
                    raise BiasflowError(
                        f"{path}: line {line}: {'more' if more else 'fewer'} fields than the header "
                        f"({len(row)}, {len(names)}){cause}."
                    )
                places.append(line)
                rows.append([row[place] for place in kept])
            line = reader.line_num + 1
    except csv.Error as error:
        raise BiasflowError(f"{path}: line {line}: {error}; check the quotes around its texts.") from error
    columns = {names[place]: [row[k] for row in rows] for k, place in enumerate(kept)} if names else {}
    return _frame(columns, names, pd.Index(places, name="line"))
