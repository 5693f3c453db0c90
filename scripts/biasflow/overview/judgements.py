"""What the overview says of cells of the matrix: how much is left, does it differ from neutral, is a method viable."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.results.viability import viable

DIFFERS, SAME, UNKNOWN = "differs from neutral", "does not differ from neutral", "no interval"
COST = "cost"


def left(value: ArrayLike, untouched: ArrayLike, neutral: ArrayLike) -> np.ndarray:
    """|value - neutral| / |untouched - neutral|, [...]: 0 at neutral, 1 as the untouched model, above 1 farther away.

    NaN where the untouched model is at neutral already, or a value is missing."""
    value, untouched, neutral = np.broadcast_arrays(*(np.asarray(each, float) for each in (value, untouched, neutral)))
    whole = np.abs(untouched - neutral)
    return np.divide(np.abs(value - neutral), whole, out=np.full(np.shape(whole), np.nan), where=whole > 0)


def distances(
    value: ArrayLike, low: ArrayLike, high: ArrayLike, neutral: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """|value - neutral|, and the least and largest of it within the interval [low, high]; NaN without one. All [n]."""
    away = np.abs(np.column_stack([value, low, high]).astype(float) - neutral)
    inside = (np.asarray(low) <= neutral) & (neutral <= np.asarray(high))
    return away[:, 0], np.where(inside, 0, away[:, 1:].min(axis=1)), away[:, 1:].max(axis=1)


def verdict(low: float, high: float, neutral: float) -> str:
    """Whether the interval [low, high] holds the neutral value; UNKNOWN without an interval."""
    if np.isnan(low) or np.isnan(high):
        return UNKNOWN
    return SAME if low <= neutral <= high else DIFFERS


def keeps(values: pd.Series, untouched: float, better: str, threshold: float = 0.05) -> pd.Series:
    """Whether each value of a cost is at most `threshold` of the untouched one worse (relative); True where missing.

    better: "high" for accuracies, shares in [0, 1] (`results.viability`), "low" for perplexities."""
    if better == "high":
        there = values.notna()
        kept = pd.Series(True, index=values.index)
        kept[there] = viable(
            values[there].clip(0, 1), min(max(untouched, 0), 1), threshold=threshold, reading="relative"
        )
        return kept
    return ~(values > (1 + threshold) * untouched)


def pareto(points: ArrayLike) -> np.ndarray:
    """Which of points [n, 2], both better low, no other point dominates (as low in both, lower in one): bool [n]."""
    points = np.asarray(points, dtype=float).reshape(-1, 2)
    as_low = (points[:, None] <= points[None]).all(axis=-1)
    lower = (points[:, None] < points[None]).any(axis=-1)
    return ~(as_low & lower).any(axis=0)
