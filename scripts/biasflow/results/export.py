"""The scores of a run in formats that other programs read, with what their metrics are beside them."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from biasflow.base.files import whole_file
from biasflow.base.tabular import write_csv, write_parquet
from biasflow.registry import METRICS
from biasflow.results.scores import KEYS, VALUES

ABOUT = ["label", "group", "neutral", "better"]
COLUMNS = [*KEYS, *VALUES, *ABOUT]


def described(scores: pd.DataFrame) -> pd.DataFrame:
    """A table of scores with four further columns: the label, group (inside, outside, cost), neutral value and better
    direction of each measure of the matrix; "" and NaN for all other scores."""
    measures = {name: measure for entry in METRICS.values() for name, measure in entry.measures.items()}
    about = [measures.get(metric) for metric in scores["metric"]]
    columns = {
        key: [getattr(measure, key) if measure else "" for measure in about] for key in ("label", "group", "better")
    }
    neutral = [float(measure.neutral) if measure else float("nan") for measure in about]
    return scores.assign(**columns, neutral=neutral)[COLUMNS]


def _write_json(frame: pd.DataFrame, path: Path) -> None:
    """A list with an object for each score; a number that there is not is null."""
    with whole_file(path) as temporary:
        text = frame.to_json(orient="records", indent=1, double_precision=15, force_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


FORMATS: Mapping[str, tuple[str, Callable[[pd.DataFrame, Path], None]]] = {  # name -> suffix of the file, its writer
    "csv": (".csv", write_csv),
    "json": (".json", _write_json),
    "parquet": (".parquet", write_parquet),
}
