"""Class labels as numbers from 0, and whether a classifier is right more often than its most frequent class."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrc

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


def majority(classes: ArrayLike, hits: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of the most frequent gold class, and the exact one-sided p of the hits against it, each [...].

    classes: how many items each gold class has, [..., classes]; hits: how many items are classified right, [...]. p is
    the probability that a binomial of this share has so many hits or more: a constant answer has p > 0.5, and a
    classifier of which p is not small is not shown to be better than one. NaN without items."""
    classes, hits = np.asarray(classes, dtype=float), np.asarray(hits, dtype=float)
    n = classes.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        share = classes.max(axis=-1) / n
    return share, bdtrc(hits - 1, n, share)
