"""Errors in released code and files of tests and papers, and their effect if a run has both readings."""

import pandas as pd
import yaml

from biasflow.base.errors import BiasflowError
from biasflow.base.shipped import shipped
from biasflow.results.scores import KEYS

ERRORS = shipped("papers/released_errors.yaml")
_TEXT = ("of", "error", "where", "here")
_READINGS = ("metric", "released", "variant")
_OTHER_KEYS = [key for key in KEYS if key != "variant"]


def released_errors(scores: pd.DataFrame) -> pd.DataFrame:
    """A row per error: _TEXT, _READINGS, and of the scores that a run has in both readings how many (`compared`), their
    means and the largest difference. BiasflowError for an entry that lacks a key or has one too many."""
    rows = []
    for number, entry in enumerate(yaml.safe_load(ERRORS.read_text("utf-8")), start=1):
        if set(entry) not in ({*_TEXT}, {*_TEXT, *_READINGS}):
            known = f"{', '.join(_TEXT)}, and all or none of {', '.join(_READINGS)}"
            raise BiasflowError(f"{ERRORS.name}, entry {number}: give {known}")
        rows.append(entry | (_compared(scores, *(entry[key] for key in _READINGS)) if "metric" in entry else {}))
    columns = [*_TEXT, *_READINGS, "compared", "mean_released", "mean_here", "largest_difference"]
    table = pd.DataFrame(rows).reindex(columns=columns).astype({"compared": "Int64"})
    return table.fillna(dict.fromkeys(_READINGS, ""))


def _compared(scores: pd.DataFrame, metric: str, released: str, variant: str) -> dict[str, float]:
    """Compare the scores of a metric that differ only in these two variants."""
    rows = scores[scores["metric"] == metric]
    both = (
        rows.pivot(index=_OTHER_KEYS, columns="variant", values="value").reindex(columns=[released, variant]).dropna()
    )
    if both.empty:
        return {"compared": 0}
    largest = (both[released] - both[variant]).abs().max()
    means = both.mean()
    return {
        "compared": len(both),
        "mean_released": means[released],
        "mean_here": means[variant],
        "largest_difference": largest,
    }
