"""The numbers that the papers print, as data files of this project; `sources.csv` says where each is from."""

from pathlib import Path

import pandas as pd

from scripts.biasflow.base.errors import BiasflowError

PUBLISHED = Path(__file__).resolve().parents[3] / "config" / "published"
_TEXT = ("level", "settings", "table", "example", "context_id", "stereoset_id", "label")
_TEXT += ("task", "encoder", "method", "setting", "stage", "metric", "variant", "source")
_SETTINGS = "_settings"  # strength_settings and the like: which setting was best


def path_of(name: str, folder: Path = PUBLISHED) -> Path:
    """The data file of a published table, e.g. `dawkins2024_table7`."""
    path = folder / f"{name}.csv"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.csv") if file.stem != "sources"))
        raise BiasflowError(f"published table {name!r} does not exist in {folder}; there are: {known}")
    return path


def read_published(name: str, folder: Path = PUBLISHED) -> pd.DataFrame:
    """A published table in its printed order. Names and settings are text ("" where there is none)."""
    path = path_of(name, folder)
    columns = pd.read_csv(path, nrows=0).columns
    text = [column for column in columns if column in _TEXT or column.endswith(_SETTINGS)]
    frame = pd.read_csv(path, dtype=dict.fromkeys(text, str))
    return frame.fillna(dict.fromkeys(text, ""))
