"""Products, means, spreads and rank correlations of printed numbers, within what rounding hides."""

import numpy as np
import pandas as pd

from biasflow.results.rounding import Range, around
from biasflow.results.statistics import correlation


def negative(range_: Range) -> Range:
    return Range(-range_.value, -range_.high, -range_.low)


def product_of(a: Range, b: Range) -> Range:
    """The product of two ranges of values >= 0 (a range that rounding puts below 0 is cut there)."""
    return Range(a.value * b.value, max(a.low, 0) * max(b.low, 0), a.high * b.high)


def mean_of(values: pd.Series, half: float) -> Range:
    """The mean of values that are each known -/+ `half`: the mean moves by at most `half`."""
    return around(float(values.mean()), half)


def spread_of(values: pd.Series, half: float, ddof: int) -> Range:
    """The standard deviation, divisor n - ddof, of n > ddof values that are each known -/+ `half`.

    It is a norm of the centred values over sqrt(n - ddof), so it moves by at most half * sqrt(n / (n - ddof))."""
    spread, reach = float(values.std(ddof=ddof)), half * (len(values) / (len(values) - ddof)) ** 0.5
    return Range(spread, max(spread - reach, 0), spread + reach)


def rank_correlation(x: pd.Series, y: pd.Series) -> tuple[Range, Range]:
    """Spearman's rho of printed numbers and its two-sided p; values: tied ranks are averaged (the usual definition).

    Values that are printed alike need not have been equal. The bounds of rho order the ties of one side as the other
    side does, and against it; p falls as |rho| grows, so its bounds follow."""
    found = correlation(x, y, "spearman")
    ends = [correlation(*_untied(x, y, sign), "spearman") for sign in (-1, 1)]
    low, high = sorted(end.estimate for end in ends)
    p = sorted(end.p for end in ends)
    rho = Range(found.estimate, min(low, found.estimate), max(high, found.estimate))
    largest_p = 1.0 if rho.low <= 0 <= rho.high else max(p[1], found.p)
    return rho, Range(found.p, min(p[0], found.p), largest_p)


def _untied(x: pd.Series, y: pd.Series, sign: int) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of x and of y without ties, broken in the order (sign 1) or against the order (-1) of the other."""
    position = np.arange(len(x))  # for pairs that are tied on both sides
    return (np.argsort(np.lexsort((position, sign * y, x))), np.argsort(np.lexsort((sign * position, sign * x, y))))
