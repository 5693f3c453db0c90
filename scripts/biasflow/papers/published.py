"""The numbers that the papers print, as data files of each paper; its paper.yaml says where each is from."""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.papers.paper import HERE, PaperText

_TEXT = ("level", "settings", "table", "example", "context_id", "stereoset_id", "label", "digest")
_TEXT += ("task", "encoder", "method", "eraser", "setting", "places", "stage", "dataset", "metric", "variant", "source")
_TEXT += ("of",)
_SETTINGS = "_settings"  # strength_settings and the like: which setting was best
_DEVIATION = "sd"
_ABOUT = (_DEVIATION, "decimals", "rank", "iteration")  # numbers that are no results: about another one, or keys
_PLACE = ("table", "where")  # where a number is printed
_NO_KEY = (*_PLACE, "metric", "variant", "id", "encoder", "digest", "context_id", "stereoset_id", "source", "star")
_NO_KEY += ("unit", "decimals", "of", _DEVIATION)


def path_of(paper: str, name: str, folder: Path = HERE) -> Path:
    """The data file of a published table, e.g. of dawkins2024's `table7`."""
    path = folder / paper / "published" / f"{name}.csv"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.csv"))) or "none"
        raise BiasflowError(f"{paper} has no published values {name!r} in {path.parent}; there are: {known}")
    return path


def read_published(paper: str, name: str, folder: Path = HERE) -> pd.DataFrame:
    """Read a published table in its printed order. Names and settings are text ("" where there is none). BiasflowError
    for a file that is no CSV."""
    path = path_of(paper, name, folder)
    try:
        columns = pd.read_csv(path, nrows=0).columns
        text = [column for column in columns if column in _TEXT or column.endswith(_SETTINGS)]
        frame = pd.read_csv(path, dtype=dict.fromkeys(text, str))
    except ValueError as error:  # pandas' own errors and wrong encodings
        raise BiasflowError(f"{path}: not valid CSV: {' '.join(str(error).split())}") from error
    return frame.fillna(dict.fromkeys(text, ""))


def printed_numbers(text: PaperText, folder: Path = HERE) -> pd.DataFrame:
    """Return a row for each number in the data files of a paper, in their order.

    file, line (from 0) and column say where it is kept; `table` where it is printed ("table 3", "sec. 5"); encoder
    (where a file has none, the paper's first), row (the other keys), measure, variant and unit what it is of (`of`: of
    whose data, where the file says); `printed` is its text, with as many decimals as in print, and `printed_sd` that of
    its deviation ("" where none is printed). Numbers with the same `cell` are one that is printed in several places."""
    paths, encoder = [path_of(text.name, name, folder) for name in text.published], next(iter(text.encoders), "")
    return pd.DataFrame([number for path in paths for number in _numbers(path, encoder)])


def _numbers(path: Path, default: str) -> Iterator[dict[str, object]]:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    columns = [column for column in frame if _holds_numbers(frame[column])]
    keys = [name for name in frame if name not in (*columns, *_NO_KEY) and not name.endswith(_SETTINGS)]
    for line, row in enumerate(frame.to_dict("records")):
        about = {key: row.get(key, "") for key in ("variant", "unit", "of")}
        about["encoder"] = row.get("encoder", default)
        about["table"] = row.get("where") or _named_table(row.get("table") or path.stem) or row.get("source", "")
        about["row"] = "; ".join(f"{key} {row[key]}" for key in keys if row[key])
        for column in columns:
            if row[column]:
                measure = row.get("metric") or row.get("id") or column
                yield about | {
                    "file": path.stem,
                    "line": line,
                    "column": column,
                    "measure": measure,
                    "printed": row[column],
                    "printed_sd": row.get(_DEVIATION, ""),
                    "cell": (path.stem, about["encoder"], about["row"], measure, about["variant"]),
                }


def _holds_numbers(column: pd.Series) -> bool:
    """Whether a column of texts is one of results."""
    if column.name in (*_TEXT, *_ABOUT) or column.name.endswith(_SETTINGS):
        return False
    filled = column[column != ""]
    return len(filled) > 0 and pd.to_numeric(filled, errors="coerce").notna().all()


def _named_table(name: str) -> str:
    """ "7" or "table7" -> "table 7"; "sec. 4.2" stays; "" for a name that is of no table."""
    number = re.fullmatch(r"(?:table)?(\d+)", name)
    return f"table {number[1]}" if number else name if name.startswith("sec.") else ""
