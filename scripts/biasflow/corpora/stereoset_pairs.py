"""StereoSet's sentences with a blank as pairs: the sentence with the stereotype, and that with the anti-stereotype."""

from pathlib import Path

import pandas as pd

from biasflow.corpora.stereoset import LABELS, read_blanks

DIRECTION = "stereo"  # every pair has the stereotype first


def items(stereoset: str | Path) -> pd.DataFrame:
    """A row an item: item, target, direction (always "stereo"), first (with the stereotype) and second (without)."""
    table = read_blanks(stereoset)
    wide = table.pivot(index=["item", "target"], columns="label", values="text").reset_index()
    stereotype, anti, _ = LABELS
    return wide.rename(columns={stereotype: "first", anti: "second"})[["item", "target", "first", "second"]].assign(
        direction=DIRECTION
    )
