"""Does erasing a bias bring a measure to where it is when the bias was never there?"""

import numpy as np
import pandas as pd

from biasflow.papers.planted.factorial import interval
from biasflow.papers.planted.judge import LEVEL, permutation_p
from biasflow.results.scores import NONE

BACK, SHORT, BEYOND, AWAY = "as if never there", "falls short", "goes beyond", "moves away"
NOT_SEEN = "the measure does not see the bias"


def erased(values: pd.DataFrame) -> pd.DataFrame:
    """One row per measure and method: its mean where bias was never planted, where it was, and where it was erased.

    `values`: columns measure, group, sign, bias, seed, method, value, of the smallest and the largest bias. closed =
    (present - erased) / (present - never): 0 where the method changes nothing, 1 where the measure says what it says of
    models without bias; with the 95 % percentile bootstrap interval over seeds, models without bias drawn by
    themselves, a model with bias drawn together with itself under the method. p: exact two-sided permutation test of
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

    def closed(never: np.ndarray, numbers: np.ndarray, axis: int = -1) -> np.ndarray:
        drawn = both[numbers.astype(int)].mean(axis=-2)  # [..., (present, erased)]
        with np.errstate(invalid="ignore", divide="ignore"):
            return (drawn[..., 0] - drawn[..., 1]) / (drawn[..., 0] - never.mean(axis=axis))

    numbers = np.arange(len(both))
    low, high = interval([never, numbers], closed)
    verdict = (
        AWAY if high < 0 else SHORT if high < 1 else BEYOND if low > 1 else BACK if low > 0 else "too noisy to say"
    )
    return {"closed": float(closed(never, numbers)), "low": low, "high": high, "verdict": verdict}
