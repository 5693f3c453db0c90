"""Correlations with confidence intervals, and the exact paired permutation test, also for many columns at once."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
import scipy  # whose scipy.stats takes a second to load, and does so where it is first used
from numpy.typing import ArrayLike
from scipy.special import chdtri, stdtr, stdtrit

from biasflow.base.errors import BiasflowError
from biasflow.results.bootstrap import LEAST, RESAMPLES, Interval, interval

_TESTS = {"spearman": "spearmanr", "pearson": "pearsonr", "kendall": "kendalltau"}
_FAR = {"two-sided": np.abs, "greater": np.positive}  # alternative -> how far out a sum of differences is
EXACT_RANKS = 10  # pairs, below which p of a rank correlation is exact: Student's t would be 0 for three
LEAST_RANKS = 8  # pairs; a rank correlation of fewer is 1 or -1 too often
_LARGEST, _ROUNDING = 1 - 1e-12, 1e-9  # a correlation whose artanh is finite; differences of it by rounding
SHARE_TESTED = 0.25  # of people, in every split: so much do the tested people of two splits overlap
MOST_SEEDS = 1000  # that are thought of
_EXACT_UP_TO = 20  # 2**19 sums: a few megabytes
_SUMS = 2**22  # that are held at once


@dataclass(frozen=True)
class Correlation:
    """A correlation of n pairs: estimate, two-sided p, and a 95 % jackknife interval [low, high], which holds the
    estimate; NaN for fewer than LEAST pairs (of ranks: LEAST_RANKS).

    Where it cannot be computed estimate, p, low and high are NaN and `reason` says why; otherwise `reason` is ""."""

    estimate: float
    p: float
    low: float
    high: float
    n: int
    reason: str = ""


def correlation(x: ArrayLike, y: ArrayLike, method: str = "spearman") -> Correlation:
    """Spearman, Pearson or Kendall (tau-b) correlation of x and y, each [n].

    The interval is `cluster_interval` with a cluster for each pair. p is scipy's two-sided p, but of Spearman's rho of
    fewer than EXACT_RANKS pairs the exact one, the share of all orders in which |rho| is as large. Fewer than three
    pairs or a constant side give NaN and a reason. Raises BiasflowError for an unknown method, unequal lengths, or
    values that are not finite."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if method not in _TESTS:
        raise BiasflowError(f"correlation method {method!r} is unknown; choose from {', '.join(_TESTS)}")
    if x.ndim != 1 or x.shape != y.shape:
        raise BiasflowError(f"correlation: x and y have shapes {x.shape} and {y.shape}; give two equally long lists")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise BiasflowError("correlation: a value is not finite; drop the pair or mend the score that it comes from")
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        reason = "fewer than three pairs" if len(x) < 3 else "a constant side"
        return Correlation(*[float("nan")] * 4, n=len(x), reason=reason)
    test = getattr(scipy.stats, _TESTS[method])(x, y)
    low, high = cluster_interval(x, y, np.arange(len(x)), method)
    p = _exact_p(x, y) if method == "spearman" and len(x) < EXACT_RANKS else float(test.pvalue)
    return Correlation(float(test.statistic), p, low, high, len(x))


def _exact_p(x: np.ndarray, y: np.ndarray) -> float:
    """Two-sided p of Spearman's rho: over all orders of y [n], ties counted as they are."""
    of_x, of_y = (scipy.stats.rankdata(side) - (len(side) + 1) / 2 for side in (x, y))
    sums = of_y[_orders(len(y))] @ of_x
    return float((np.abs(sums) >= abs(of_x @ of_y) - _ROUNDING).mean())


@lru_cache(maxsize=EXACT_RANKS)
def _orders(n: int) -> np.ndarray:
    return np.array(list(permutations(range(n))), np.int8)


