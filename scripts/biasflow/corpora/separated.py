"""Tables of comma-separated or tab-separated text, in which every row is as long as the header."""

import csv
import io
from pathlib import Path

import pandas as pd

from scripts.biasflow.base.errors import BiasflowError


def separated(path: str | Path, text: str) -> pd.DataFrame:
    """The table that `text`, the content of `path`, holds: all cells are text, the index (named row) counts from 1.

    Tab-separated if the first line has a tab, and then quotes are plain characters; else CSV. Empty lines are left out.
    A comma or a line break in a text that is not quoted makes its row longer or shorter, and what would be read instead
    of the text is wrong without a trace: so BiasflowError names the file and the first row that is not as long as the
    header, or whose quotes do not match, or a column that is there twice."""
    by_tab = "\t" in text.partition("\n")[0]
    dialect = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if by_tab else {"strict": True}
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text), **dialect):
            if len(row) > 1 or "".join(row).strip():
                rows.append(row)
    except csv.Error as error:
        place = f"row {len(rows)}" if rows else "header"
        raise BiasflowError(f"{path}: {place}: {error}; check the quotes around its texts.") from error
    header, *rows = rows or [[]]
    for name in header:
        if name and header.count(name) > 1:
            raise BiasflowError(f"{path}: the column {name[:40]!r} is there twice; keep one of the two.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            more = "more" if len(row) > len(header) else "fewer"
            cause = "" if by_tab else f"; quote texts with {'commas' if more == 'more' else 'commas or line breaks'}"
            raise BiasflowError(
                f"{path}: row {number} has {more} fields than the header ({len(row)}, {len(header)}){cause}."
            )
    return pd.DataFrame(rows, columns=header, index=pd.RangeIndex(1, len(rows) + 1, name="row"), dtype="str")
