"""A score under a method against that of the untouched model: which is nearer to neutral?"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from biasflow.results.bootstrap import RESAMPLES
from biasflow.results.scores import NA, ROUNDING
from biasflow.results.statistics import split_interval, t_interval

SEEDS, ITEMS, DRAWS = "seeds", "items", "draws"  # what an interval is over
SAME_ITEMS = "same items"
# Endings of metrics whose scores are differences on the same items (results.changes).
CHANGED, DISTANCE_CHANGED = "_change", "_distance_change"
DRAWN = ["split_seed"]  # not the order in which a probe is sent the same people: that says nothing of other people


class Change(NamedTuple):
    """How the distance of a score from neutral differs from that of another one, such as the untouched model's.

    distance: of the score; other: of the other one on the same seeds; [low, high]: 95 % interval of distance - other,
    over SEEDS, SAME_ITEMS, ITEMS or DRAWS (NA, and NaN, where there is none); p: two-sided, of no difference, at most
    0.05 where the interval leaves out 0 (`p_of_interval`)."""

    distance: float = np.nan
    other: float = np.nan
    low: float = np.nan
    high: float = np.nan
    over: str = NA
    p: float = np.nan


def has_width(low: ArrayLike, high: ArrayLike) -> np.ndarray:
    """Whether an interval says how sure a number is, [...]: it has ends, which differ by more than rounding. All seeds,
    or all resamples, that give the same number do not say what another one would give."""
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    return high - low > ROUNDING * np.maximum(1, np.abs(high))


def distance(value: ArrayLike, neutral: float, better: str) -> np.ndarray:
    """How far values are from neutral, [...], at least 0.

    better "neutral": |value - neutral|. Where "low" is better, value - neutral, and 0 below it: a probe that does worse
    than chance has found no bias. Where "high" is better, neutral - value, and 0 above it."""
    above = np.asarray(value, dtype=float) - neutral
    if better == "neutral":
        return np.abs(above)
    return np.maximum(above if better == "low" else -above, 0)


def distances(
    value: ArrayLike, low: ArrayLike, high: ArrayLike, neutral: float, better: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`distance` of the values [n], and the least and largest of it within [low, high]; NaN without an interval."""
    ends = np.stack([distance(end, neutral, better) for end in (low, high)])
    inside = (np.asarray(low) <= neutral) & (neutral <= np.asarray(high))
    return distance(value, neutral, better), np.where(inside, 0, ends.min(axis=0)), ends.max(axis=0)


def change(
    block: pd.DataFrame,
    other: pd.DataFrame | None,
    neutral: float,
    better: str,
    paired: pd.DataFrame | None = None,
    *,
    noisy: bool = False,
) -> Change:
    """How the distance of one measure from neutral differs between two models; all: rows of the table of scores.

    paired: the differences of the two distances on the same items (DISTANCE_CHANGED), if there are any.
    noisy: of `registry.Measure`.

    A seed's score is the mean over its draws (splits, readouts, heads), and a distance the mean over the seeds for
    which the block has a value; another model without a seed stands beside all. The interval is the first that
    `has_width` of:

    seeds   three or more: Student's t of the differences, seed by seed, and if there are intervals on the same items
            (the next ones), what these add (`with_items`); of noisy scores none without
    same items  the ends of the differences in `paired`, averaged over seeds and draws, if there is one for each score
    items   of the ends of the scores' own intervals, averaged over seeds, unless neutral is `better`, where a score may
            cross it: with d the two distances, in [l, h] each,
            low = d1 - d0 - sqrt((d1 - l1)^2 + (h0 - d0)^2), and high likewise (Zou and Donner 2008). That is the
            interval of two that are measured on different items, for scores of which no items are known; none where
            one of the intervals has no width
    draws   three or more splits, the same ones: `split_interval` of their differences"""
    block = block[block["value"].notna()]
    if other is None or block.empty:
        return Change(*_alone(block, neutral, better))
    other = other[other["value"].notna()]
    if NA not in set(other["seed"]):
        if not set(block["seed"]) <= set(other["seed"]):
            return Change(*_alone(block, neutral, better))
        other = other[other["seed"].isin(block["seed"])]
    sides = [_by(side, ["seed"], neutral, better) for side in (block, other)]
    means = float(sides[0].mean()), float(sides[1].mean())
    items = _of_same_items(block, paired)
    for over, ends in (
        (SEEDS, lambda: _paired(*sides)),
        (SAME_ITEMS, lambda: items),
        (ITEMS, lambda: _of_items(block, other, neutral, better)),
        (DRAWS, lambda: _paired(*(_by(side, DRAWN, neutral, better) for side in (block, other)), split_interval)),
    ):
        low, high = ends()
        if noisy and over in (SEEDS, DRAWS) and np.isnan(items).any():
            continue
        if has_width(low, high) or (over in (SAME_ITEMS, ITEMS) and low == high == 0):  # equal distances
            if over == SEEDS:
                low, high = with_items(means[0] - means[1], (low, high), items)
            units = {SEEDS: len(sides[0]), DRAWS: len(block.groupby(DRAWN))}.get(over)
            return Change(*means, low, high, over, p_of_interval(means[0] - means[1], low, high, units))
    return Change(*means)


