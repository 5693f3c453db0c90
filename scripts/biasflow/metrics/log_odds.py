"""Do a masked-LM head's she-he log-odds by occupation follow the shares of women that were planted in its corpus?

log p(she) - log p(he) at [MASK] in "The nurse said that [MASK] was late.", against logit(share of women)."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.genders import FEMININE
from biasflow.metrics.items import score_items
from biasflow.metrics.occtmp import ITEM, pronouns
from biasflow.planted.world import load_world
from biasflow.results.bootstrap import RESAMPLED, interval, weighted_mean


class Agreement(NamedTuple):
    """How closely a model's log-odds follow the planted shares of women.

    r: Pearson correlation of log-odds and logit(share), in [-1, 1] (NaN if all log-odds are equal); slope: of the
    log-odds on logit(share), 1 if both are equal."""

    r: float
    slope: float


def agreement(log_odds: ArrayLike, shares: ArrayLike) -> Agreement:
    """Compare she-he log-odds (nats) with shares of women, both [occupations]; shares lie strictly between 0 and 1."""
    odds, shares = np.asarray(log_odds, dtype=float), np.asarray(shares, dtype=float)
    return Agreement(*_r_and_slope(np.ones((1, len(odds))), odds, shares)[0].tolist())


def score(path: str | Path) -> pd.DataFrame:
    """Return the `summary` of every method, from a file of readouts/masked_words.py."""
    return score_items(path, ITEM, summary)


def summary(items: pd.DataFrame) -> pd.DataFrame:
    """Return the `agreement` of one model with the planted world: columns metric (log_odds_r, log_odds_slope), value, n
    (occupations), low, high (bootstrap over these), resampled."""
    he, she = pronouns(items)
    shares = np.array([load_world().shares[name] for name in items.loc[items["gender"] == FEMININE, "item"]])
    result = agreement(she - he, shares)
    ends = interval(lambda counts: _r_and_slope(counts, she - he, shares), np.arange(len(he)))
    each = zip(result._fields, result, *ends, strict=True)
    rows = [(f"log_odds_{name}", value, len(he), *limits) for name, value, *limits in each]
    return pd.DataFrame(rows, columns=["metric", "value", "n", "low", "high", RESAMPLED])


def _r_and_slope(counts: np.ndarray, log_odds: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """r and slope of `agreement` in each resample of the occupations: [resamples, 2]."""
    x, y = (side - side.mean() for side in (np.log(shares / (1 - shares)), log_odds))
    of_x, of_y, of_both, xx, yy = weighted_mean(counts, np.column_stack([x, y, x * y, x * x, y * y])).T
    covariance, x_variance, y_variance = of_both - of_x * of_y, xx - of_x**2, yy - of_y**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.column_stack([covariance / np.sqrt(x_variance * y_variance), covariance / x_variance])
