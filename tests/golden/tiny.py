"""What the tiny run (tests/workflow) gave in the first version of this project, and what a run gives otherwise."""

from pathlib import Path

import pandas as pd

from biasflow.results.scores import KEYS, VALUES, tidy

TOLERANCE = 1e-4


def expected() -> pd.DataFrame:
    """A few rows of every measure of every model, method and head of that run, in the columns of now."""
    path = Path(__file__).parent / "tiny_scores.csv"
    return tidy(
        pd.read_csv(
            path,
            dtype=dict.fromkeys(KEYS, str),
            keep_default_na=False,
            na_values={name: [""] for name in VALUES},
        )
    )


def differences(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows of `expected` that `scores` lacks or has with another value, or with another n or other ends of its
    interval where these are stored: KEYS, and VALUES as they were and, with the suffix _now, as they are. A value of
    NaN is like NaN alone."""
    both = expected().merge(scores, on=KEYS, how="left", suffixes=("", "_now"), indicator=True)
    now = [f"{name}_now" for name in VALUES]
    near = (both[VALUES] - both[now].to_numpy()).abs() <= TOLERANCE
    near["value"] |= both["value"].isna() & both["value_now"].isna()
    near[VALUES[1:]] |= both[VALUES[1:]].isna()
    return both.loc[~near.all(axis=1) | (both["_merge"] != "both"), [*KEYS, *VALUES, *now]]
