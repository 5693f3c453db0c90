"""The clusters that a published system on BERT predicts for WinoBias's development part, read and scored."""

from pathlib import Path

import pandas as pd

from biasflow.metrics.winobias import score
from biasflow.readouts.predicted_clusters import read
from biasflow.tasks.coreference.pairs import SIDES, prepare
from biasflow.tasks.coreference.plan import WINOBIAS
from tests.real.files import DATA

DEV = [file for file in WINOBIAS if file["part"] == "dev"]
TYPES = ("type1", "type2")


def read_and_scored(folder: Path) -> tuple[dict, pd.DataFrame]:
    """The facts of the readout, and the scores of the development part alone."""
    sources = {
        side: [DATA / f"winobias/dev_{file['type']}_{side}_stereotype.v4_auto_conll" for file in DEV] for side in SIDES
    }
    made = {side: folder / f"{side}.conll" for side in SIDES} | {"pairs": folder / "pairs.csv"}
    prepare(sources, made | {"pairs_baseline": folder / "baseline.csv"}, planted=None, files=DEV)
    test = {"test": (DATA / "ontogum/test.v4_gold_conll",)}
    given = [DATA / f"published_items/winobias/bert-{type}_{side}.json" for type in TYPES for side in SIDES]
    facts = read(given, test | {side: (made[side],) for side in SIDES}, folder / "coref.parquet")
    return facts, score(folder / "coref.parquet", **made)