def p_of_interval(value: float, low: float, high: float, units: int | None = None) -> float:
    """The two-sided p that a value is 0, from its 95 % interval: that of Student's t with units - 1 degrees of freedom,
    or of the normal distribution, whose standard error is as wide as the interval on the side of 0.

    So p is at most 0.05 if the interval leaves out 0. 1 for a value of 0. An interval of resamples knows no p below one
    resample."""
    if np.isnan([value, low, high]).any() or value == 0:
        return np.nan if value else 1.0
    end = low if value > 0 else high
    away = abs(value) / abs(value - end) if value != end else np.inf
    if units is None:
        return max(float(2 * ndtr(ndtri(0.025) * away)), 1 / RESAMPLES)
    return float(2 * stdtr(units - 1, stdtrit(units - 1, 0.025) * away))


def _alone(block: pd.DataFrame, neutral: float, better: str) -> tuple[float, ...]:
    return (float(_by(block, ["seed"], neutral, better).mean()),) if len(block) else ()


def _by(rows: pd.DataFrame, keys: list[str], neutral: float, better: str) -> pd.Series:
    """The distance of each seed's, or each draw's, mean score."""
    means = rows.groupby(keys)["value"].mean()
    return pd.Series(distance(means, neutral, better), means.index)


def _paired(block: pd.Series, other: pd.Series, interval: Callable = t_interval) -> tuple[float, float]:
    """The interval of the differences; another model without a seed is the same for all."""
    if list(other.index) == [NA]:
        return interval((block - other.iloc[0]).to_numpy())
    both = pd.concat([block, other], axis=1, join="inner")
    return interval((both.iloc[:, 0] - both.iloc[:, 1]).to_numpy()) if len(both) == len(block) else (np.nan, np.nan)


def with_items(value: float, over_seeds: tuple[float, float], over_items: tuple[float, float]) -> tuple[float, float]:
    """The 95 % interval of a mean over seeds, from its interval over seeds and that over the items on which all seeds
    are measured: other seeds on other items. Both errors add up as squares. The first where there is no second."""
    if np.isnan(over_items).any():
        return over_seeds
    below, above = (np.hypot(value - one, value - other) for one, other in zip(over_seeds, over_items, strict=True))
    return float(value - below), float(value + above)


def smallest_seen(low: ArrayLike, high: ArrayLike, units: ArrayLike = np.inf) -> np.ndarray:
    """How large a difference from 0 (or from neutral) would have been in order to be seen in 80 of 100 cases, [...]:
    that is, to have a 95 % interval without 0, if intervals are as wide as [low, high].

    half the width x (1 + t(80 %) / t(97.5 %)), Student's t with units - 1 degrees of freedom: 1.43 times half the width
    for intervals over items."""
    freedom = np.asarray(units, dtype=float) - 1
    seen = 1 + stdtrit(freedom, 0.8) / stdtrit(freedom, 0.975)
    return np.where(has_width(low, high), (np.asarray(high) - np.asarray(low)) / 2 * seen, np.nan)


def _of_same_items(block: pd.DataFrame, paired: pd.DataFrame | None) -> tuple[float, float]:
    """The mean ends of the differences; NaN unless each score of the block has one."""
    if paired is None or len(paired) != len(block):
        return np.nan, np.nan
    return float(paired["low"].mean(skipna=False)), float(paired["high"].mean(skipna=False))


def _of_items(block: pd.DataFrame, other: pd.DataFrame, neutral: float, better: str) -> tuple[float, float]:
    if better == "neutral" or not all(has_width(rows["low"], rows["high"]).all() for rows in (block, other)):
        return np.nan, np.nan
    sides = [
        distances(*(rows[end].mean(skipna=False) for end in ("value", "low", "high")), neutral, better)
        for rows in (block, other)
    ]
    return difference_interval(*(tuple(map(float, side)) for side in sides))


def difference_interval(first: tuple[float, float, float], second: tuple[float, float, float]) -> tuple[float, float]:
    """95 % interval of the first value minus the second, each (value, low, high) with an interval of its own."""
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    below = np.hypot(max(a - a_low, 0), max(b_high - b, 0)) if not np.isnan([a_low, b_high]).any() else np.nan
    above = np.hypot(max(a_high - a, 0), max(b - b_low, 0)) if not np.isnan([a_high, b_low]).any() else np.nan
    return float(a - b - below), float(a - b + above)
