"""What only a readout's job could know: why it was not made (a head that an encoder from the hub lacks, a word that the
vocabulary or the text lacks), or which of its items were left out. Files beside the readout's say so. Imports no
torch."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from safetensors import safe_open

from biasflow.base.errors import FAILED, AbsentError, headline
from biasflow.base.files import read_json, whole_file
from biasflow.base.left_out import LeftOut
from biasflow.base.provenance import may_pass
from biasflow.base.tabular import read_text_csv, write_csv

COLUMNS = ["method", "reason"]


def reason_of(error: Exception, log: str | Path) -> str:
    """Why something was not made, for its cells: what it lacks, or which error it ended with, whose traceback the log
    has. An error of the machine, which another try may not have, is raised again: it ends the job."""
    if isinstance(error, AbsentError):
        return str(error)
    if may_pass(error):
        raise error
    logging.getLogger("biasflow").error("%s%s", FAILED, headline(error), exc_info=error)
    return f"{FAILED}{headline(error)} (log: {log})"


def write_left_out(path: str | Path, facts: Mapping[str, object]) -> None:
    """Write which items the readout at `path` leaves out, from what its module returned; no file where it has all."""
    if left_out := facts.get(LeftOut.FACT):
        with whole_file(_left_out(path)) as temporary:
            temporary.write_text(json.dumps(left_out, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def left_out_of(path: str | Path) -> LeftOut:
    """Return what `write_left_out` wrote."""
    about = read_json(_left_out(path)) if _left_out(path).is_file() else {"items": {}, "of": 0}
    return LeftOut(about["items"], about["of"])


def _left_out(path: str | Path) -> Path:
    return Path(f"{path}.left_out.json")


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
