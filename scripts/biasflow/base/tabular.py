"""Plain tables on disk: the same frame is the same bytes, and a file is whole or absent."""

from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import whole_file

FLOAT = "%.10g"


def write_csv(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a CSV with 10 significant digits and Unix line ends."""
    with whole_file(path) as temporary:
        frame.to_csv(temporary, index=False, float_format=FLOAT, lineterminator="\n")


def read_text_csv(path: str | Path) -> pd.DataFrame:
    """Read a CSV whose columns are all text; an empty cell is "", and words such as "None" stay as they are."""
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise BiasflowError(f"{path}: not a readable CSV file ({error}); delete it and run again") from error


def write_parquet(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a Parquet file."""
    with whole_file(path) as temporary:
        frame.to_parquet(temporary, index=False)


def read_parquet(path: str | Path) -> pd.DataFrame:
    """Read a Parquet file; a truncated one is a BiasflowError that names it."""
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise BiasflowError(f"{path}: not a whole Parquet file ({error}); delete it and run again") from error
