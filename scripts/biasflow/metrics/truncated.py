"""How many of the texts behind other scores were too long, and cut: then these scores are of shortened texts."""

from collections.abc import Sequence

import pandas as pd

from biasflow.readouts.files import METHOD, TRUNCATED, Arrays


def truncated_rows(axis: Sequence[tuple[str, str]], cut: int, texts: int, **keys: str) -> pd.DataFrame:
    """A row of the metric `truncated` for each (method, setting): value, how many texts were cut, and n, of how many.

    No row where none was cut. keys: whole columns, such as head."""
    if not cut:
        return pd.DataFrame()
    rows = pd.DataFrame(list(axis), columns=METHOD)
    return rows.assign(metric=TRUNCATED, value=float(cut), n=texts, **keys)


def truncated_of_heads(predictions: Arrays, **keys: str) -> pd.DataFrame:
    """`truncated_rows` of every head of a readout of predictions: of the own one the texts that are predicted, of a
    retrained one those that it was trained on."""
    counts = predictions.meta.get(TRUNCATED, {})
    rows = [truncated_rows(predictions.axis, *counts[head], head=head, **keys) for head in counts]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()
