"""The records of a file, whatever its format: Parquet, JSON lines, or text separated by commas, semicolons or tabs."""

import json
import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from biasflow.base.errors import BiasflowError, printable
from biasflow.base.files import is_parquet, named_once, text_lines
from biasflow.base.left_out import leave_out, most
from biasflow.base.tabular import and_others, table_rows

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 60  # characters of a value in a message
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
Headerless = Callable[[list[str]], Sequence[str] | None]


def read_records(
    path: str | Path,
    wanted: Collection[str] | None = None,
    *,
    headerless: Headerless | None = None,
    quoted: Callable[[Sequence[str]], bool] = lambda names: True,
) -> pd.DataFrame:
    """One row per record, values as the file has them (those of separated text are text), None where there is none.

    The content tells the format: Parquet, JSON lines (an object a line), else separated text (`tabular.table_rows`, as
    is `quoted`). wanted: the columns that are kept, of those that the file has (None: all); attrs["columns"] names all
    of them. headerless: the columns of a table whose first line is that record already, None where it is a header. The
    index is the place in the file, from 1: its name is line, or in Parquet row.

    BiasflowError names the file and the line of a row that is not as long as the header; a line of JSON that is no
    object; a column or field that is there twice; a file that cannot be read, or is neither Parquet nor UTF-8."""
    path = Path(path)
    if is_parquet(path):
        return _parquet(path, wanted)
    start = next((line.lstrip()[0] for line in text_lines(path) if line.strip()), "")
    if start == "[":
        raise BiasflowError(f"{path}: is a JSON array; write one object in each line.")
    if start == "{":
        return of_objects(path, json_lines(path), "line", wanted)
    rows = table_rows(path, wanted or (), quoted=quoted)
    first = next(rows, (1, []))
    header = headerless and headerless(first[1])
    names = list(header or first[1])
    _refuse_twice(path, names, None)
    kept = [place for place, name in enumerate(names) if wanted is None or name in wanted]
    places, records = [], []
    for line, row in chain([first] if header else [], rows):
        places.append(line)
        records.append([row[place] for place in kept])
    columns = {names[place]: [record[k] for record in records] for k, place in enumerate(kept)}
    return _frame(columns, names, pd.Index(places, name="line"))


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


def read_columns(path: str | Path, needed: Sequence[str], optional: Sequence[str] = ()) -> pd.DataFrame:
    """Return `read_records` of these columns, of which the needed ones are there; BiasflowError as of both."""
    table = read_records(path, [*needed, *optional])
    columns_of(path, table, needed)
    return table


def columns_of(path: str | Path, table: pd.DataFrame, *namings: Sequence[str]) -> Sequence[str]:
    """Return the names of the columns that a reader needs: the one of its `namings` that fits best.

    BiasflowError that names the first column that is not there, and for a table without a row."""
    best = max(namings, key=lambda naming: len({*naming} & {*table.columns}))
    for name in best:
        if name not in table:
            known = " or ".join(", ".join(naming) for naming in namings)
            has = one_line(", ".join(table.attrs.get("columns", table.columns)))
            raise BiasflowError(f"{path}: no column {name}; the columns must be {known}. The file has {has}.")
    if table.empty:
        raise BiasflowError(f"{path}: no row after the header; check the file.")
    return best


def refuse(path: str | Path, values: pd.Series, wrong: pd.Series, why: str) -> None:
    """Raise BiasflowError that names the first place where `wrong` holds, and the value there (shortened); how many
    such places there are, and the next four.

    values: a column of `read_records`; its name is that of the column, its index the places."""
    if wrong.any():
        (place, *others), value = values.index[wrong], values[wrong.idxmax()]
        if isinstance(value, str) and DECIMAL_COMMA.fullmatch(value.strip()):
            why = f"{why} (a number with a comma: write a decimal point)"
        why += and_others(others, values.index.name)
        raise BiasflowError(f"{path}: {values.index.name} {place}: column {values.name}: {_shown(value)} {why}.")


