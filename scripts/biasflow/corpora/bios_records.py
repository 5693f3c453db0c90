"""The records of a file of biographies, whatever its format: the columns that are used, as the file has them."""

import pickle
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.corpora.records import of_objects, one_line, read_records, refuse

# Our column -> its possible names in a file; the first existing one counts.
NAMES_OF = {
    "text": ("text", "hard_text", "raw"),
    "profession": ("profession", "title"),
    "gender": ("gender",),
    "name": ("name",),
    "scrubbed": ("scrubbed", "bio"),
}
COLUMNS = tuple(NAMES_OF)
OPTIONAL = ("name", "scrubbed")
WANTED = {name for names in NAMES_OF.values() for name in names} | {"start_pos"}


def read_biographies(path: Path) -> pd.DataFrame:
    """Return one row per record with the columns COLUMNS, values unchanged (None if missing).

    The index, named line, row or record, is the place in the file, from 1. attrs["hub"]: whether the columns have the
    names of the hub's files. Formats and errors as `bios.collect_bios` has them."""
    pickled = path.suffix in (".pkl", ".pickle")
    try:
        with open(path, "rb") as stream:
            pickled = pickled or stream.read(1) == b"\x80"
    except OSError as error:
        raise BiasflowError(f"{path}: cannot be read: {error.strerror}.") from error
    records = of_objects(path, _unpickled(path), "record", WANTED) if pickled else read_records(path, WANTED)
    if not len(records):
        raise BiasflowError(f"{path}: holds no biography; check the file.")
    return _columns(path, records)


def _columns(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    columns = {}
    for column, names in NAMES_OF.items():
        present = [name for name in names if name in table]
        if not present and column not in OPTIONAL:
            has = ", ".join(one_line(name, 30) for name in table.attrs["columns"])
            raise BiasflowError(f"{path}: has no column {' or '.join(names)}; it has {one_line(has)}. Rename one.")
        values = table[present[0]] if present else pd.Series("", index=table.index)
        if present == ["raw"] and "start_pos" in table:
            values = _after_first_sentence(path, table)
        columns[column] = values.astype(object).where(values.notna(), None).rename(column)
    raw = pd.DataFrame(columns)
    raw.attrs["hub"] = "hard_text" in table.attrs["columns"]
    return raw


def _after_first_sentence(path: Path, table: pd.DataFrame) -> pd.Series:
    """raw[start_pos:], since the first sentence names the profession."""
    valid = table["start_pos"].map(lambda start: type(start) is int and start >= 0)
    refuse(path, table["start_pos"], ~valid, "is no position in the text")
    return pd.Series(
        [text[start:] if isinstance(text, str) else None for text, start in table[["raw", "start_pos"]].to_numpy()],
        index=table.index,
        dtype=object,
    )


class _PlainValues(pickle.Unpickler):
    """Builds numbers, texts, lists, tuples and dicts; a pickle can run code only by way of a global, and none is given.

    Extension codes are refused by the base class or come to `find_class` as well."""

    path: Path

    def find_class(self, module: str, name: str):
        raise self._refused(f"{module}.{name}")

    def persistent_load(self, pid: object):
        raise self._refused("a value outside the file (a persistent id)")

    def _refused(self, name: str) -> BiasflowError:
        return BiasflowError(
            f"{self.path}: the pickle asks for {one_line(name)}; only plain values are read. It is not the original "
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
            raise BiasflowError(f"{path}: cannot be read as a pickle of plain values: {one_line(error)}.") from error
    if not isinstance(records, list):
        raise BiasflowError(f"{path}: holds no list of biographies; BIOS.pkl is a list of dicts.")
    return enumerate(records, start=1)
