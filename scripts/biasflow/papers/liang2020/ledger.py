"""Where the numbers of Liang, Dufter & Schütze's notebooks stand beside ours, for the ledger."""

import pandas as pd

from scripts.biasflow.papers.frames import Run
from scripts.biasflow.papers.ledger import Beside
from scripts.biasflow.papers.liang2020.performance import perplexity
from scripts.biasflow.papers.liang2020.tables import association, occtmp

BESIDE = [
    Beside("values", occtmp, ["diff", "diff_variance", "p_he", "p_she", "p_sum"]),
    Beside("values", association, ["effect_size", "p_value"]),
    Beside("values", perplexity, ["batch_perplexity"], n="perplexity_seeds"),
]


def other_data(run: Run, numbers: pd.DataFrame) -> pd.Series:
    """None: words, tests and texts go by their names, each of which is one file; others have no printed number."""
    return pd.Series("", index=numbers.index)


def audited(run: Run, numbers: pd.DataFrame) -> pd.Series:
    """Nothing: no two of these numbers are of the same thing."""
    return pd.Series("", index=numbers.index)