def without(path: str | Path, table: pd.DataFrame, column: str, wrong: pd.Series, why: str) -> pd.DataFrame:
    """Return the items of a table but those where `wrong` holds, which are left out, with their places and what is
    wrong with the column (base.left_out).

    BiasflowError as `refuse` where that is most of them: then the file as a whole is wrong."""
    places = table.index[wrong]
    if most(len(places), len(table)):
        refuse(path, table[column], wrong, f"{why}; check the file")
    leave_out(path, {f"{table.index.name} {place}": f"{column} {why}" for place in places}, len(table))
    return table[~wrong]


def without_empty(path: str | Path, table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the items of a table but those that have no text in one of these columns (see `without`)."""
    for column in columns:
        table = without(path, table, column, table[column].fillna("").str.strip() == "", "is empty")
    return table


def without_unknown(path: str | Path, table: pd.DataFrame, known: Mapping[str, Collection[object]]) -> pd.DataFrame:
    """Return the items of a table but those with a value that is not one of the `known` ones of its column (see
    `without`)."""
    for column, values in known.items():
        why = f"is none of {', '.join(map(str, values))}"
        table = without(path, table, column, ~table[column].isin([*values]), why)
    return table


def is_filled(value: object) -> bool:
    """Whether a value is text that has more than blanks in it."""
    return isinstance(value, str) and bool(value.strip())


def _shown(value: object) -> str:
    """A value in a message: as in Python, cut where it is long, nested or not printable."""
    try:
        return _REPR.repr(value)
    except (ValueError, RecursionError):  # a number with thousands of digits
        return f"a {type(value).__name__}"


def one_line(message: object, most: int = 200) -> str:
    """Return a foreign text as part of one line: without line breaks and final full stop, shortened."""
    text = " ".join(str(message).split()).rstrip(".")
    return text if len(text) <= most else f"{text[:most]} ..."


def _frame(columns: dict[str, list], names: Sequence[str], index: pd.Index) -> pd.DataFrame:
    frame = pd.DataFrame(columns, index=index, dtype=object)
    frame.attrs["columns"] = list(names)
    return frame


def _refuse_twice(path: Path, names: Sequence[str], wanted: Collection[str] | None) -> None:
    for name in names:
        if name and (wanted is None or name in wanted) and names.count(name) > 1:
            raise BiasflowError(f"{path}: the column {one_line(name, 40)!r} appears twice; keep one of the two.")


def _parquet(path: Path, wanted: Collection[str] | None) -> pd.DataFrame:
    with parquet_file(path) as file:
        names = file.schema_arrow.names
        _refuse_twice(path, names, wanted)
        columns = file.read(columns=[name for name in names if wanted is None or name in wanted]).to_pydict()
        index = pd.RangeIndex(1, file.metadata.num_rows + 1, name="row")
    return _frame(columns, names, index)


@contextmanager
def parquet_file(path: str | Path) -> Iterator["ParquetFile"]:
    """An open Parquet file; BiasflowError names one that is damaged, also where that is seen in the body."""
    from pyarrow import ArrowException  # slow to load, and needed for files from the hub only
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            yield file
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise BiasflowError(f"{path}: cannot be read as Parquet: {one_line(error)}.") from error


def json_lines(path: str | Path) -> Iterator[tuple[int, object]]:
    """Yield the number, from 1, and the object of each line of JSON lines that is not empty; the file may be packed.

    BiasflowError names the line of anything that is no JSON, is nested too deeply, or has a name twice."""
    lines = ((number, line) for number, line in enumerate(text_lines(path), start=1) if line.strip())
    for number, line in lines:
        record, error = _json_of(line)
        if error:
            others = and_others([other for other, text in lines if _json_of(text)[1]], "line")
            raise BiasflowError(f"{path}: line {number}{error}{others}.")
        yield number, record


def _json_of(line: str) -> tuple[object, str]:
    """What a line of JSON holds, and where and why it is none, or ""."""
    try:
        return json.loads(line, object_pairs_hook=named_once), ""
    except json.JSONDecodeError as error:
        return None, f", column {error.colno}: not valid JSON: {error.msg}; one object a line is needed"
    except RecursionError:
        return None, ": nested too deeply; mend it"
    except ValueError as error:  # a name that is there twice, a number with thousands of digits
        return None, f": {one_line(error)}"
