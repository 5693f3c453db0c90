"""What several metrics share: scores of a test from the table of its items, one summary for each method under which the
items were read; rows that say which items were left out, since they cannot be measured (base.left_out), and how many
texts were too long and cut.

A summary is a pure function of the items of one model, whatever the source of their scores."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import bdtrc

from biasflow.base.errors import BiasflowError
from biasflow.readouts.files import METHOD, TRUNCATED, Arrays, left_out_of, load_table
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


ROUNDING = 1e-6  # of a number, by which the same item may differ between two batches


def preferred(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """Return whether each item's first number is above its second, [...]; 0.5 everywhere if no item's differ by more
    than ROUNDING: a model to which all are the same prefers none of them."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if np.allclose(first, second, rtol=ROUNDING, atol=0):
        return np.full(first.shape, 0.5)
    return first > second


LEFT_OUT = "left_out"


def left_out_rows(readout: str | Path, metric: str, methods: Sequence[str]) -> pd.DataFrame:
    """Return rows of the metric `left_out` for a readout that a metric scores: for each method and reason (part) value,
    the number of items that were left out, and n, of how many; variant: the metric. No row where none was."""
    left_out = left_out_of(readout)
    counts = Counter(left_out.reasons.values())
    rows = [(method, why, float(number), left_out.of) for method in methods for why, number in counts.items()]
    return pd.DataFrame(rows, columns=["method", "part", "value", "n"]).assign(metric=LEFT_OUT, variant=metric)


def truncated_of_heads(predictions: Arrays, **keys: str) -> pd.DataFrame:
    """Return a row of the metric `truncated` for each head of a readout of predictions and (method, setting): value,
    the number of texts cut, and n, of all: for the model's own head the predicted texts, for a retrained head its
    training texts. No row for a head if no text was cut. keys: whole columns, such as part."""
    axis, counts = pd.DataFrame(list(predictions.axis), columns=METHOD), predictions.meta.get(TRUNCATED, {})
    of_head = {head: {"metric": TRUNCATED, "value": float(cut), "n": texts} for head, (cut, texts) in counts.items()}
    rows = [axis.assign(**about, head=head, **keys) for head, about in of_head.items() if about["value"]]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def majority(classes: ArrayLike, hits: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of the most frequent gold class, and the exact one-sided p of the hits against it, each [...].

    classes: how many items each gold class has, [..., classes]; hits: how many items are classified right, [...]. p is
    the probability that a binomial of this share has so many hits or more: a constant answer has p > 0.5, and a
    classifier of which p is not small is not shown to be better than one. NaN without items."""
    classes, hits = np.asarray(classes, dtype=float), np.asarray(hits, dtype=float)
    n = classes.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        share = classes.max(axis=-1) / n
    return share, bdtrc(hits - 1, n, share)
