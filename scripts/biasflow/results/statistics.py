"""Correlations with confidence intervals, and the exact paired permutation test."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from scripts.biasflow.base.errors import BiasflowError

_TESTS = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}
_EXACT_UP_TO = 20  # 2**19 sums: a few megabytes


@dataclass(frozen=True)
class Correlation:
    """A correlation of n pairs: estimate, two-sided p, and a percentile bootstrap interval [low, high].

    Where it cannot be computed estimate, p, low and high are NaN and `reason` says why; otherwise `reason` is ""."""

    method: str
    estimate: float
    p: float
    low: float
    high: float
    n: int
    reason: str = ""


def correlation(
    x: ArrayLike,
    y: ArrayLike,
    method: str = "spearman",
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Correlation:
    """Spearman, Pearson or Kendall (tau-b) correlation of x and y, each [n].

    The interval is the percentile bootstrap over pairs; resamples in which a side is constant are left out.
    p is scipy's two-sided p. Fewer than three pairs or a constant side give NaN and a reason.
    Raises BiasflowError for an unknown method, unequal lengths, or values that are not finite."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if method not in _TESTS:
        raise BiasflowError(f"correlation method {method!r} is unknown; choose from {', '.join(_TESTS)}")
    if x.ndim != 1 or x.shape != y.shape:
        raise BiasflowError(f"correlation: x and y have shapes {x.shape} and {y.shape}; give two equally long lists")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise BiasflowError("correlation: a value is not finite; drop the pair or mend the score that it comes from")
    reason = "fewer than three pairs" if len(x) < 3 else "a constant side" if _constant(x) or _constant(y) else ""
    if reason:
        return Correlation(method, *[float("nan")] * 4, n=len(x), reason=reason)
    test = _TESTS[method](x, y)
    picks = np.random.default_rng(seed).integers(len(x), size=(resamples, len(x)))
    drawn = _estimates(x[picks], y[picks], method)
    tail = 100 * (1 - confidence) / 2
    low, high = np.nanpercentile(drawn, [tail, 100 - tail])
    return Correlation(method, float(test.statistic), float(test.pvalue), float(low), float(high), len(x))


def paired_permutation(a: ArrayLike, b: ArrayLike, *, samples: int = 100_000, seed: int = 0) -> float:
    """Two-sided p of the paired sign-flip test of mean(a - b) = 0; a and b: [n], paired by position.

    p = share of the 2^n sign patterns of the differences whose |sum| is at least the observed one. Exact up to 20
    pairs (ten equal positive differences: 2/1024); above that, `samples` random patterns and p = (1 + hits) /
    (1 + samples). Raises BiasflowError for unequal lengths, no pairs or values that are not finite."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.ndim != 1 or a.shape != b.shape or not len(a):
        raise BiasflowError(f"paired test: a and b have shapes {a.shape} and {b.shape}; give two equally long lists")
    differences = a - b
    if not np.isfinite(differences).all():
        raise BiasflowError("paired test: a value is not finite; drop the pair or mend the score that it comes from")
    # Patterns that tie with the observed one must count, whatever the order of summation rounds them to.
    reached = abs(differences.sum()) - 1e-9 * np.abs(differences).sum()
    if len(differences) <= _EXACT_UP_TO:
        return float((np.abs(_all_signed_sums(differences)) >= reached).mean())
    generator = np.random.default_rng(seed)
    hits = drawn = 0
    while drawn < samples:
        block = min(2000, samples - drawn)
        signs = generator.choice([-1.0, 1.0], size=(block, len(differences)))
        hits += int((np.abs(signs @ differences) >= reached).sum())
        drawn += block
    return (1 + hits) / (1 + samples)


def _all_signed_sums(differences: np.ndarray) -> np.ndarray:
    """The sums over all sign patterns with the first sign fixed: |sum| is the same when every sign is turned."""
    sums = differences[:1]
    for difference in differences[1:]:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums


def _constant(values: np.ndarray) -> bool:
    return bool((values == values[0]).all())


def _estimates(x: np.ndarray, y: np.ndarray, method: str) -> np.ndarray:
    """The correlation of each row of x with the same row of y, [resamples, n] -> [resamples]; NaN if constant."""
    if method == "kendall":
        usable = [not (_constant(a) or _constant(b)) for a, b in zip(x, y, strict=True)]
        return np.array([stats.kendalltau(a, b).statistic for a, b, ok in zip(x, y, usable, strict=True) if ok])
    if method == "spearman":
        x, y = stats.rankdata(x, axis=-1), stats.rankdata(y, axis=-1)
    x, y = (values - values.mean(axis=-1, keepdims=True) for values in (x, y))
    scale = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip((x * y).sum(axis=-1) / scale, -1, 1)