def cluster_interval(x: ArrayLike, y: ArrayLike, clusters: ArrayLike, method: str = "spearman") -> tuple[float, float]:
    """95 % interval of the correlation r of x and y [n] over whole `clusters` (names, [n]), for pairs that are not
    independent within a cluster; it holds r.

    tanh(artanh r -/+ t(k - 1) se), with se the standard error of artanh r by the jackknife that leaves out one of the k
    clusters at a time (Efron and Tibshirani 1993, ch. 11). NaN for fewer than LEAST clusters, for ranks of fewer than
    LEAST_RANKS pairs, and where a side is constant without one cluster or r is the same whichever is left out. It
    covers r in about 95 % of simulations (docs/scores/intervals.md). A rank
    correlation of 1, whose artanh is infinite, counts as a little less (`_largest`): else one cluster could make the
    interval as wide as can be. Arguments as of `correlation`."""
    _, of = np.unique(np.asarray(clusters), return_inverse=True)
    n, k = len(of), int(of.max()) + 1
    if k < LEAST or (method != "pearson" and n < LEAST_RANKS):
        return float("nan"), float("nan")
    counts = np.vstack([of != np.arange(k)[:, None], np.ones((1, len(of)), bool)]).astype(float)
    r = resampled_correlations(np.asarray(x, dtype=float), np.asarray(y, dtype=float), counts, method)
    most = [_largest(method, n - 1)] * k + [_largest(method, n)]
    *left_out, middle = np.arctanh(np.clip(r, np.negative(most), most))
    error = np.sqrt((k - 1) / k * ((left_out - np.mean(left_out)) ** 2).sum())
    if not error > _ROUNDING:
        return float("nan"), float("nan")
    half = stdtrit(k - 1, 0.975) * error
    return float(min(np.tanh(middle - half), r[-1])), float(max(np.tanh(middle + half), r[-1]))


def _largest(method: str, n: int) -> float:
    """The largest correlation of n pairs that counts, since 1 has no artanh: of ranks, half-way from 1 to the next one,
    that of two exchanged neighbours."""
    return {"pearson": _LARGEST, "spearman": 1 - 6 / (n**3 - n), "kendall": 1 - 2 / (n**2 - n)}[method]


def correlation_p(r: np.ndarray, freedom: int) -> np.ndarray:
    """Two-sided p of (partial) correlations r: that of t = r sqrt(df / (1 - r^2)) with `freedom` = df."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return 2 * scipy.stats.t.sf(np.abs(r) * np.sqrt(freedom / (1 - r * r)), freedom)


def paired_permutations(
    differences: np.ndarray, *, alternative: str = "two-sided", samples: int = 100_000, seed: int = 0
) -> np.ndarray:
    """p of the paired sign-flip test that the mean is 0, for each column of the differences [n, k] of pairs: [k].

    p = share of the 2^n sign patterns of the differences whose |sum| (alternative="greater": whose sum) is at least the
    observed one. Exact up to 20 pairs (ten equal positive differences: 2/1024, "greater": 1/1024); above that,
    `samples` random patterns and p = (1 + hits) / (1 + samples). The observed pattern always counts, so that p is never
    0. NaN stands for a pair that a column lacks; a column without any pair gets NaN. Columns with as many pairs are
    tested with the same sign patterns."""
    far = _FAR[alternative]
    present = np.isfinite(differences)
    pairs, p = present.sum(axis=0), np.full(differences.shape[1], np.nan)
    for n in np.unique(pairs[pairs > 0]):
        columns = np.flatnonzero(pairs == n)
        paired = differences[:, columns].T[present[:, columns].T].reshape(len(columns), n).T  # [n, columns]
        # Patterns that tie with the observed one must count, whatever the order of summation rounds them to.
        reached = far(paired.sum(axis=0)) - 1e-9 * np.abs(paired).sum(axis=0)
        if n <= _EXACT_UP_TO:
            blocks = np.array_split(np.arange(len(columns)), -(-len(columns) * 2 ** (n - 1) // _SUMS))
            p[columns] = np.concatenate([_share_of_all(paired[:, block], reached[block], far) for block in blocks])
        else:
            p[columns] = _sampled(paired, reached, far, samples, seed)
    return p


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's step-down adjustment of the p-values of one family of tests: [n] -> [n], each at least its p.

    adjusted_(i) = max over j <= i of min(1, (m - j + 1) p_(j)), p_(1) <= ... <= p_(m) (Holm 1979). A test without a
    p-value (NaN) stays NaN and does not count towards m. Raises BiasflowError for values outside [0, 1]. (The one of
    statsmodels collects garbage at every call, which takes longer than the rest of a table.)"""
    p_values = np.asarray(p_values, dtype=float)
    tested = np.flatnonzero(~np.isnan(p_values))
    if p_values.ndim != 1 or ((p_values[tested] < 0) | (p_values[tested] > 1)).any():
        raise BiasflowError("holm: give one list of p-values, each between 0 and 1 (NaN where there is none)")
    rising = tested[np.argsort(p_values[tested], kind="stable")]
    adjusted = np.full(p_values.shape, np.nan)
    adjusted[rising] = np.minimum(np.maximum.accumulate(p_values[rising] * np.arange(len(rising), 0, -1)), 1)
    return adjusted


