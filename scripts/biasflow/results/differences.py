"""Where the scores of two runs differ: beyond their intervals, or in what is there at all."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from biasflow.registry import COST
from biasflow.results.changes import are_changes
from biasflow.results.comparison import difference_interval, distances, has_width
from biasflow.results.matrix import by_rows
from biasflow.results.scores import KEYS, MODEL, NA, NONE, ROUNDING

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
    interval, or none of them has a width, and they are not equal up to rounding; or which table alone has the row. A
    change (results.changes) that one table alone has is left out: its scores say so, and older runs have no changes."""
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
    both.loc[both["what"].isin([ONLY_FIRST, ONLY_SECOND]) & are_changes(both["metric"]), "what"] = ""
    different = both.loc[both["what"] != "", COLUMNS]
    return different.sort_values("what", key=lambda kinds: kinds.map(KINDS.index), kind="stable", ignore_index=True)


def _equal(both: pd.DataFrame) -> np.ndarray:
    """Whether two values are the same up to rounding, or both are none."""
    return np.isclose(both["value_first"], both["value_second"], rtol=ROUNDING, atol=ROUNDING, equal_nan=True)


def in_words(row: Mapping) -> str:
    """Which score a row of `differences` is about, and its values, in one line."""
    name = " ".join(f"{key}={row[key]}" for key in KEYS if row[key] != NA)
    if row["what"] in (ONLY_FIRST, ONLY_SECOND):
        return name
    interval = "" if row["what"] == UNTESTED else f" [{row['difference_low']:.4g}, {row['difference_high']:.4g}]"
    values = f"{row['value_first']:.6g} and {row['value_second']:.6g}"
    return f"{name}: {values}, difference {row['difference']:.4g}{interval}"


def more_biased(rows: pd.DataFrame) -> tuple[list[str], list[str]]:
    """By which measures the untouched models of the first run, and by which those of the second, are shown to be more
    biased; of `differences`.

    Shown is it where the 95 % interval of the difference of both distances from neutral leaves out 0."""
    first, second, measures = [], [], by_rows()
    for row in rows[(rows["what"] == DIFFERS) & (rows["method"] == NONE)].to_dict("records"):
        measure = measures.get((row["metric"], row["part"], row["variant"]))
        if measure is None or measure.group == COST:
            continue
        sides = [
            distances(*(row[f"{name}_{run}"] for name in SCORE), measure.neutral, measure.better)
            for run in ("second", "first")
        ]
        low, high = difference_interval(*(tuple(map(float, side)) for side in sides))
        model = ", ".join(row[key] for key in (*MODEL, "dataset") if row[key] != NA)
        (second if low > 0 else first if high < 0 else []).append(f"{measure.label} ({model})")
    return first, second
