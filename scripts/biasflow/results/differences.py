"""Where the scores of two runs differ: beyond their intervals, or in what is there at all."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from biasflow.results.comparison import difference_interval, has_width
from biasflow.results.scores import KEYS, ROUNDING

SCORE = ["value", "low", "high"]
COLUMNS = [*KEYS, *(f"{name}_{run}" for run in ("first", "second") for name in SCORE)]
COLUMNS += ["difference", "difference_low", "difference_high", "what"]
DIFFERS, UNTESTED, ONLY_FIRST, ONLY_SECOND = (
    "differs",
    "differs, no interval",
    "only in the first",
    "only in the second",
)
KINDS = [DIFFERS, ONLY_FIRST, ONLY_SECOND, UNTESTED]


def differences(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """A row for each score in which two tables of scores (results.scores) differ, COLUMNS, in the order of KINDS; empty
    where they agree.

    what: "differs" where the 95 % interval of the second value minus the first (from the intervals of both, as if they
    were measured on different items: results.comparison) leaves out 0; "differs, no interval" where one of them has no
    interval, or none of them has a width, and they are not equal up to rounding; or which table alone has the row."""
    scores = [frame[[*KEYS, *SCORE]] for frame in (first, second)]
    both = scores[0].merge(scores[1], "outer", on=KEYS, suffixes=("_first", "_second"), indicator="in")
    both = both.assign(difference_low=np.nan, difference_high=np.nan)
    in_both = both["in"] == "both"
    sides = [both.loc[in_both, [f"{name}_{run}" for name in SCORE]].to_numpy() for run in ("second", "first")]
    intervals = np.array([difference_interval(*pair) for pair in zip(*sides, strict=True)]).reshape(-1, 2)
    both.loc[in_both, ["difference_low", "difference_high"]] = intervals
    both["difference"] = both["value_second"] - both["value_first"]
    both["what"] = np.select(
        [both["in"] == "left_only", both["in"] == "right_only", _equal(both)], [ONLY_FIRST, ONLY_SECOND, ""], DIFFERS
    )
    tested = has_width(both["difference_low"], both["difference_high"])
    zero = (both["difference_low"] <= 0) & (both["difference_high"] >= 0)
    both.loc[(both["what"] == DIFFERS) & ~tested, "what"] = UNTESTED
    both.loc[(both["what"] == DIFFERS) & zero, "what"] = ""
    different = both.loc[both["what"] != "", COLUMNS]
    return different.sort_values("what", key=lambda kinds: kinds.map(KINDS.index), kind="stable", ignore_index=True)


def _equal(both: pd.DataFrame) -> np.ndarray:
    """Whether two values are the same up to rounding, or both are none."""
    return np.isclose(both["value_first"], both["value_second"], rtol=ROUNDING, atol=ROUNDING, equal_nan=True)


def in_words(row: Mapping) -> str:
    """A row of `differences` in one line."""
    name = " ".join(f"{key}={row[key]}" for key in KEYS if row[key] != "-")
    if row["what"] in (ONLY_FIRST, ONLY_SECOND):
        return f"{row['what']}: {name}"
    interval = "" if row["what"] == UNTESTED else f" [{row['difference_low']:.4g}, {row['difference_high']:.4g}]"
    values = f"{row['value_first']:.6g} and {row['value_second']:.6g}"
    return f"{row['what']}: {name}: {values}, difference {row['difference']:.4g}{interval}"
