"""Scores without which a measure cannot be read: what stands beside it, and where the measure claims nothing."""

import pandas as pd

from biasflow.registry import Measure
from biasflow.results.scores import KEYS, MEASURE


def beside(rows: pd.DataFrame, scores: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Return the scores that stand beside each of the rows (scores of `measure`), from the table of scores: a column
    for each, by its label, NaN where there is none; the index is that of the rows."""
    columns = {}
    for other in measure.beside:
        wanted = {key: getattr(other, key) for key in MEASURE if getattr(other, key) is not None}
        same = [key for key in KEYS if key not in wanted and not (other.any_dataset and key == "dataset")]
        chosen = pd.concat([scores[key] == value for key, value in wanted.items()], axis=1).all(axis=1)
        values = scores[chosen].groupby(same)["value"].max()
        columns[other.label] = values.reindex(pd.MultiIndex.from_frame(rows[same])).to_numpy(float)
    return pd.DataFrame(columns, index=rows.index, columns=[other.label for other in measure.beside], dtype=float)


def cautions(values: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Return where a score beside a measure (`beside`) forbids it to claim anything: a column for each, True there."""
    doubts = {
        other.label: (values[other.label] >= other.most) | (values[other.label] < other.least)
        for other in measure.beside
    }
    return pd.DataFrame(doubts, index=values.index, columns=[other.label for other in measure.beside], dtype=bool)


def in_words(values: pd.DataFrame) -> str:
    """The means of what stands beside a cell: "parity 1.000, called neutral 0.001"."""
    means = values.drop(columns="", errors="ignore").mean().dropna()
    return ", ".join(
        f"{label} {mean:.3f}" if abs(mean) >= 0.001 else f"{label} {mean:.1g}" for label, mean in means.items()
    )


def why(doubts: pd.DataFrame, measure: Measure, seeds: pd.Series) -> str:
    """Why a cell claims nothing, from the `cautions` of its scores and their seeds; "" where it may."""
    said = []
    for other in measure.beside:
        at = doubts[other.label]
        if at.any():
            some, n = seeds[at].nunique(), seeds.nunique()
            said.append(other.why + (f" ({some} of {n} seeds)" if n > 1 else ""))
    return "; ".join(said)
