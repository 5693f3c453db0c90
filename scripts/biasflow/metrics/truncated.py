"""How many of the texts behind other scores were too long and cut, so that the scores are of shortened texts."""

from collections.abc import Sequence

import pandas as pd

from biasflow.readouts.files import METHOD, TRUNCATED, Arrays


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
