"""How much of the variance at each place of an encoder gender explains, as scores. The share is computed where the
states are, in readouts/gender_shares.py (`erasers.densray.gender_share`), since they are too many to keep."""

from pathlib import Path

import pandas as pd

from biasflow.readouts.files import METHOD, load_table


def score(path: str | Path) -> pd.DataFrame:
    """Columns method, setting, metric (gender_share), part, value, from what readouts/gender_shares.py wrote.

    part: the place, with the number of the attention head where there are heads: "layer[0]",
    "layer[0].attention.value[1]"."""
    table = load_table(path, ["place", "head", "share"])
    heads = table["head"].astype(str)
    part = table["place"] + ("[" + heads + "]").where(heads != "", "")
    return table[METHOD].assign(metric="gender_share", part=part, value=table["share"])
