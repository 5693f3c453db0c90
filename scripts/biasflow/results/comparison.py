"""A score under a method against that of the untouched model: how far from neutral is either, and which is nearer?"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.results.scores import NA, ROUNDING
from biasflow.results.statistics import t_interval

SEEDS, ITEMS, DRAWS = "seeds", "items", "draws"  # what an interval is over
SAME_ITEMS = "same items"
CHANGED = "_change"  # a score of this ending is a method's score minus the untouched model's, on the same items
DRAWN = ["split_seed", "readout_seed", "head_seed"]


class Change(NamedTuple):
    """How a method changes the distance from neutral.

    distance: under the method; untouched: of the untouched model on the same seeds; [low, high]: 95 % interval of
    distance - untouched, over SEEDS, SAME_ITEMS, ITEMS or DRAWS (NA, and NaN, where there is none)."""

    distance: float = np.nan
    untouched: float = np.nan
    low: float = np.nan
    high: float = np.nan
    over: str = NA


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
    block: pd.DataFrame, untouched: pd.DataFrame | None, neutral: float, better: str, paired: pd.DataFrame | None = None
) -> Change:
    """How a method changes the distance of one measure from neutral; all: rows of the table of scores. paired: those of
    the measure's changes (CHANGED) under the method, if it is never better than neutral and the metric computes them.

    A seed's score is the mean over its draws (splits, readouts, heads), and a distance the mean over the seeds for
    which the block has a value; an untouched model without a seed stands beside all. The interval is the first that
    `has_width` of:

    seeds   three or more: Student's t of the differences, seed by seed
    same items  the ends of the changes in `paired`, averaged over seeds and draws, if there is one for each score
    items   of the ends of the scores' own intervals, averaged over seeds: with d the two distances, in [l, h] each,
            low = d1 - d0 - sqrt((d1 - l1)^2 + (h0 - d0)^2), and high likewise (Zou and Donner 2008). That is the
            interval of two that are measured on different items; on the same items it is wider than it need be where
            the two go up and down together
    draws   three or more of the readout, the same ones: Student's t of their differences"""
    block = block[block["value"].notna()]
    if untouched is None or block.empty:
        return Change(*_alone(block, neutral, better))
    untouched = untouched[untouched["value"].notna()]
    if NA not in set(untouched["seed"]):
        if not set(block["seed"]) <= set(untouched["seed"]):
            return Change(*_alone(block, neutral, better))
        untouched = untouched[untouched["seed"].isin(block["seed"])]
    sides = [_by(side, ["seed"], neutral, better) for side in (block, untouched)]
    means = float(sides[0].mean()), float(sides[1].mean())
    for over, ends in (
        (SEEDS, lambda: _paired(*sides)),
        (SAME_ITEMS, lambda: _of_same_items(block, paired, better)),
        (ITEMS, lambda: _of_items(block, untouched, neutral, better)),
        (DRAWS, lambda: _paired(*(_by(side, DRAWN, neutral, better) for side in (block, untouched)))),
    ):
        low, high = ends()
        if has_width(low, high) or (over == ITEMS and low == high == 0):  # of two equal scores no difference is claimed
            return Change(*means, low, high, over)
    return Change(*means)


def _alone(block: pd.DataFrame, neutral: float, better: str) -> tuple[float, ...]:
    return (float(_by(block, ["seed"], neutral, better).mean()),) if len(block) else ()


def _by(rows: pd.DataFrame, keys: list[str], neutral: float, better: str) -> pd.Series:
    """The distance of each seed's, or each draw's, mean score."""
    means = rows.groupby(keys)["value"].mean()
    return pd.Series(distance(means, neutral, better), means.index)


def _paired(block: pd.Series, untouched: pd.Series) -> tuple[float, float]:
    """t interval of the differences; an untouched model without a seed is the same for all."""
    if list(untouched.index) == [NA]:
        return t_interval((block - untouched.iloc[0]).to_numpy())
    both = pd.concat([block, untouched], axis=1, join="inner")
    return t_interval((both.iloc[:, 0] - both.iloc[:, 1]).to_numpy()) if len(both) == len(block) else (np.nan, np.nan)


def _of_same_items(block: pd.DataFrame, paired: pd.DataFrame | None, better: str) -> tuple[float, float]:
    """The mean ends of the changes, as changes of a distance; NaN unless each score of the block has one."""
    if paired is None or len(paired) != len(block):
        return np.nan, np.nan
    low, high = (float(paired[end].mean(skipna=False)) for end in ("low", "high"))
    return (low, high) if better == "low" else (-high, -low)


def _of_items(block: pd.DataFrame, untouched: pd.DataFrame, neutral: float, better: str) -> tuple[float, float]:
    sides = [
        distances(*(rows[end].mean(skipna=False) for end in ("value", "low", "high")), neutral, better)
        for rows in (block, untouched)
    ]
    return difference_interval(*(tuple(map(float, side)) for side in sides))


def difference_interval(first: tuple[float, float, float], second: tuple[float, float, float]) -> tuple[float, float]:
    """95 % interval of the first value minus the second, each (value, low, high) with an interval of its own."""
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    below = np.hypot(max(a - a_low, 0), max(b_high - b, 0)) if not np.isnan([a_low, b_high]).any() else np.nan
    above = np.hypot(max(a_high - a, 0), max(b - b_low, 0)) if not np.isnan([a_high, b_low]).any() else np.nan
    return float(a - b - below), float(a - b + above)