def t_interval(values: ArrayLike) -> tuple[float, float]:
    """Student's 95 % t interval of the mean, mean -/+ t(n - 1) sd / sqrt(n), of values [n]; NaN for fewer than three.

    Of two values it would reach 12.7 times their distance from the mean to either side: out of all that a score can be.
    """
    values, n = np.asarray(values, dtype=float), len(values)
    if n < 3:
        return float("nan"), float("nan")
    half = stdtrit(n - 1, 0.975) * values.std(ddof=1) / np.sqrt(n)
    return float(values.mean() - half), float(values.mean() + half)


def split_interval(values: ArrayLike) -> tuple[float, float]:
    """95 % interval of the mean of values [n], one a random split of the same people; NaN for fewer than three.

    mean -/+ t(n - 1) sd sqrt(1 / n + r / (1 - r)) (Nadeau & Bengio 2003, the corrected resampled t): splits share
    people, so that their scores correlate, and more of them do not bring the mean nearer to what other people would
    give. r is SHARE_TESTED: of five splits it is 1.63 times as wide as `t_interval`."""
    values = np.asarray(values, dtype=float)
    wider = np.sqrt(1 + len(values) * SHARE_TESTED / (1 - SHARE_TESTED))
    return t_interval(values.mean() + wider * (values - values.mean()))


def mean_of_units(values: ArrayLike) -> tuple[float, float, float, float]:
    """The mean of values [n], one a unit (encoder, seed), its 95 % t interval (low, high), and the two-sided p of the t
    test that the mean is 0. Interval and p are NaN for fewer than LEAST units: too few for a claim.

    Of equal values p is 0, or 1 if they are 0."""
    values = np.asarray(values, dtype=float)
    mean, n = float(values.mean()), len(values)
    if n < LEAST:
        return mean, *(float("nan"),) * 3
    error = values.std(ddof=1) / np.sqrt(n)
    p = float(2 * stdtr(n - 1, -abs(mean) / error)) if error > 0 else float(mean == 0)
    return mean, *t_interval(values), p


def false_discovery_rates(p_values: ArrayLike) -> np.ndarray:
    """The p-values [n] of tests that are made together, adjusted for false discoveries (Benjamini and Hochberg 1995): a
    claim for every one up to 0.05 is wrong in 5 % of the claims. NaN stays NaN and does not count."""
    p_values = np.asarray(p_values, dtype=float)
    tested = ~np.isnan(p_values)
    adjusted = np.full(p_values.shape, np.nan)
    if tested.any():
        adjusted[tested] = scipy.stats.false_discovery_control(p_values[tested])
    return adjusted


def sd_interval(sd: float, n: int) -> tuple[float, float]:
    """95 % interval of a standard deviation (n - 1) of n >= 2 normal values: sd sqrt((n - 1) / chi2 quantiles)."""
    return tuple(float(sd * np.sqrt((n - 1) / chdtri(n - 1, tail))) for tail in (0.025, 0.975))


def seeds_needed(sd: float, difference: float) -> int | None:
    """The least number of seeds in each of two groups of models for which a two-sided t test at 5 % sees a difference
    of their means in 80 of 100 cases; sd: standard deviation between seeds. At least 2; None above MOST_SEEDS."""
    from statsmodels.stats.power import TTestIndPower  # takes two seconds to load

    if difference <= 0:
        return None
    seeds = np.arange(2, MOST_SEEDS + 1)
    effect = min(difference / sd, 20.0) if sd else 20.0  # far above what two seeds see
    enough = ~(TTestIndPower().power(effect, seeds, 0.05) < 0.8)  # NaN where it cannot be told from 1
    return int(seeds[enough.argmax()]) if enough.any() else None


def _share_of_all(differences: np.ndarray, reached: np.ndarray, far: Callable) -> np.ndarray:
    """The share of all sign patterns whose sum lies as far as `reached` [k], of each column of [n, k].

    Only those with the first sign fixed are summed: turning every sign turns the sum."""
    sums = differences[:1]
    for difference in differences[1:]:
        sums = np.concatenate([sums + difference, sums - difference])
    return ((far(sums) >= reached).mean(axis=0) + (far(-sums) >= reached).mean(axis=0)) / 2


def _sampled(differences: np.ndarray, reached: np.ndarray, far: Callable, samples: int, seed: int) -> np.ndarray:
    """(1 + hits) / (1 + samples) of each column of [n, k], from random sign patterns."""
    generator = np.random.default_rng(seed)
    hits = np.zeros(differences.shape[1])
    for start in range(0, samples, 2000):
        signs = generator.choice([-1.0, 1.0], size=(min(2000, samples - start), len(differences)))
        hits += (far(signs @ differences) >= reached).sum(axis=0)
    return (1 + hits) / (1 + samples)


