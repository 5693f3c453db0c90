"""The scores of the tiny run (tests/workflow) as the first version gave them, and what a run gives otherwise."""

from pathlib import Path

import pandas as pd

from biasflow.results.scores import KEYS
from tests.golden.keys import fitted_before_training, new_keys, read_old

TOLERANCE = 1e-4
ERASERS = ["hard", "conceptor", "densray"]


def expected() -> pd.DataFrame:
    """The stored scores with the new keys, and the names that the methods have in the configuration of that run."""
    table = new_keys(read_old(Path(__file__).parent / "tiny_scores.csv"))
    finetuned = table["task"].isin(["nli", "planted-nli"]) & (table["strategy"] == "plain")
    later = (finetuned & table["method"].isin(ERASERS)) | table["encoder"].str.endswith("-mlm")
    table = fitted_before_training(table, later)
    return table.assign(setting=table["setting"].mask(table["method"] == "sent-0", "sent 0"))


def differences(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows of `expected` that `scores` lacks or has with another value, or n where one was known: KEYS, value and n
    as they were and, with the suffix _now, as they are. NaN is like NaN alone."""
    both = expected().merge(scores, on=KEYS, how="left", suffixes=("", "_now"), indicator=True)
    same = (both["value"] - both["value_now"]).abs() <= TOLERANCE
    same |= both["value"].isna() & both["value_now"].isna()
    same &= both["n"].isna() | (both["n"] == both["n_now"])
    return both.loc[~same | (both["_merge"] != "both"), [*KEYS, "value", "value_now", "n", "n_now"]]
