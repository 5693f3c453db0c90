"""Which model an encoder of a run is: a name such as "mine" says nothing to those who have several."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from biasflow.base.tabular import read_text_csv

TABLES = ("names.csv", "encoders.csv")  # of a run
SHORT = 12  # hexadecimal digits of a sha256, as of a commit
TOLD = {  # by source: the attributes of names.csv that say which one it is
    "local": ("path",),
    "hub": ("id", "revision"),
    "pretrain": ("corpus", "seed"),
    "continued": ("parent", "recipe"),
}


def models(names: pd.DataFrame, encoders: pd.DataFrame) -> dict[str, str]:
    """Encoder -> where it comes from (a folder; id and revision on the hub) and how the sha256 of its weights begins.

    names, encoders: names.csv and encoders.csv as texts."""
    weights = dict(zip(encoders["encoder"], encoders["sha256"], strict=True))
    of_encoders = names[names["kind"] == "encoder"].groupby("name", sort=False)
    return {
        name: _in_words(dict(zip(rows["attribute"], rows["value"], strict=True)), weights.get(name, ""))
        for name, rows in of_encoders
    }


def models_of_run(folder: Path) -> dict[str, str]:
    """The same, of the run in a folder; empty where it has no such tables yet."""
    paths = [folder / name for name in TABLES]
    return models(*map(read_text_csv, paths)) if all(path.is_file() for path in paths) else {}


def _in_words(about: Mapping[str, str], sha256: str) -> str:
    told = [f"{key} {about[key]}" for key in TOLD.get(about["source"], ()) if key in about]
    told += [f"sha256 of the weights {sha256[:SHORT]}"] if sha256 else []
    return f"{about['source']}: {', '.join(told)}" if told else about["source"]