def effect_jackknife(
    effects: Callable[[np.ndarray], np.ndarray],
    of_X: np.ndarray,
    sizes: np.ndarray,
    scale: float,
    resamples: int = RESAMPLES,
) -> Interval:
    """95 % jackknife interval of effect sizes [...] of target words, and effect sizes of bootstrap resamples.

    effects: counts [resamples, words], how often each word is drawn -> [resamples, ...]; of_X, sizes [words]: whether a
    word is one of X, and how many associations are about it; scale: of a standard deviation with n - ddof, as a part of
    that with n.

    An effect size d has a largest value (2 for equal sets). So the interval is Student's t of arsinh(D / sqrt(8)),
    turned back into d, where D = d / sqrt(1 - p q d^2) is the difference of the means in standard deviations within the
    sets, p and q the shares of X and Y. The spread of D grows with D, that of its arsinh does not. (The percentiles of
    the resamples cover large effects of 8 words in 80 %.) NaN for fewer than LEAST + 1
    words."""
    everything, left_out = np.ones((1, len(of_X))), 1 - np.eye(len(of_X))
    resampled = interval(effects, ~of_X, strata=True, resamples=resamples).resampled
    of_all, others = effects(everything), effects(left_out)
    if len(of_X) <= LEAST:
        return Interval(*np.full((2, *of_all.shape[1:]), np.nan), resampled)

    def balance(counts: np.ndarray) -> np.ndarray:
        """p q of each resample, [resamples, ...]."""
        of_first = counts @ (sizes * of_X) / (counts @ sizes)
        return (of_first * (1 - of_first)).reshape(-1, *[1] * (of_all.ndim - 1))

    within, others = (
        np.arcsinh(d / np.sqrt(8 * np.maximum(1 - pq * d**2, 1 - _LARGEST)))
        for d, pq in ((of_all / scale, balance(everything)), (others / scale, balance(left_out)))
    )
    variance = sum((len(z) - 1) * z.var(axis=0) for z in (others[of_X], others[~of_X]))
    reach = stdtrit(len(of_X) - 2, 0.975) * np.sqrt(variance)
    ends = np.sqrt(8) * np.sinh(np.concatenate([within - reach, within + reach]))
    low, high = scale * ends / np.sqrt(1 + balance(everything) * ends**2)
    return Interval(np.minimum(low, of_all[0]), np.maximum(high, of_all[0]), resampled)


def row_correlations(x: np.ndarray, y: np.ndarray, method: str = "pearson") -> np.ndarray:
    """The correlation of each row of x with the same row of y, [resamples, n] -> [resamples]; NaN if constant."""
    constant = (np.ptp(x, axis=-1) == 0) | (np.ptp(y, axis=-1) == 0)  # exactly so, whatever the mean is rounded to
    if method == "spearman":
        x, y = scipy.stats.rankdata(x, axis=-1), scipy.stats.rankdata(y, axis=-1)
    x, y = (values - values.mean(axis=-1, keepdims=True) for values in (x, y))
    scale = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(constant, np.nan, np.clip((x * y).sum(axis=-1) / scale, -1, 1))


def resampled_correlations(x: np.ndarray, y: np.ndarray, counts: np.ndarray, method: str) -> np.ndarray:
    """The correlation of x and y [n] in each resample, which holds pair i so many times: counts [resamples, n] ->
    [resamples]; NaN if a side is constant.

    Spearman: Pearson of the ranks among what was drawn, ties averaged. Kendall: with C = sum of c_i c_j sign(x_i - x_j)
    sign(y_i - y_j) and likewise X and Y of the squared signs of one side, tau-b = C / sqrt(X Y). So pairs are compared
    once for all resamples."""
    drawn = counts > 0  # a side is constant if so exactly, whatever its mean is rounded to
    varies = np.all([(drawn & (side != side[drawn.argmax(axis=-1)][:, None])).any(axis=-1) for side in (x, y)], axis=0)
    if method == "kendall":
        of_x, of_y = (np.sign(side[:, None] - side) for side in (x, y))
        both, of_x, of_y = (((counts @ signs) * counts).sum(axis=-1) for signs in (of_x * of_y, of_x**2, of_y**2))
    else:
        n = counts.sum(axis=-1, keepdims=True)
        if method == "spearman":
            x, y = (counts @ (0.5 * (1 + np.sign(side - side[:, None]))) for side in (x, y))  # rank - 1/2
        x, y = (side - (counts * side).sum(axis=-1, keepdims=True) / n for side in (x, y))
        both, of_x, of_y = ((counts * product).sum(axis=-1) for product in (x * y, x * x, y * y))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(varies, np.clip(both / np.sqrt(of_x * of_y), -1, 1), np.nan)
