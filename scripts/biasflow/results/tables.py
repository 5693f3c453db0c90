"""Any table as CSV, LaTeX and HTML, and published numbers beside ours."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_numeric_dtype

from biasflow.base.files import write_text
from biasflow.base.tabular import write_csv
from biasflow.results.latex import (
    LONG_TEXT,  # up to which a column does not wrap
    latex_table,
)
from biasflow.results.page import PAGES, first_sentence

PUBLISHED, DIFFERENCE = "_published", "_difference"
BOUND = "_bound"  # of a column: "<" where its number 1 / n is only an upper bound, which LaTeX and HTML show as < 1/n
DECIMALS, SHORT_DECIMALS = 4, 3  # of LaTeX and CSV's readers; of a page
LEAST_P = 0.001  # smaller p-values are only said to be so
_P_VALUE = re.compile(
    r"(planted_)?p(_value|_one_sided|_two_sided|_by_encoder|_change|_original|_authors|_holm|_median)*(_published)?"
)
_ACRONYMS = {"ceat", "csv", "fpr", "glue", "nli", "seat", "snli", "tpr", "weat"}


def unmatched(table: pd.DataFrame, others: pd.DataFrame, on: Sequence[str]) -> pd.DataFrame:
    """The rows of a table whose keys `on` no row of the other has."""
    keys = others[[*on]].drop_duplicates()
    found = table.merge(keys, how="left", on=[*on], indicator="found")["found"]
    return table[(found == "left_only").to_numpy()]


def merge_published(
    frame: pd.DataFrame,
    published: pd.DataFrame,
    *,
    on: Sequence[str],
    values: Sequence[str],
    printed_only: bool = False,
) -> pd.DataFrame:
    """Put `<value>_published` and, of numbers, `<value>_difference` (ours minus published) after each of `values`.

    The tables are joined on `on`; rows keep their order, a row that is not printed gets NaN. `printed_only`: below them
    come the rows that are printed and are not in `frame`, with NaN for ours."""
    printed = published[[*on, *values]].rename(columns={value: value + PUBLISHED for value in values})
    if printed_only:
        frame = pd.concat([frame, unmatched(printed, frame, on)[list(on)]], ignore_index=True)
    merged = frame.merge(printed, on=list(on), how="left", validate="many_to_one")
    for value in values:
        if is_numeric_dtype(published[value]):
            merged[value + DIFFERENCE] = merged[value] - merged[value + PUBLISHED]
    order = [column + end for column in frame for end in ("", *([PUBLISHED, DIFFERENCE] if column in values else []))]
    return merged[[column for column in order if column in merged]]


def with_bound(table: pd.DataFrame, p: str, partitions: pd.Series) -> pd.DataFrame:
    """The table with the column `<p>_bound` after the exact p-values `p`, and none of these 0.

    Where no partition of a test is counted its p is below 1 / partitions: that stands in its place, "<" beside it."""
    none = table[p] == 0
    table = table.assign(**{p: table[p].mask(none, 1 / partitions)})
    table.insert(table.columns.get_loc(p) + 1, p + BOUND, none.map({True: "<", False: ""}))
    return table


def arranged(table: pd.DataFrame, **orders: Iterable[object] | None) -> pd.DataFrame:
    """The table sorted by these columns, each in the order in which its values are first given, others last; None: in
    their own order."""
    places = {
        column: {value: place for place, value in enumerate(dict.fromkeys(order))}
        for column, order in orders.items()
        if order is not None
    }

    def key(column: pd.Series) -> pd.Series:
        order = places.get(column.name)
        return column if order is None else column.map(lambda value: order.get(value, len(order)))

    return table.sort_values([*orders], key=key, kind="stable", ignore_index=True)


def write_table(
    frame: pd.DataFrame,
    csv_path: str | Path,
    tex_path: str | Path,
    html_path: str | Path,
    *,
    caption: str,
    decimals: int = DECIMALS,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Write a table three times: CSV (6 significant digits), LaTeX (for a page of `article`) and HTML (`html_table`).

    LaTeX shows `decimals` places, HTML SHORT_DECIMALS if that is DECIMALS; both differences with their sign, "< 1/n"
    where a column `<name>_bound` has "<", and a column's header from `headers`, or what `readable` makes of its name;
    HTML p-values below 0.001 as "< 0.001". Each file is whole or absent."""
    name = Path(csv_path).stem
    write_csv(frame, csv_path, digits=6)
    shown = _with_bounds(frame.apply(_displayed, decimals=decimals), frame)
    short = SHORT_DECIMALS if decimals == DECIMALS else decimals
    brief = _with_bounds(frame.apply(_displayed, decimals=short, least_p=LEAST_P), frame)
    roles = {c: suffix[1:] for c in shown for suffix in (PUBLISHED, DIFFERENCE) if c.endswith(suffix)}
    headers = {column: (headers or {}).get(column, readable(column)) for column in shown}
    numeric = {column for column in shown if is_numeric_dtype(frame[column]) and not is_bool_dtype(frame[column])}
    about = {"headers": headers, "numeric": numeric, "caption": caption}
    write_text(tex_path, latex_table(shown, label=f"tab:{name}", **about))
    rounded = {column for column in numeric if frame[column].nunique(dropna=False) > 1}
    write_text(html_path, html_table(brief, roles=roles, title=name, differing=rounded, **about))


