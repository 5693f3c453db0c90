"""The numbers that the papers print, as data files of each paper; its paper.yaml says where each is from."""

from pathlib import Path

import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.papers.paper import HERE

_TEXT = ("level", "settings", "table", "example", "context_id", "stereoset_id", "label", "digest")
_TEXT += ("task", "encoder", "method", "eraser", "setting", "places", "stage", "dataset", "metric", "variant", "source")
_SETTINGS = "_settings"  # strength_settings and the like: which setting was best


def path_of(paper: str, name: str, folder: Path = HERE) -> Path:
    """The data file of a published table, e.g. of dawkins2024's `table7`."""
    path = folder / paper / "published" / f"{name}.csv"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.csv"))) or "none"
        raise BiasflowError(f"{paper} has no published values {name!r} in {path.parent}; there are: {known}")
    return path


def read_published(paper: str, name: str, folder: Path = HERE) -> pd.DataFrame:
    """A published table in its printed order. Names and settings are text ("" where there is none). BiasflowError for a
    file that is no CSV."""
    path = path_of(paper, name, folder)
    try:
        columns = pd.read_csv(path, nrows=0).columns
        text = [column for column in columns if column in _TEXT or column.endswith(_SETTINGS)]
        frame = pd.read_csv(path, dtype=dict.fromkeys(text, str))
    except ValueError as error:  # pandas' own errors and wrong encodings
        raise BiasflowError(f"{path}: not valid CSV: {' '.join(str(error).split())}") from error
    return frame.fillna(dict.fromkeys(text, ""))
