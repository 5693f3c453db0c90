"""How easily a probe with a hidden layer reads gender off a representation, which need not be linear.

What a linear eraser has taken out no linear probe finds; a network may still find it. Portions, labels and readings are
those of metrics/codelength.py.

Source: Pimentel et al. (2020), who probe with networks; the online code is that of Voita & Titov (2020)."""

from pathlib import Path

import pandas as pd

from biasflow.metrics import codelength


def score(path: str | Path) -> pd.DataFrame:
    """`codelength.score` of a file of `readouts.probes` with `hidden`; every metric has the prefix "mlp_"."""
    return codelength.score(path).assign(metric=lambda scores: "mlp_" + scores["metric"])
