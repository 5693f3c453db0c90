"""Intervals over the items of a test, by the bootstrap: of whatever is computed from how often each item is drawn.

Three kinds, by what is estimated:

percentile  where resampling moves an estimate to neither side: means, differences, correlations of what is drawn
reflected   2 value - (high, low) of the percentiles, where it moves it up: sums of absolute gaps and divergences are
            never below 0, so that noise adds to them, in the data once and in a resample twice (the basic bootstrap,
            Davison and Hinkley 1997, sec. 5.2)
shares      of independent items that have a property: Jeffreys' interval, which has a width also where all have it

A correlation of gaps is none of these: each gap is an estimate from people, and the noise in it pulls the correlation
towards 0, in the data once and in a resample twice. Its interval is in metrics/occupation.py.

Every interval holds the value that it is of, and there is none from fewer than LEAST units."""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri, stdtrit

ENDS = [2.5, 97.5]  # percentiles
RESAMPLES, SEED = 2000, 0
GROUPS = 1000  # of items that are drawn together, where there are more items
LEAST = 6  # units that are drawn; a bootstrap of fewer is far too narrow
RESAMPLED = "resampled"  # the column of a metric's table that holds the resamples of each score


class Interval(NamedTuple):
    """A 95 % interval [low, high], [...], and estimates of resamples, [..., resamples], for intervals of differences.

    These lie `_reach` times as far from the estimate of the data. Equal items are drawn alike whatever is measured of
    them, so that resample k of one model stands beside resample k of another: the change of a score has the differences
    of the two (results.changes)."""

    low: np.ndarray
    high: np.ndarray
    resampled: np.ndarray


NOWHERE = Interval(np.nan, np.nan, np.nan)  # of a score without one


def interval(
    estimate: Callable[[np.ndarray], np.ndarray],
    groups: ArrayLike,
    *,
    strata: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """95 % percentile bootstrap interval; its ends have the shape of one estimate.

    estimate: counts [resamples, items], how often each item is drawn, -> [resamples, ...]; resamples for which it is
    NaN are left out. groups [items]: what is drawn with replacement. By default a group is drawn whole, with all of its
    items (names of clusters, or a number for each item); with `strata`, as many items as it has are drawn within each
    group. The interval holds the estimate of the data. NaN where that is NaN, and for fewer than LEAST units: groups,
    or with `strata` items less all groups but one. The same seed draws the same."""
    names, of = np.unique(np.asarray(groups), return_inverse=True)
    if strata:
        counts, sizes = np.empty((resamples, len(of))), np.bincount(of)
        for number, drawn in enumerate(_drawn(tuple(sizes.tolist()), resamples, seed)):
            counts[:, of == number] = drawn
    else:
        counts = _drawn((len(names),), resamples, seed)[0]
        counts = counts if len(names) == len(of) and (of[:-1] < of[1:]).all() else counts[:, of]
    estimates = estimate(counts)
    of_data = estimate(np.ones((1, len(of))))[0]
    low, high = ends(estimates, of_data)
    units = len(of) - len(names) + 1 if strata else len(names)
    if units < LEAST:
        low, high, estimates = (np.full_like(values, np.nan) for values in (low, high, estimates))
    with np.errstate(invalid="ignore"):
        return Interval(low, high, np.moveaxis(of_data + _reach(units) * (estimates - of_data), 0, -1))


def _reach(units: int) -> float:
    """How many times as far as a bootstrap of so many units Student's t reaches: its percentiles have the deviation of
    n and not of n - 1 units, and are those of a normal distribution."""
    freedom = max(units - 1, 1)
    return float(np.sqrt(units / freedom) * stdtrit(freedom, 0.025) / ndtri(0.025))


def ends(resampled: ArrayLike, value: ArrayLike, *, reflected: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The percentiles ENDS of estimates [resamples, ...], widened to hold the `value` [...] of the data.

    reflected: 2 value - percentiles instead; NaN if all resamples have the value, such as 0: one that cannot be below 0
    is 0 in all of them, too, and says nothing about other items. NaN where there is no estimate in any resample, or no
    value."""
    value = np.asarray(value, dtype=float)
    low, high = percentiles(resampled)
    if reflected:
        low, high = np.where(low < high, [2 * value - high, 2 * value - low], np.nan)
    return np.minimum(low, value), np.maximum(high, value)


def percentiles(resampled: ArrayLike) -> np.ndarray:
    """The percentiles ENDS of estimates [resamples, ...], without NaN: [2, ...]; NaN where all are NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no estimate in any resample: NaN to both sides
        return np.nanpercentile(resampled, ENDS, axis=0)


def share_interval(hits: ArrayLike, n: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Jeffreys' 95 % interval (low, high) of the share hits / n of independent items, [...], in [0, 1].

    The quantiles of Beta(hits + 1/2, n - hits + 1/2), with 0 for no hits and 1 for all; NaN for n = 0. Source: Brown,
    Cai and DasGupta (2001, sec. 3.1.3)."""
    hits, n = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(n, dtype=float))
    low, high = (betaincinv(hits + 0.5, n - hits + 0.5, end / 100) for end in ENDS)
    low, high = np.where(hits == 0, 0, low), np.where(hits == n, 1, high)
    return tuple(np.where(n > 0, end, np.nan)[()] for end in (low, high))


def in_groups(values: ArrayLike) -> np.ndarray:
    """Sums of values [items, ...] over groups of items, every GROUPS-th in one: [groups, ...]. To draw groups in place
    of thousands of items takes less time, and says as much of a sum."""
    values = np.asarray(values, dtype=float)
    of = np.arange(len(values)) % GROUPS
    sums = np.zeros((min(GROUPS, len(values)), *values.shape[1:]))
    np.add.at(sums, of, values)
    return sums


def drawn_tables(cells: np.ndarray, shape: tuple[int, ...], *, resamples: int, pairs: bool = False) -> np.ndarray:
    """Resamples of people, counted in a table: whole numbers [resamples, *shape].

    cells [n]: into which cell of the flat table each of them falls; pairs: each of the first half is drawn together
    with one of the second half. People are drawn in groups (`in_groups`), and in the same order they are drawn alike,
    whatever cells they fall into."""
    units = len(cells) // 2 if pairs else len(cells)
    filled, places = np.unique(cells, return_inverse=True)
    groups = np.zeros((min(GROUPS, units), len(filled)))
    np.add.at(groups, (np.arange(len(cells)) % max(units, 1) % GROUPS, places), 1)
    drawn = np.zeros((resamples, int(np.prod(shape))), dtype=np.int64)
    if len(cells):
        drawn[:, filled] = _drawn((len(groups),), resamples, SEED)[0] @ groups
    return drawn.reshape(resamples, *shape)


def weighted_mean(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mean of values [items, ...] in each resample: [resamples, ...]; NaN where none is drawn."""
    with np.errstate(invalid="ignore"):
        total = np.tensordot(counts, values, axes=1)
        return total / counts.sum(axis=1).reshape(-1, *[1] * (total.ndim - 1))


@lru_cache(maxsize=4)  # all methods on one test share the draws of its few numbers of items
def _drawn(sizes: tuple[int, ...], resamples: int, seed: int) -> list[np.ndarray]:
    """How often each of so many groups is drawn, for several sets of them: [resamples, size] each."""
    rng = np.random.default_rng(seed)
    drawn = [rng.multinomial(n, np.full(n, 1 / n), size=resamples).astype(float) for n in sizes]
    for counts in drawn:
        counts.flags.writeable = False
    return drawn
