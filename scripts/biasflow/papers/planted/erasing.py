"""Does erasing a bias bring a measure back to its value for models that never had the bias?"""

import numpy as np
import pandas as pd
from scipy import stats

from biasflow.papers.judge import LEVEL, permutation_p
from biasflow.results.scores import NONE

BACK, SHORT, BEYOND, AWAY = "as if never there", "falls short", "goes beyond", "moves away"
NOT_SEEN = "the measure does not see the bias"


def erased(values: pd.DataFrame) -> pd.DataFrame:
    """Return a row per measure and method: its mean without planted bias, with it, and with the bias erased.

    `values`: columns measure, group, sign, bias, seed, method, value, of the smallest and the largest bias. closed =
    (present - erased) / (present - never): 0 where the method changes nothing, 1 where the measure says what it says of
    models without bias; with the 95 % interval over seeds of `ratio_interval`. p: exact two-sided permutation test of
    erased against never. For a measure that does not see the full bias (`permutation_p` > 0.05), or of quality, there
    is nothing to close: `closed` is NaN."""
    rows = []
    for measure, block in values.groupby("measure", sort=False):
        ends = block["bias"].min(), block["bias"].max()
        untouched = block[block["method"] == NONE]
        never = untouched.loc[untouched["bias"] == ends[0], "value"].to_numpy()
        wide = block[block["bias"] == ends[1]].pivot(index="seed", columns="method", values="value")
        sign = int(block["sign"].iloc[0])
        for method in [name for name in block["method"].unique() if name != NONE]:
            both = wide[[NONE, method]].to_numpy()
            row = {"measure": measure, "group": block["group"].iloc[0], "method": method, "seeds": len(both)}
            row |= {"never": never.mean(), "present": both[:, 0].mean(), "erased": both[:, 1].mean()}
            row |= dict.fromkeys(("closed", "low", "high", "p"), np.nan) | {"verdict": ""}
            if np.isfinite(both).all() and np.isfinite(never).all():
                row |= {"p": permutation_p(never, both[:, 1], 0)} | _closed(never, both, sign)
            rows.append(row)
    return pd.DataFrame(rows)


def _closed(never: np.ndarray, both: np.ndarray, sign: int) -> dict[str, object]:
    if not sign:
        return {}
    if permutation_p(never, both[:, 0], sign) > LEVEL:
        return {"verdict": NOT_SEEN}

    present, erased = both.T
    closed = (present - erased).mean() / (present.mean() - never.mean())
    low, high = ratio_interval(present, erased, never)
    verdict = (
        AWAY if high < 0 else SHORT if high < 1 else BEYOND if low > 1 else BACK if low > 0 else "too noisy to say"
    )
    return {"closed": float(closed), "low": low, "high": high, "verdict": verdict}


def ratio_interval(present: np.ndarray, erased: np.ndarray, never: np.ndarray) -> tuple[float, float]:
    """95 % interval (low, high) of r = (mean present - mean erased) / (mean present - mean never), by Fieller (1954).

    present, erased [n]: the same models; never [m]: others. It is every r for which the mean of (1 - r) present -
    erased, plus r times that of never, does not differ from 0 by a t test, with the degrees of freedom of Welch at the
    estimate. NaN where none of the values vary, or where the denominator is not sure to differ from 0."""
    n, m = len(present), len(never)
    above, below = (present - erased).mean(), present.mean() - never.mean()
    of_above, of_both, _, of_below = np.cov(present - erased, present).ravel() / n
    of_never = never.var(ddof=1) / m
    ratio = above / below
    of_pairs, of_others = of_above - 2 * ratio * of_both + ratio**2 * of_below, ratio**2 * of_never
    if not of_pairs + of_others > 0:
        return np.nan, np.nan
    freedom = (of_pairs + of_others) ** 2 / (of_pairs**2 / (n - 1) + of_others**2 / (m - 1))
    t = stats.t.ppf(0.975, freedom)
    # (above - r below)^2 <= t^2 (of_above - 2 r of_both + r^2 (of_below + of_never)), a quadratic in r
    square = below**2 - t**2 * (of_below + of_never)
    linear, constant = above * below - t**2 * of_both, above**2 - t**2 * of_above
    if square <= 0:
        return np.nan, np.nan
    half = np.sqrt(max(linear**2 - square * constant, 0))
    return float((linear - half) / square), float((linear + half) / square)
