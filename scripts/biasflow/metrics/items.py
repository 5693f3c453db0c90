"""Scores of a test from the table of its items: one summary for each method under which the items were read.

A summary is a pure function of the items of one model, whatever the source of their scores."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.readouts.files import METHOD, load_table
from biasflow.results.bootstrap import RESAMPLED

SUMMARY = ["metric", "part", "variant", "value", "n", "low", "high", RESAMPLED]  # columns of a summary


def scorer(module: ModuleType, metric: str) -> Callable[..., pd.DataFrame]:
    """Return the function that scores a metric: `score_<metric>` of a module that has several, otherwise `score`."""
    return getattr(module, f"score_{metric}", None) or module.score


def score_items(
    path: str | Path,
    columns: Sequence[str],
    summary: Callable[[pd.DataFrame], pd.DataFrame],
    optional: Sequence[str] = (),
) -> pd.DataFrame:
    """Return the `summary` of the items of each method and setting, with these two columns in front.

    path: a readout's table of items with `columns`, and `optional` ones that it may lack. If `summary` refuses items,
    BiasflowError names file and method."""
    tables = []
    for method, items in load_table(path, columns, optional).groupby(METHOD, sort=False):
        try:
            scores = summary(items)
        except BiasflowError as error:
            raise type(error)(f"{path}: {' '.join(method)}: {error}") from error
        tables.append(scores.assign(**dict(zip(METHOD, method, strict=True)))[[*METHOD, *scores.columns]])
    return pd.concat(tables, ignore_index=True)
