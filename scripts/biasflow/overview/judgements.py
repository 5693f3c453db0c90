"""The words in which the page judges cells of the matrix: is bias shown, does a method move a score nearer to neutral,
does it keep quality?"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.results.comparison import distance
from biasflow.results.viability import viable

DIFFERS, SAME, NO_CLAIM = "bias shown", "no bias shown", "no claim"
NO_INTERVAL = "it has no 95 % interval"
UNSIGNED = "such a value is off neutral in every model, biased or not"
NEARER, AS_BEFORE, FARTHER, UNCOMPARED = "nearer", "as before", "farther", "not compared"
COST = "cost"
VIABLE, NOT_VIABLE, UNMEASURED = "keeps quality", "loses quality", "cost not measured"


def left(distance: ArrayLike, untouched: ArrayLike) -> np.ndarray:
    """The share of the untouched model's distance from neutral that is left, [...]: 0 at neutral, above 1 farther away.

    Infinite where only the untouched model is at neutral, 1 where both are; NaN where one is missing."""
    distance, untouched = np.broadcast_arrays(np.asarray(distance, float), np.asarray(untouched, float))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((distance == 0) & (untouched == 0), 1.0, distance / untouched)


def verdict(low: float, high: float, neutral: float, better: str) -> str:
    """DIFFERS if the whole interval [low, high] is on the biased side of the neutral value, SAME if not, and NO_CLAIM
    without an interval.

    Where less (or more) is better, an interval beyond neutral on the good side shows no bias."""
    if np.isnan(low) or np.isnan(high):
        return NO_CLAIM
    outside = not low <= neutral <= high
    return DIFFERS if outside and distance((low, high), neutral, better).min() > 0 else SAME


def compared(cell) -> str:
    """Whether a cell of the matrix is nearer to neutral than the untouched model, as before, or farther: by the
    interval of the change of the distance, if the two numbers differ as they are printed."""
    low, high = cell.change_low, cell.change_high
    if np.isnan(low) or np.isnan(high):
        return UNCOMPARED
    if printed(cell.value) == printed(cell.untouched):
        return AS_BEFORE
    return NEARER if high < 0 else FARTHER if low > 0 else AS_BEFORE


def turned(cell) -> bool:
    """Whether the whole interval of a cell lies on the other side of neutral than the untouched model's score, for a
    measure that is best at neutral."""
    if cell.better != "neutral" or np.isnan(cell.low) or np.isnan(cell.high):
        return False
    return cell.high < cell.neutral < cell.untouched or cell.untouched < cell.neutral < cell.low


def printed(value: float) -> str:
    """A score as the page prints it."""
    return f"{value:.3f}"


def keeps(values: pd.Series, untouched: float, better: str, threshold: float = 0.05) -> pd.Series:
    """Whether each value of a cost is at most `threshold` of the untouched one worse (relative); True where missing.

    better: "high" for accuracies, shares in [0, 1] (`results.viability`), "low" for perplexities."""
    if better == "high":
        measured = values.notna()
        kept = pd.Series(True, index=values.index)
        kept[measured] = viable(
            values[measured].clip(0, 1), min(max(untouched, 0), 1), threshold=threshold, reading="relative"
        )
        return kept
    return ~(values > (1 + threshold) * untouched)


def pareto(points: ArrayLike) -> np.ndarray:
    """Which of points [n, 2], both better low, no other point dominates (as low in both, lower in one): bool [n]."""
    points = np.asarray(points, dtype=float).reshape(-1, 2)
    as_low = (points[:, None] <= points[None]).all(axis=-1)
    lower = (points[:, None] < points[None]).any(axis=-1)
    return ~(as_low & lower).any(axis=0)
