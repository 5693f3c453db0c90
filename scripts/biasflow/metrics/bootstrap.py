"""Bootstrap intervals over the items of a test, of whatever is computed from how often each item is drawn."""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

ENDS = [2.5, 97.5]  # percentiles
RESAMPLES, SEED = 2000, 0


def interval(
    estimate: Callable[[np.ndarray], np.ndarray],
    groups: ArrayLike,
    *,
    strata: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[np.ndarray, np.ndarray]:
    """95 % percentile bootstrap interval (low, high), each of the shape of one estimate.

    estimate: counts [resamples, items], how often each item is drawn, -> [resamples, ...]; resamples for which it is
    NaN are left out. groups [items]: what is drawn with replacement. By default a group is drawn whole, with all of its
    items (names of clusters, or a number for each item); with `strata`, as many items as it has are drawn within each
    group. The same seed draws the same."""
    names, of = np.unique(np.asarray(groups), return_inverse=True)
    rng = np.random.default_rng(seed)
    counts = np.empty((resamples, len(of)))
    if strata:
        for number in range(len(names)):
            counts[:, of == number] = _drawn(rng, int((of == number).sum()), resamples)
    else:
        counts[:] = _drawn(rng, len(names), resamples)[:, of]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no estimate in any resample: NaN to both sides
        low, high = np.nanpercentile(estimate(counts), ENDS, axis=0)
    return low, high


def _drawn(rng: np.random.Generator, n: int, resamples: int) -> np.ndarray:
    return rng.multinomial(n, np.full(n, 1 / n), size=resamples)


def weighted_mean(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mean of values [items, ...] in each resample: [resamples, ...]; NaN where none is drawn."""
    with np.errstate(invalid="ignore"):
        total = np.tensordot(counts, values, axes=1)
        return total / counts.sum(axis=1).reshape(-1, *[1] * (total.ndim - 1))
