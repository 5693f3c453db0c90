"""The numbers that a paper prints, each once, and ours beside them by the keys that both have."""

from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.papers.paper import HERE, PRINTED, Compared
from biasflow.registry import PLAIN, STRATEGIES
from biasflow.results.tables import PUBLISHED

# What printed.csv says about a number: where it stands (table), its text, deviation and star, the setting that is
# printed with it (at), whose data it is of (of), what other printed numbers say of it (audit), and why no table of ours
# has it (why_not). All other columns are keys: what the number is of.
ABOUT = ("table", "printed", "sd", "star", "unit", "at", "of", "audit", "why_not")
MEASURE = ("encoder", "metric", "variant")  # keys that have a column of their own in the ledger; the others are its row
# Models are called by the name of their strategy in printed.csv, and by its label in our tables.
LABEL_OF_STRATEGY = {name: strategy.label for name, strategy in STRATEGIES.items() if name != PLAIN}
NUMBERS = ("ours", "ours_sd", "ours_n")  # of our values


def read_printed(paper: str, folder: str | Path | None = None) -> pd.DataFrame:
    """Return the numbers of a paper's printed.csv, in its folder or in papers/<paper>, in their order: its columns as
    text, "" where there is nothing, all of ABOUT and MEASURE, and the numbers `value` and `value_sd`; no rows for a
    paper without such a file. BiasflowError for one that is no CSV."""
    path = Path(folder or HERE / paper, PRINTED)
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False) if path.is_file() else pd.DataFrame()
        frame = frame.reindex(columns=list(dict.fromkeys([*frame, *ABOUT, *MEASURE])), fill_value="")
        numbers = {"value": frame["printed"].astype(float), "value_sd": frame["sd"].replace("", "nan").astype(float)}
    except (KeyError, ValueError) as error:  # pandas' own errors, wrong encodings, what is no number
        raise BiasflowError(f"{path}: not valid CSV: {' '.join(str(error).split())}") from error
    return frame.assign(**numbers)


def row_keys(printed: pd.DataFrame) -> list[str]:
    """The columns of printed numbers that say in which row of its table a number stands."""
    return [name for name in printed if name not in (*ABOUT, *MEASURE, "value", "value_sd")]


def as_ours(table: pd.DataFrame, about: Compared) -> pd.DataFrame:
    """Return the numbers of a table of ours one below the other, with the keys of the printed numbers: encoder, metric,
    the keys, NUMBERS, and `absent`: why ours is missing."""
    blocks = [pd.DataFrame(columns=["encoder", "metric", *about.keys, *NUMBERS, "absent"])]
    for column, metric in about.values.items():
        if about.everywhere or column + PUBLISHED in table:
            rows = table if about.everywhere else table[table[column + PUBLISHED].notna()]
            block = {"metric": metric, **about.fixed} | {key: rows[name] for key, name in about.keys.items()}
            for name, source in zip(NUMBERS, ("{}", about.sd, about.n), strict=True):
                block[name] = rows[source.format(column)].astype(float) if source else np.nan
            reasons = rows[about.status].str.removeprefix("not run: ").replace("run", "") if about.status else ""
            blocks.append(rows[["encoder"]].assign(**block, absent=reasons))
    return pd.concat([block for block in blocks if len(block)] or blocks, ignore_index=True)
