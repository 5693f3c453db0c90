"""Why a readout was not made where only its job could know: a head that an encoder from the hub lacks, a word that the
vocabulary or the text lacks. The reasons stand in a file of the readout's folder and in the cells. Imports no torch."""

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from safetensors import safe_open

from scripts.biasflow.base.tabular import read_text_csv, write_csv

REASONS = "reasons.csv"
COLUMNS = ["file", "method", "reason"]


def write_reasons(folder: Path, rows: Iterable[tuple[str, str, str]]) -> None:
    """Write (file of the folder, method, reason) beside the files that were made; no file without a row."""
    if frame := list(rows):
        write_csv(pd.DataFrame(frame, columns=COLUMNS), folder / REASONS)


def reasons_of(path: str | Path) -> dict[str, str]:
    """Method -> why the readout at `path` does not have it; empty where everything was read."""
    path = Path(path)
    if not (path.parent / REASONS).is_file():
        return {}
    rows = read_text_csv(path.parent / REASONS)
    rows = rows[rows["file"] == path.name]
    return dict(zip(rows["method"], rows["reason"], strict=True))


def not_fitted(path: str | Path | None) -> dict[str, str]:
    """Method -> why it could not be fitted, of a file of fitted methods (`methods.fitted.save`)."""
    if path is None:
        return {}
    with safe_open(path, framework="np") as file:
        return json.loads((file.metadata() or {}).get("reasons", "{}"))
