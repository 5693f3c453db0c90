"""Readouts that are larger than memory: `files.save_arrays` and `files.load_arrays` with arrays that stay on the disk.

The files are the same: safetensors is a header (JSON) and then the arrays, each in one piece. Imports no torch."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.files import whole_file
from scripts.biasflow.readouts.files import Arrays, Axis

DTYPES = {"F16": np.dtype("float16"), "F32": np.dtype("float32")}
ROOM = 4096  # bytes of the header for what is known at the end only
ALIGNMENT = 8


@contextlib.contextmanager
def arrays_on_disk(
    path: str | Path, shapes: Mapping[str, tuple[int, ...]], dtype: str, axis: Axis
) -> Iterator[tuple[dict[str, np.memmap], dict[str, object]]]:
    """Arrays of those shapes [methods, ...] and of one type (float16, float32), to be filled in place, and `meta`, a
    dictionary to be filled, too: the file is there, whole, when the context is left without an exception."""
    (code,) = (code for code, known in DTYPES.items() if known == dtype)
    entries, end = {}, 0
    for name, shape in shapes.items():
        if shape[0] != len(axis):
            raise ValueError(f"{name} has {shape[0]} methods, the axis {len(axis)}")
        start, end = end, end + prod(shape) * DTYPES[code].itemsize
        entries[name] = {"dtype": code, "shape": list(shape), "data_offsets": [start, end]}
    meta: dict[str, object] = {}

    def header() -> bytes:
        about = {"axis": json.dumps([list(pair) for pair in axis]), "meta": json.dumps(meta, sort_keys=True)}
        return json.dumps({"__metadata__": about} | entries).encode()

    size = -(-(len(header()) + ROOM) // ALIGNMENT) * ALIGNMENT
    with whole_file(path) as temporary:
        with open(temporary, "wb") as stream:
            stream.truncate(8 + size + end)
        arrays = _maps(temporary, 8 + size, entries, "r+")
        yield arrays, meta
        for array in arrays.values():
            array.flush()
        if len(header()) > size:
            raise ValueError(f"meta takes more than {ROOM} bytes: {meta}")
        with open(temporary, "r+b") as stream:
            stream.write(size.to_bytes(8, "little") + header().ljust(size))


def open_arrays(path: str | Path) -> Arrays:
    """What `arrays_on_disk` or `save_arrays` wrote; the arrays are read when they are used, and cannot be written to.

    BiasflowError names a file that is no such thing."""
    try:
        with safe_open(path, framework="np") as file:  # checks the header and the length
            about = file.metadata() or {}
            axis = tuple((method, setting) for method, setting in json.loads(about["axis"]))
            meta = json.loads(about["meta"])
        with open(path, "rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            entries = json.loads(stream.read(size))
        entries.pop("__metadata__")
        return Arrays(_maps(path, 8 + size, entries, "r"), axis, meta)
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise BiasflowError(f"{path}: not a whole readout ({error}); delete it and run again") from error


def _maps(path: str | Path, start: int, entries: Mapping[str, Mapping], mode: str) -> dict[str, np.memmap]:
    """The arrays of a file whose data begin at byte `start`."""
    return {
        name: np.memmap(path, DTYPES[entry["dtype"]], mode, start + entry["data_offsets"][0], tuple(entry["shape"]))
        for name, entry in entries.items()
    }
