"""Measures of others, as the studies that judge measures take them."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from biasflow.papers.frames import Run
from biasflow.registry import INSIDE
from biasflow.results.given import VALUE

SIGNS = {"up": 1, "down": -1}


def given_values(run: Run, encoders: Collection[str]) -> pd.DataFrame:
    """Return a row per measure of the key `given` and encoder: measure (its name, marked as given), group, sign,
    encoder, value (the mean of its items) and error, the variance that the items leave in the value (NaN for one).

    The run's option "given" says where a measure goes with more bias, its file "<measure>/<encoder>" has the items."""
    rows = []
    for name, direction in run.options.get("given", {}).items():
        for encoder in encoders:
            values = pd.read_csv(run.files["given"][f"{name}/{encoder}"])[VALUE]
            error = values.var(ddof=1) / len(values) if len(values) > 1 else np.nan
            rows.append((f"{name} (given)", INSIDE, SIGNS[direction], encoder, values.mean(), error))
    return pd.DataFrame(rows, columns=["measure", "group", "sign", "encoder", "value", "error"])
