"""How many of the items behind other scores were left out, since they cannot be measured (base.left_out)."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from biasflow.readouts.reasons import left_out_of

LEFT_OUT = "left_out"


def left_out_rows(readout: str | Path, metric: str, methods: Sequence[str]) -> pd.DataFrame:
    """Return rows of the metric `left_out` for a readout that a metric scores: for each method and reason (part) value,
    the number of items that were left out, and n, of how many; variant: the metric. No row where none was."""
    left_out = left_out_of(readout)
    counts = Counter(left_out.reasons.values())
    rows = [(method, why, float(number), left_out.of) for method in methods for why, number in counts.items()]
    return pd.DataFrame(rows, columns=["method", "part", "value", "n"]).assign(metric=LEFT_OUT, variant=metric)
