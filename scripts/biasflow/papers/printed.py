"""The numbers that a paper prints, each once, and ours beside them by the keys that both have."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.papers.paper import HERE
from biasflow.results.tables import PUBLISHED

# What printed.csv says about a number: where it stands (table), its text, deviation and star, the setting that is
# printed with it (at), whose data it is of (of), what other printed numbers say of it (audit), and why no table of ours
# has it (why_not). All other columns are keys: what the number is of.
ABOUT = ("table", "printed", "sd", "star", "unit", "at", "of", "audit", "why_not")
MEASURE = ("encoder", "metric", "variant")  # keys that have a column of their own in the ledger; the others are its row


def read_printed(paper: str, folder: Path = HERE) -> pd.DataFrame:
    """Return the numbers of papers/<paper>/printed.csv in their order: its columns as text, "" where there is nothing,
    all of ABOUT and MEASURE, and the numbers `value` and `value_sd`; no rows for a paper without such a file.
    BiasflowError for one that is no CSV."""
    path = folder / paper / "printed.csv"
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


def as_ours(
    table: pd.DataFrame,
    metrics: Mapping[str, str],
    keys: Mapping[str, str],
    *,
    sd: str = "",
    n: str = "",
    status: str = "status",
    everywhere: bool = False,
) -> pd.DataFrame:
    """Return the numbers of a table of ours one below the other, with the keys of the printed numbers.

    metrics: column of the table -> the metric of the printed number ("": the table's column `metric`); keys: key of a
    printed number -> the table's column. Only rows with a printed number beside ours, or all (`everywhere`). Columns:
    encoder, metric, the keys, ours, ours_sd, ours_n, and `absent`: why ours is missing. sd, n, status: the columns with
    the deviation, the number of values and the status; "{}" stands for the column of the value."""
    blocks = [pd.DataFrame(columns=["encoder", "metric", *keys, "ours", "ours_sd", "ours_n", "absent"])]
    for column, metric in metrics.items():
        if everywhere or column + PUBLISHED in table:
            rows = table if everywhere else table[table[column + PUBLISHED].notna()]
            block = {key: rows[name] for key, name in keys.items()}
            block |= {"metric": metric or rows["metric"], "ours": rows[column].astype(float)}
            for name, source in (("ours_sd", sd), ("ours_n", n)):
                block[name] = rows[source.format(column)].astype(float) if source else np.nan
            block["absent"] = rows[status].str.removeprefix("not run: ").replace("run", "") if status else ""
            blocks.append(rows[["encoder"]].assign(**block))
    return pd.concat([block for block in blocks if len(block)] or blocks, ignore_index=True)
