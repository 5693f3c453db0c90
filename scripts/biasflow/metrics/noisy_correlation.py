"""The confidence interval of a correlation with estimates whose sampling noise is known."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chndtr, chndtrinc, ndtri

from biasflow.results.bootstrap import percentiles

QUANTILES = 201  # of either distribution; all pairs of them are combined
FEWEST = 6  # points: its coverage was simulated for many more, and three points soon lie on a line


def correlation_interval(x: ArrayLike, y: ArrayLike, variances: ArrayLike) -> tuple[float, float]:
    """Return the 95 % interval (low, high) of the Pearson correlation that x and y would have if y were known without
    noise.

    x          [K], known exactly, such as shares of women in classes
    y          [K], estimates, such as gaps of these classes
    variances  [K], the variance of the noise in each y

    The K points are all that there are (no others are drawn); points without x or y are left out. With unit vector u of
    x less its mean, y has the part B = u'y along x and the squared length Q = |y - mean - B u|^2 beside it, and without
    noise the correlation is B / sqrt(B^2 + T), T the Q of the true values. Noise leaves B where it is on average and
    adds to Q, so that the correlation of the data, B / sqrt(B^2 + Q), is too near 0. B is normal about its truth; Q / c
    is taken as noncentral chi-square with d degrees of freedom and noncentrality T / c, c and d such that mean and
    variance of the noise in Q are right (Satterthwaite's). Both are turned into confidence distributions of their
    truths, and the ends are the percentiles of the correlation under these (generalized confidence interval, Weerahandi
    1993), widened to hold the correlation of the data.

    NaN for fewer than 6 points, equal x or equal y, and where no point has noise: then the noise is not known."""
    x, y, variances = (np.asarray(values, dtype=float) for values in (x, y, variances))
    points = np.isfinite(x) & np.isfinite(y) & np.isfinite(variances)
    x, y, variances = x[points], y[points], variances[points]
    if len(x) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0 or not variances.any():
        return np.nan, np.nan
    u = x - x.mean()
    u /= np.linalg.norm(u)
    along = u @ y
    beside = max(((y - y.mean()) ** 2).sum() - along**2, 0.0)
    off_line = (np.eye(len(x)) - 1 / len(x) - np.outer(u, u)) * variances
    noise, square = np.trace(off_line), (off_line * off_line.T).sum()
    scale = square / noise
    levels = (np.arange(QUANTILES) + 0.5) / QUANTILES
    true_along = along + np.sqrt(u**2 @ variances) * ndtri(levels)
    true_beside = scale * _noncentralities(beside / scale, noise / scale, levels)
    with np.errstate(invalid="ignore"):  # 0 / 0 at B = T = 0 says nothing
        true = true_along[:, None] / np.sqrt(true_along[:, None] ** 2 + true_beside)
    low, high = percentiles(true.ravel())
    value = along / np.sqrt(along**2 + beside)
    return float(min(low, value)), float(max(high, value))


def _noncentralities(q: float, freedom: float, levels: np.ndarray) -> np.ndarray:
    """Quantiles of the confidence distribution of the noncentrality of a chi-square value q: where F(q) = 1 - level; 0
    where F(q) is below that for every noncentrality."""
    wanted = 1 - levels
    reached = wanted < chndtr(q, freedom, 0.0)
    result = np.zeros_like(levels)
    result[reached] = chndtrinc(q, freedom, wanted[reached])
    return result
