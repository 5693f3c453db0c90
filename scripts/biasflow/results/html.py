"""A table as an HTML page: the first sentence of its caption, the rest folded; columns that say nothing are named, not
shown."""

from collections.abc import Collection, Mapping

import pandas as pd

from biasflow.results.captions import first_sentence
from biasflow.results.latex import LONG_TEXT  # up to which a column does not wrap
from biasflow.results.page import PAGES


def html_table(
    shown: pd.DataFrame,
    *,
    headers: Mapping[str, str],
    numeric: Collection[str],
    roles: Mapping[str, str],
    caption: str,
    title: str,
) -> str:
    """The page of a table of texts. headers: column -> what readers see; numeric: columns that are set to the right;
    roles: column -> "published" or "difference", for those that are.

    Of several rows a column that is empty, or the same in all of them, is left out and named below the caption."""
    values = {column: shown[column].unique() for column in shown}
    alike = [column for column in shown if len(shown) > 1 and len(values[column]) == 1]
    if len(alike) == len(shown.columns):
        alike = []  # nothing would be left
    kept = [column for column in shown if column not in alike]
    kinds = [_kind(shown[column], column in numeric, roles.get(column)) for column in kept]
    first, rest = first_sentence(caption)
    return PAGES.get_template("table.html").render(
        title=title,
        first=first,
        rest=rest,
        everywhere=[f"{headers[column]}: {values[column][0]}" for column in alike if values[column][0]],
        empty=[headers[column] for column in alike if not values[column][0]],
        columns=list(zip((headers[column] for column in kept), kinds, strict=True)),
        rows=[list(zip(row, kinds, strict=True)) for row in shown[kept].itertuples(index=False, name=None)],
    )


def _kind(column: pd.Series, is_number: bool, role: str | None) -> str:
    length = "number" if is_number else "short" if max(map(len, column), default=0) <= LONG_TEXT else "long"
    return f"{length} {role}" if role else length
