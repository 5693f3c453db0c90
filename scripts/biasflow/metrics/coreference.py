"""Coreference F1 (the formulas stand with the task, which selects its checkpoints by it) and what differs by gender."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.tasks.coreference.f1 import METRICS as METRICS
from scripts.biasflow.tasks.coreference.f1 import agreement as agreement
from scripts.biasflow.tasks.coreference.f1 import conll_average
from scripts.biasflow.tasks.coreference.f1 import conll_f1 as conll_f1

_ENDS = [2.5, 97.5]  # percentiles


@dataclass(frozen=True)
class F1Difference:
    """CoNLL F1 in points (0 to 100): `pro` and `anti`, their difference `value` = pro - anti with its 95 % percentile
    bootstrap interval [low, high], of n pairs of documents."""

    pro: float
    anti: float
    value: float
    low: float
    high: float
    n: int


def f1_difference(pro: ArrayLike, anti: ArrayLike, *, resamples: int = 2000, seed: int = 0) -> F1Difference:
    """100 * (CoNLL F1 on the pro-stereotypical documents - CoNLL F1 on the anti-stereotypical ones).

    pro, anti: `conll_f1(...).per_document` [n, METRICS, 4], row by row the two documents of a pair. The interval is the
    percentile bootstrap over pairs: each resample draws n pairs with replacement, and takes both F1s from the sums of
    its counts. Same seed, same interval.

    Sources: Zhao et al. (2018), Orgad et al. (2022, section 3.2). BiasflowError for other shapes or no pairs."""
    pro, anti = np.asarray(pro, dtype=float), np.asarray(anti, dtype=float)
    if pro.shape != anti.shape or pro.shape[1:] != (len(METRICS), 4) or not len(pro):
        raise BiasflowError(
            f"F1 difference: counts of shapes {pro.shape} and {anti.shape}; give [pairs, {len(METRICS)}, 4] for both."
        )
    n = len(pro)
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)
    means = [100 * conll_average(counts.sum(axis=0)) for counts in (pro, anti)]
    resampled = [100 * conll_average(np.tensordot(drawn, counts, axes=1)) for counts in (pro, anti)]
    low, high = np.percentile(resampled[0] - resampled[1], _ENDS)
    return F1Difference(float(means[0]), float(means[1]), float(means[0] - means[1]), float(low), float(high), n)
