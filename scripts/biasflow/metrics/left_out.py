"""What other scores are not made of: items that were left out, since they cannot be measured (base.left_out), and the
rest of texts that were too long and cut."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from biasflow.readouts.files import METHOD, TRUNCATED, Arrays
from biasflow.readouts.reasons import left_out_of

LEFT_OUT = "left_out"


def left_out_rows(readout: str | Path, metric: str, methods: Sequence[str]) -> pd.DataFrame:
    """Return rows of the metric `left_out` for a readout that a metric scores: for each method and reason (part) value,
    the number of items that were left out, and n, of how many; variant: the metric. No row where none was."""
    left_out = left_out_of(readout)
    counts = Counter(left_out.reasons.values())
    rows = [(method, why, float(number), left_out.of) for method in methods for why, number in counts.items()]
    return pd.DataFrame(rows, columns=["method", "part", "value", "n"]).assign(metric=LEFT_OUT, variant=metric)


def truncated_rows(axis: Sequence[tuple[str, str]], cut: int, texts: int, **keys: str) -> pd.DataFrame:
    """Return a row of the metric `truncated` for each (method, setting): value, the number of texts cut, and n, of all.

    There is no row if no text was cut. keys: whole columns, such as head."""
    if not cut:
        return pd.DataFrame()
    rows = pd.DataFrame(list(axis), columns=METHOD)
    return rows.assign(metric=TRUNCATED, value=float(cut), n=texts, **keys)


def truncated_of_heads(predictions: Arrays, **keys: str) -> pd.DataFrame:
    """Return `truncated_rows` of every head of a readout of predictions: for the model's own head the predicted texts,
    for a retrained head its training texts."""
    counts = predictions.meta.get(TRUNCATED, {})
    rows = [truncated_rows(predictions.axis, *counts[head], head=head, **keys) for head in counts]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()
