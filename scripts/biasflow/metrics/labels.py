"""Class labels as numbers from 0."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from biasflow.base.errors import BiasflowError


def numbered(names: Sequence[str]) -> dict[Hashable, int]:
    """Return label -> number, for the names in their order, and for the numbers themselves."""
    return {name: number for number, name in enumerate(names)} | {number: number for number in range(len(names))}


def numbers_of(name: str, values: Sequence, numbers: Mapping[Hashable, int], names: Sequence[str]) -> np.ndarray:
    """Return the number of every value, [n]; BiasflowError names the first row (from 0) whose value is not among
    `numbers`."""
    values = list(values)
    result = [numbers.get(value) for value in values]
    if None in result:
        row = result.index(None)
        raise BiasflowError(f"{name}: row {row} holds {values[row]!r}; give one of {', '.join(names)}")
    return np.array(result, dtype=int)
