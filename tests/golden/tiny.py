"""What the tiny run (tests/workflow) gave in the first version of this project, and what a run gives otherwise."""

from pathlib import Path

import pandas as pd

from biasflow.results.scores import KEYS, tidy

TOLERANCE = 1e-4


def expected() -> pd.DataFrame:
    """A few rows of every measure of every model, method and head of that run, in the columns of now."""
    path = Path(__file__).parent / "tiny_scores.csv"
    return tidy(
        pd.read_csv(
            path,
            dtype=dict.fromkeys(KEYS, str),
            keep_default_na=False,
            na_values={name: [""] for name in ("value", "n")},
        )
    )


def differences(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows of `expected` that `scores` lacks or has with another value, or n where one was known: KEYS, value and n
    as they were and, with the suffix _now, as they are. NaN is like NaN alone."""
    both = expected().merge(scores, on=KEYS, how="left", suffixes=("", "_now"), indicator=True)
    same = (both["value"] - both["value_now"]).abs() <= TOLERANCE
    same |= both["value"].isna() & both["value_now"].isna()
    same &= both["n"].isna() | (both["n"] == both["n_now"])
    return both.loc[~same | (both["_merge"] != "both"), [*KEYS, "value", "value_now", "n", "n_now"]]
