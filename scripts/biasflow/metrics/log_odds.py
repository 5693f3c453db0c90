"""Do a masked-LM head's she-he log-odds by occupation follow the shares of women that were planted in its corpus?

log p(she) - log p(he) at [MASK] in "The nurse said that [MASK] was late.", against logit(share of women)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError
from biasflow.metrics.occtmp import pronouns
from biasflow.planted.world import load_world
from biasflow.readouts.files import METHOD
from biasflow.results.bootstrap import interval, weighted_mean


@dataclass(frozen=True)
class Agreement:
    """r: Pearson correlation of log-odds and logit(share), in [-1, 1] (NaN where the log-odds are all equal); slope of
    the log-odds on logit(share), 1 where they are those of the shares; n: occupations."""

    r: float
    slope: float
    n: int


def agreement(log_odds: ArrayLike, shares: ArrayLike) -> Agreement:
    """How she-he log-odds (nats) follow shares of women, each [occupations], shares strictly between 0 and 1.

    BiasflowError for unequal lengths, fewer than two occupations, shares that are outside or all equal, and log-odds
    that are not finite."""
    found, shares = np.asarray(log_odds, dtype=float), np.asarray(shares, dtype=float)
    if found.ndim != 1 or found.shape != shares.shape or len(found) < 2:
        raise BiasflowError(
            f"log-odds and shares of shapes {found.shape} and {shares.shape}: give both for two occupations or more."
        )
    if not np.isfinite(found).all():
        raise BiasflowError(f"log-odds of occupation {np.isfinite(found).argmin()} (from 0) are not finite.")
    outside = ~((shares > 0) & (shares < 1))
    if outside.any() or np.ptp(shares) == 0:
        what = f"{shares[outside][0]} is not between 0 and 1" if outside.any() else "they are all equal"
        raise BiasflowError(f"shares of women: {what}; nothing can be compared with them.")
    logit = np.log(shares / (1 - shares))
    x, y = logit - logit.mean(), found - found.mean()
    slope, spread = float(x @ y / (x @ x)), float(np.linalg.norm(y))
    return Agreement(r=slope * float(np.linalg.norm(x)) / spread if spread else float("nan"), slope=slope, n=len(y))


def score(path: str | Path) -> pd.DataFrame:
    """`agreement` with the planted world under every method, from what readouts/masked_words.py wrote.

    Columns method, setting, metric (log_odds_r, log_odds_slope), value, n (occupations), low, high (bootstrap over
    these)."""
    rows = []
    for method, occupations, he, she in pronouns(path):
        shares = np.array(_shares(path, occupations))
        found, ends = agreement(she - he, shares), intervals(she - he, shares)
        rows += [
            (*method, f"log_odds_{name}", getattr(found, name), found.n, *own)
            for name, *own in zip(("r", "slope"), *ends, strict=True)
        ]
    return pd.DataFrame(rows, columns=[*METHOD, "metric", "value", "n", "low", "high"])


def intervals(log_odds: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % bootstrap interval over occupations of r and slope of `agreement`: low [2], high [2]."""
    x, y = (side - side.mean() for side in (np.log(shares / (1 - shares)), log_odds))

    def resampled(counts: np.ndarray) -> np.ndarray:
        of_x, of_y, of_both, xx, yy = weighted_mean(counts, np.column_stack([x, y, x * y, x * x, y * y])).T
        covariance, x_variance, y_variance = of_both - of_x * of_y, xx - of_x**2, yy - of_y**2
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.column_stack([covariance / np.sqrt(x_variance * y_variance), covariance / x_variance])

    return interval(resampled, np.arange(len(x)))


def _shares(path: str | Path, occupations: Sequence[str]) -> list[float]:
    known = load_world().shares
    unknown = [name for name in occupations if name not in known]
    if unknown:
        raise BiasflowError(f"{path}: {unknown[0]!r} is no occupation of the planted world; read it again")
    return [known[name] for name in occupations]
