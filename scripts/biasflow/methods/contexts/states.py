"""Hidden states of gendered words, in memory or in a safetensors file that is written and read piece by piece."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.methods.contexts.places import order_of_flow

FEMININE_ROWS = "feminine"  # the tensor of a file of states that says which rows are feminine
Arrays = dict[str, torch.Tensor]  # place -> states


@dataclass(frozen=True)
class ContextStates:
    """Hidden states at n occurrences: place -> [n, hidden], or [n, heads, head_dim] in attention, float32, on the CPU.

    feminine: [n], true in the rows of feminine words. `arrays` may be a file that is read place by place."""

    arrays: Mapping[str, torch.Tensor]
    feminine: torch.Tensor

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(self.arrays)

    def by_gender(self, place: str) -> tuple[torch.Tensor, torch.Tensor]:
        """The states of the masculine and of the feminine words at `place`."""
        states = self.arrays[place]
        return states[~self.feminine], states[self.feminine]


def load_states(path: str | Path) -> ContextStates:
    """The states that `hidden_states` wrote; BiasflowError names a file that is no such thing."""
    try:
        with safe_open(path, framework="pt") as file:
            places = [key for key in file.keys() if key != FEMININE_ROWS]  # noqa: SIM118 (not a dict)
            feminine = file.get_tensor(FEMININE_ROWS).bool()
    except (SafetensorError, OSError) as error:
        raise BiasflowError(f"{path}: not a whole file of hidden states ({error}); delete it and run again") from error
    return ContextStates(_StatesFile(Path(path), tuple(sorted(places, key=order_of_flow))), feminine)


@dataclass(frozen=True)
class _StatesFile(Mapping):
    """A file of states as a mapping from place to tensor; each access reads one place."""

    path: Path
    places: tuple[str, ...]

    def __getitem__(self, place: str) -> torch.Tensor:
        if place not in self.places:
            raise KeyError(place)
        with safe_open(self.path, framework="pt") as file:
            return file.get_tensor(place)

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def arrays_in_memory(shapes: Mapping[str, tuple[int, ...]]) -> Arrays:
    """Arrays of these shapes to put states into."""
    return {place: torch.empty(shape) for place, shape in shapes.items()}


def arrays_in_file(path: Path, shapes: Mapping[str, tuple[int, ...]], feminine: torch.Tensor) -> Arrays:
    """The same as parts of a new safetensors file that `load_states` reads: what is put into them is in the file.

    The format: the header's length (8 bytes), the header (JSON: what lies where), the numbers. The library's own
    writer takes all tensors at once from memory."""
    tensors = {place: ("F32", shape, 4 * math.prod(shape)) for place, shape in shapes.items()}
    tensors[FEMININE_ROWS] = ("U8", tuple(feminine.shape), len(feminine))
    header, end = {}, 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": (end, end + size)}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers are aligned
    start_of_numbers = 8 + len(text)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for shape in shapes.values():
            for _ in range(shape[0]):  # written, not skipped: a full disk is an error now, not a crash later
                file.write(bytes(4 * math.prod(shape[1:])))
        file.write(feminine.numpy().astype(np.uint8).tobytes())

    def part(place: str, shape: tuple[int, ...]) -> torch.Tensor:
        offset = start_of_numbers + header[place]["data_offsets"][0]
        return torch.from_numpy(np.memmap(path, dtype="<f4", mode="r+", offset=offset, shape=shape))

    return {place: part(place, shape) for place, shape in shapes.items()}
