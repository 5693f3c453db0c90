"""Readouts as files: arrays with an axis of methods in safetensors, tables of items in Parquet. Files beside a readout
say what only its job could know: why it was not made (a head that an encoder from the hub lacks, a word that the
vocabulary or the text lacks), or which of its items were left out. Imports no torch."""

import contextlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors import safe_open

from biasflow.base.errors import FAILED, AbsentError, BiasflowError, headline
from biasflow.base.files import read_json, reserve, whole_file, write_json
from biasflow.base.left_out import LeftOut
from biasflow.base.provenance import may_pass
from biasflow.base.tabular import read_parquet, read_text_csv, write_csv
from biasflow.base.tensors import open_tensors, save_tensors

Axis = Sequence[tuple[str, str]]  # (method, setting), in the order of the first axis of every array
METHOD = ["method", "setting"]  # the first columns of every table
TRUNCATED = "truncated"  # in what a file says of itself: how many texts were cut
OWN, RETRAINED = "own", "retrained"  # heads: a model's own, and one that was trained anew
NA = "-"  # the seed of a model's own head, which has none beside that of its training
PROBABILITIES = "probabilities"  # the array of a readout of predictions that holds no predicted classes
DTYPES = {"float16": "F16", "float32": "F32"}  # of arrays larger than memory: what safetensors calls them
ROOM = 4096  # bytes of the header for what is known at the end only
ALIGNMENT = 8


@dataclass(frozen=True)
class Arrays:
    """The arrays of a readout. arrays: name -> [methods, ...]; axis: (method, setting) of each; meta: whatever the
    readout says of itself."""

    arrays: Mapping[str, np.ndarray]
    axis: tuple[tuple[str, str], ...]
    meta: Mapping[str, object]


