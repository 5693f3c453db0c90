"""Arrays for hidden states: in memory, or in files if they are too large."""

import math
import tempfile
from collections.abc import Mapping

import numpy as np
import torch

from biasflow.base.errors import BiasflowError
from biasflow.base.files import reserve

IN_MEMORY = 2**29  # bytes of states; more than that goes into files

States = dict[str, torch.Tensor]  # place -> [n, ...], float32, on the CPU


def allocate(shapes: Mapping[str, tuple[int, ...]]) -> States:
    """Empty float32 arrays of these shapes: in memory, or in nameless files if they are too large together.

    The files lie in the system's folder for such files (TMPDIR) and are gone with the arrays."""
    large = 4 * sum(math.prod(shape) for shape in shapes.values()) > IN_MEMORY
    return {place: _in_file(shape) if large else torch.empty(shape) for place, shape in shapes.items()}


def _in_file(shape: tuple[int, ...]) -> torch.Tensor:
    size = 4 * math.prod(shape)
    try:
        with tempfile.TemporaryFile() as file:
            reserve(file, size)
            return torch.from_numpy(np.memmap(file, dtype="float32", mode="r+", shape=shape))
    except OSError as error:
        raise BiasflowError(
            f"{tempfile.gettempdir()}: {size / 2**30:.1f} GB of hidden states cannot be kept there: {error}; free some "
            "space on that disk, or set TMPDIR to a folder on another one"
        ) from error