def readable(column: str) -> str:
    """A column's name for readers: "strength_published" -> "Strength (published)", "sentence_a" -> "Sentence A"."""
    for suffix in (PUBLISHED, DIFFERENCE):
        if column.endswith(suffix):
            return f"{readable(column.removesuffix(suffix))} ({suffix[1:]})"
    first, *rest = column.split("_")
    words = [first if len(first) == 1 else first.capitalize(), *(w.upper() if len(w) == 1 else w for w in rest)]
    return " ".join(word.upper() if word.lower() in _ACRONYMS else word for word in words)


def _with_bounds(shown: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """The cells with "< 1/n" in `<name>` where `<name>_bound` says so, and without the latter."""
    signs = [column for column in frame if column.endswith(BOUND)]
    for sign in signs:
        name = sign.removesuffix(BOUND)
        shown[name] = shown[name].mask(frame[sign] == "<", (1 / frame[name]).map("< 1/{:.0f}".format))
    return shown.drop(columns=signs)


def _displayed(column: pd.Series, decimals: int, least_p: float = 0) -> pd.Series:
    """The cells as text: missing values blank, yes/no, fixed decimals (tiny values as powers of ten); p-values below
    `least_p` as "< ..."."""
    is_p = _P_VALUE.fullmatch(str(column.name)) is not None
    signed = str(column.name).endswith(DIFFERENCE)

    def show(value: object) -> str:
        """A cell; what is no float is shown as it is."""
        if pd.isna(value):
            return ""
        if is_bool_dtype(column):
            return "yes" if value else "no"
        if not is_float_dtype(column):
            return str(value)
        if is_p and value < least_p:
            return f"< {least_p:g}"
        small = value != 0 and abs(value) < 0.5 * 10**-decimals
        return f"{value:{'+' if signed else ''}{'.1e' if small else f'.{decimals}f'}}"

    return column.map(show).astype(str)


def html_table(
    shown: pd.DataFrame,
    *,
    headers: Mapping[str, str],
    numeric: Collection[str],
    roles: Mapping[str, str],
    caption: str,
    title: str,
    differing: Collection[str] = (),
) -> str:
    """The page of a table of texts. headers: column -> what readers see; numeric: columns that are set to the right;
    roles: column -> "published" or "difference", for those that are; differing: columns whose values differ, although
    they may be written alike.

    Of several rows a column that is empty, or the same in all of them, is left out and named below the caption."""
    values = {column: shown[column].unique() for column in shown}
    alike = [column for column in shown if len(shown) > 1 and len(values[column]) == 1 and column not in differing]
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
