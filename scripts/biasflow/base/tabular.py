"""Tables on disk: equal frames give equal bytes, and a file is whole or absent."""

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import whole_file

FLOAT = "%.10g"
_FORMULA = re.compile(r"'*[=+\-@\t].", re.DOTALL)  # how text begins that spreadsheets take for a formula
_KEPT = re.compile(r"'+[=+\-@\t].", re.DOTALL)  # and how it stands in our files


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before every text, in cells and header, that a spreadsheet would take for a formula
    and might run: text from other people's files such as `=HYPERLINK(...)`. Numbers stay; `as_written` is the inverse.

    Such texts begin with =, +, -, @ or a tab (OWASP, CSV injection). A carriage return would end the row: it becomes a
    space, or the line end that it is a part of."""

    def safe(text: str) -> str:
        text = text.replace("\r\n", "\n").replace("\r", " ")
        return f"'{text}" if _FORMULA.match(text) and not is_number(text) else text

    return _with_texts(frame, safe)


def as_written(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table without the apostrophes that `without_formulas` adds."""
    return _with_texts(frame, lambda text: text[1:] if _KEPT.match(text) and not is_number(text[1:]) else text)


def _with_texts(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    def changed(value: object) -> object:
        return change(value) if isinstance(value, str) else value

    table = frame.copy(deep=False)
    for place, (_, column) in enumerate(frame.items()):
        if not pd.api.types.is_numeric_dtype(column):
            table.isetitem(place, column.map(changed))
    return table.rename(columns=changed)


def is_number(text: str) -> bool:
    """Whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_csv(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a CSV with 10 significant digits and Unix line ends, and without formulas."""
    with whole_file(path) as temporary:
        without_formulas(frame).to_csv(temporary, index=False, float_format=FLOAT, lineterminator="\n")


def read_text_csv(path: str | Path) -> pd.DataFrame:
    """Read a CSV whose columns are all text; an empty cell is "", and words such as "None" stay as they are."""
    try:
        return as_written(pd.read_csv(path, dtype=str, keep_default_na=False))
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
