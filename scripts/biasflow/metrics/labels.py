"""Labels as numbers."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from biasflow.base.errors import BiasflowError


def numbered(names: Sequence[str]) -> dict[Hashable, int]:
    """The number of every name, and of every number itself."""
    return {name: number for number, name in enumerate(names)} | {number: number for number in range(len(names))}


def numbers_of(what: str, values: Sequence, numbers: Mapping[Hashable, int], names: Sequence[str]) -> np.ndarray:
    """The number of every value; BiasflowError names the first row (from 0) whose value is not among `numbers`."""
    values = list(values)
    found = [numbers.get(value) for value in values]
    if None in found:
        row = found.index(None)
        raise BiasflowError(f"{what}: row {row} holds {values[row]!r}; give one of {', '.join(names)}")
    return np.array(found, dtype=int)
