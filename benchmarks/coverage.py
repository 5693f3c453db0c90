"""How often intervals cover the truth, and how often tests reject it, in simulations of the project's own sizes: the
tables of docs/scores.md. `python -m benchmarks.coverage FILE.csv` makes all of them anew; the tests make them small."""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np
import pandas as pd

from biasflow.base.tabular import write_csv
from biasflow.metrics import fairness
from biasflow.metrics.bootstrap import percentiles
from biasflow.metrics.noisy_correlation import correlation_interval

RATES = ("tpr", "fpr", "precision")


@dataclass(frozen=True)
class Classifier:
    """Classifiers of `professions` with `people` of a gender in each, on average: as many of both genders, or, with
    `skewed`, by the share of women. The true TPR gaps have the standard deviation `spread` and correlate at `r` with
    the shares of women; who is missed is taken for a few of the other professions (Dirichlet, 0.3)."""

    professions: int
    people: int
    r: float
    skewed: bool = False
    spread: float = 0.1

    def drawn(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shares of women [K], the expected table [2, K, K], and a table of counts [2, K, K]."""
        k = self.professions
        shares = 0.05 + 0.9 * rng.beta(1.5, 1.5, size=k)
        along = _unit(shares - shares.mean())
        beside = rng.normal(size=k)
        beside = _unit(beside - beside.mean() - along * (along @ beside))
        gaps = self.spread * np.sqrt(k) * (self.r * along + np.sqrt(1 - self.r**2) * beside)
        tpr = np.clip(rng.uniform(0.6, 0.9, size=k) + np.array([[-0.5], [0.5]]) * gaps, 0.02, 0.98)
        others = np.where(np.eye(k), 0, rng.gamma(0.3, size=(k, k)))  # which professions it is taken for
        rates = (1 - tpr)[..., None] * others / others.sum(axis=-1, keepdims=True)
        rates[:, np.arange(k), np.arange(k)] = tpr
        weights = np.stack([1 - shares, shares]) if self.skewed else np.full((2, k), 0.5)
        sizes = np.maximum(2, np.round(2 * self.people * weights)).astype(int)
        counts = np.stack([rng.multinomial(n, p) for n, p in zip(sizes, rates, strict=True)])
        return shares, sizes[..., None] * rates, counts


def coverage_of_gaps(classifier: Classifier, *, replications: int, seed: int = 0) -> pd.Series:
    """How often `correlation_interval` covers the correlation of the true gaps with the shares of women, by rate; and
    `percentile`: how often the percentiles of resampled people do, of TPR gaps."""
    rng, hits = np.random.default_rng(seed), np.zeros(len(RATES) + 1)
    for _ in range(replications):
        shares, expected, counts = classifier.drawn(rng)
        truth = fairness.gaps(np.round(1e6 * expected).astype(np.int64))  # whole numbers, as many as make no difference
        gaps = fairness.gaps(counts)
        for number, name in enumerate(RATES):
            rate = getattr(gaps, name)
            low, high = correlation_interval(shares, rate.gap, rate.gap_variance)
            hits[number] += low <= getattr(truth, name).gap_pearson(shares) <= high
        people = gaps.tpr.people
        drawn = rng.binomial(people, gaps.tpr.values, size=(500, *people.shape)) / people
        low, high = percentiles(fairness.Rate(drawn, people).gap_pearson(shares))
        hits[-1] += low <= truth.tpr.gap_pearson(shares) <= high
    return pd.Series(hits / replications, index=[*RATES, "percentile"])


def _gaps(replications: int) -> Iterator[dict]:
    for k, people, skewed, r in product((28, 40), (20, 60, 200), (False, True), (0.2, 0.5, 0.8, 0.95)):
        classifier = Classifier(k, people, r, skewed)
        covered = coverage_of_gaps(classifier, replications=replications)
        yield {"what": "gap correlation", **asdict(classifier), **covered, "replications": replications}


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


TABLES = {"gaps": (_gaps, 500)}  # replications of each row


def main(path: str, scale: float = 1.0) -> None:
    """All tables into one file; scale: of the replications."""
    rows = [row for table, n in TABLES.values() for row in table(max(2, round(scale * n)))]
    write_csv(pd.DataFrame(rows), path)


if __name__ == "__main__":
    main(sys.argv[1])
