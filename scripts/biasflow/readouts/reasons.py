"""Why a readout was not made where only its job could know: a head that an encoder from the hub lacks, a word that the
vocabulary or the text lacks. The reasons stand in a file beside the readout's and in the cells. Imports no torch."""

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from safetensors import safe_open

from biasflow.base.tabular import read_text_csv, write_csv

COLUMNS = ["method", "reason"]


def _beside(path: str | Path) -> Path:
    return Path(f"{path}.reasons.csv")


def write_reasons(path: str | Path, reasons: Mapping[str, str]) -> None:
    """Write method -> why the readout at `path` does not have it; no file without a reason."""
    if reasons:
        write_csv(pd.DataFrame(list(reasons.items()), columns=COLUMNS), _beside(path))


def reasons_of(path: str | Path) -> dict[str, str]:
    """Return method -> reason as `write_reasons` wrote it; empty where everything was read."""
    rows = read_text_csv(_beside(path)) if _beside(path).is_file() else pd.DataFrame(columns=COLUMNS)
    return dict(zip(rows["method"], rows["reason"], strict=True))


def not_fitted(path: str | Path | None) -> dict[str, str]:
    """Method -> why it could not be fitted, of a file of fitted methods (`methods.fitted.save`)."""
    if path is None:
        return {}
    with safe_open(path, framework="np") as file:
        return json.loads((file.metadata() or {}).get("reasons", "{}"))
