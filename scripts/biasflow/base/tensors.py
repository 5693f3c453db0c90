"""Tensors as safetensors files: equal contents give equal bytes."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Union

import numpy as np
from safetensors import SafetensorError, safe_open

from biasflow.base.errors import BiasflowError
from biasflow.base.files import whole_file

if TYPE_CHECKING:  # slow to load, and arrays need none
    import torch

LENGTH = 8  # bytes at the beginning of a file that hold the length of its header


@contextlib.contextmanager
def open_tensors(
    path: str | Path, what: str, *, framework: str = "np", advice: str = "delete it and run again"
) -> Iterator[safe_open]:
    """The open file of tensors; whatever goes wrong while it is read is one BiasflowError that names it."""
    try:
        with safe_open(path, framework=framework) as file:
            yield file
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise BiasflowError(f"{path}: not a whole {what} ({error}); {advice}") from error


def save_tensors(
    tensors: Mapping[str, Union[np.ndarray, "torch.Tensor"]],
    path: str | Path,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write named tensors, all of numpy or all of torch, and metadata as a safetensors file, whole or not at all, whose
    bytes depend on nothing else.

    safetensors itself keeps metadata in a hash table and writes them in an order that differs from process to process:
    here they are in the order of their names."""
    if all(isinstance(tensor, np.ndarray) for tensor in tensors.values()):
        from safetensors.numpy import save_file
    else:
        from safetensors.torch import save_file
    with whole_file(path) as temporary:
        save_file(dict(tensors), temporary, metadata=dict(metadata) if metadata else None)
        if metadata and len(metadata) > 1:
            _sort_metadata(temporary)


def _sort_metadata(path: str | Path) -> None:
    """Put the metadata of a safetensors file into the order of their names; where tensors begin stays as it is."""
    with open(path, "r+b") as file:
        size = int.from_bytes(file.read(LENGTH), "little")
        header = json.loads(file.read(size))
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        if len(text) > size:
            raise ValueError(f"{path}: its header does not fit into the {size} bytes that safetensors wrote")
        file.seek(LENGTH)
        file.write(text.ljust(size))