def save_arrays(path: str | Path, arrays: Mapping[str, np.ndarray], axis: Axis, **meta: object) -> None:
    """Write arrays [methods, ...] with their axis and `meta` (JSON), whole or not at all."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    save_tensors(contiguous, path, metadata=_about(axis, meta))


@contextlib.contextmanager
def array_on_disk(
    path: str | Path, name: str, shape: Sequence[int], dtype: str, axis: Axis, **about: object
) -> Iterator[tuple[np.memmap, dict[str, object]]]:
    """What `save_arrays` writes, of one array [methods, ...] that may be larger than memory: the array (of DTYPES) and
    `meta`, which holds `about`, both to be filled in place. The file is there, whole, when the context is left without
    an exception.

    safetensors is the length of a header, the header (JSON), and the array in one piece."""
    size = prod(shape) * np.dtype(dtype).itemsize
    entry = {"dtype": DTYPES[dtype], "shape": list(shape), "data_offsets": [0, size]}
    meta: dict[str, object] = dict(about)

    def header() -> bytes:
        return json.dumps({"__metadata__": _about(axis, meta), name: entry}).encode()

    room = -(-(len(header()) + ROOM) // ALIGNMENT) * ALIGNMENT
    with whole_file(path) as temporary:
        with open(temporary, "r+b") as stream:
            reserve(stream, 8 + room + size)
        array = np.memmap(temporary, dtype, "r+", 8 + room, tuple(shape))
        yield array, meta
        array.flush()
        if len(header()) > room:
            raise ValueError(f"meta takes more than {ROOM} bytes: {meta}")
        with open(temporary, "r+b") as stream:
            stream.write(room.to_bytes(8, "little") + header().ljust(room))


def by_method(path: str | Path, name: str) -> Iterator[tuple[tuple[str, str], np.ndarray, Mapping[str, object]]]:
    """The array `name` of what `save_arrays` or `array_on_disk` wrote, a method at a time: (method, setting), its
    array, and `meta`. One method's array is in memory; the file is read, not mapped, so that it does not count either.

    BiasflowError as `load_arrays`."""
    # open_tensors compares the file's length with what the header says.
    with open_tensors(path, "readout") as file, open(path, "rb") as stream:
        axis, meta = _axis_and_meta(file.metadata())
        header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
        of_array, types = header[name], {stored: dtype for dtype, stored in DTYPES.items()}
        stream.seek(of_array["data_offsets"][0], os.SEEK_CUR)
        shape = of_array["shape"][1:]
        for method in axis:
            yield method, np.fromfile(stream, types[of_array["dtype"]], prod(shape)).reshape(shape), meta


def load_arrays(path: str | Path, *, framework: str = "np") -> Arrays:
    """Read what `save_arrays` or `array_on_disk` wrote; BiasflowError names a file that is no such thing.

    framework "np": arrays in memory; "pt": tensors that stay on the disk, of which what is used is read."""
    with open_tensors(path, "readout", framework=framework) as file:
        axis, meta = _axis_and_meta(file.metadata())
        return Arrays({name: file.get_tensor(name) for name in sorted(file.keys())}, axis, meta)


def _axis_and_meta(about: Mapping[str, str] | None) -> tuple[tuple[tuple[str, str], ...], Mapping[str, object]]:
    about = about or {}
    return tuple((method, setting) for method, setting in json.loads(about["axis"])), json.loads(about["meta"])


def _about(axis: Axis, meta: Mapping[str, object]) -> dict[str, str]:
    return {"axis": json.dumps([list(pair) for pair in axis]), "meta": json.dumps(meta, sort_keys=True)}


def under_methods(axis: Axis, items: pd.DataFrame, **values: np.ndarray) -> pd.DataFrame:
    """`items` once for each of `axis`: columns method and setting, those of `items`, then `values` [methods, items]."""
    table = pd.DataFrame(list(axis), columns=METHOD).merge(items, how="cross")
    return table.assign(**{name: array.ravel() for name, array in values.items()})


def load_table(path: str | Path, columns: Sequence[str], optional: Sequence[str] = ()) -> pd.DataFrame:
    """The columns method and setting and these of a readout in Parquet, and the `optional` ones that it has, the rows
    in the file's order.

    BiasflowError names the file and what is wrong: damaged, without rows, or without one of the columns."""
    table = read_parquet(path)
    wanted = [*METHOD, *columns]
    missing = [column for column in wanted if column not in table]
    if missing:
        raise BiasflowError(f"{path}: no column {', '.join(missing)}; delete it and run again")
    if table.empty:
        raise BiasflowError(f"{path}: the table is empty; nothing was read")
    return table[[*wanted, *(column for column in optional if column in table)]]


REASON = ["method", "reason"]


def reason_of(error: Exception, log: str | Path) -> str:
    """Why something was not made, for its cells: what it lacks, or which error it ended with, whose traceback the log
    has. An error of the machine, which another try may not have, is raised again: it ends the job."""
    if isinstance(error, AbsentError):
        return str(error)
    if may_pass(error):
        raise error
    logging.getLogger("biasflow").error("%s%s", FAILED, headline(error), exc_info=error)
    return f"{FAILED}{headline(error)} (log: {log})"


def write_left_out(path: str | Path, facts: Mapping[str, object]) -> None:
    """Write which items the readout at `path` leaves out, from what its module returned; no file where it has all."""
    if left_out := facts.get(LeftOut.FACT):
        write_json(_left_out(path), left_out, ensure_ascii=False)


def left_out_of(path: str | Path) -> LeftOut:
    """Return what `write_left_out` wrote."""
    about = read_json(_left_out(path)) if _left_out(path).is_file() else {"items": {}, "of": 0}
    return LeftOut(about["items"], about["of"])


def _left_out(path: str | Path) -> Path:
    return Path(f"{path}.left_out.json")


def _beside(path: str | Path) -> Path:
    return Path(f"{path}.reasons.csv")


def write_reasons(path: str | Path, reasons: Mapping[str, str]) -> None:
    """Write method -> why the readout at `path` does not have it; no file without a reason."""
    if reasons:
        write_csv(pd.DataFrame(list(reasons.items()), columns=REASON), _beside(path))


def reasons_of(path: str | Path) -> dict[str, str]:
    """Return method -> reason as `write_reasons` wrote it; empty where everything was read."""
    rows = read_text_csv(_beside(path)) if _beside(path).is_file() else pd.DataFrame(columns=REASON)
    return dict(zip(rows["method"], rows["reason"], strict=True))


def not_fitted(path: str | Path | None) -> dict[str, str]:
    """Method -> why it could not be fitted, of a file of fitted methods (`methods.fitted.save`)."""
    if path is None:
        return {}
    with safe_open(path, framework="np") as file:
        return json.loads((file.metadata() or {}).get("reasons", "{}"))
