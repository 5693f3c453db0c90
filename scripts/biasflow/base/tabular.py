"""Tables on disk: those of users are read by one function; of ours, equal frames give equal bytes, and a file is whole
or absent."""

import contextlib
import csv
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import text_lines, whole_file

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
NAMED = 5  # wrong places in a message
LONGEST = 10_000_000  # characters of a cell: a quote that nothing closes must not swallow the file
_PRINTED = re.compile(r"-[\d.]+[\d. ,()*\u00b1]*\[[\d. ,()*\u00b1\u2013-]*\]")  # "-0.54 ± 0.02 [-0.53]": no formula
_FORMULA = re.compile(r"'*[=+\-@\t].", re.DOTALL)  # how text begins that spreadsheets take for a formula
_KEPT = re.compile(r"'+[=+\-@\t].", re.DOTALL)  # and how it stands in our files
_BLANK = "".join(SEPARATORS) + '" \r\n'  # all that a line without a cell has
_CARRIAGE_RETURN = re.compile(r"(?<=\r)(?!\n)")  # after one that ends a line alone
_EXCEL = re.compile(r'"?sep=."?\s*')  # the first line of a table that tells Excel its separator


def table_rows(
    path: str | Path, wanted: Collection[str] = (), *, quoted: Callable[[Sequence[str]], bool] = lambda names: True
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a separated table, one by one: the line that a row begins on (from 1), and its cells as text.

    The first row is the header. Its separator is that of SEPARATORS which gives the most `wanted` columns, and of these
    a tab, or else the one that gives the most columns. A cell with separators, line breaks or quotes is quoted, and its
    quotes are doubled, as pandas and spreadsheets write it, between tabs as between commas; quotes are plain characters
    in tables with tabs for whose header `quoted` is false. Lines without a cell are left out, and so are rows of empty
    cells at the beginning and at the end, which spreadsheets write. The file may be packed.

    A separator or line break in a text that is not quoted makes its row longer or shorter, and what would be read in
    place of the text is wrong without a trace. (pandas.read_csv fills up short rows, takes `"x"y` for `xy`, and tells
    no lines.) So BiasflowError names the lines of the rows that are not as long as the header, or the first whose
    quotes do not match; and bytes that are no UTF-8."""
    first = next((line for line in _lines(path) if line.strip(_BLANK)), "")
    separator = _separator(first, wanted, tab_first=".tsv" in Path(path).suffixes)
    header = _cells(first, separator)
    plain = separator == "\t" and not quoted(header)
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))  # the module's own limit is shorter than some articles
    reader = csv.reader(
        _lines(path),
        delimiter=separator,
        quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL,
        skipinitialspace=len(header) > 1 and all(name.startswith(" ") for name in header[1:]),  # "a, b"
        strict=True,
    )
    columns, line = 0, 1
    empty: list[tuple[int, list[str]]] = []
    try:
        for row in reader:
            full = any(map(str.strip, row))
            if full or (columns and len(row) > 1):
                columns = columns or len(row)
                if len(row) != columns:
                    more = "more" if len(row) > columns else "fewer"
                    cause = "" if plain else f"; quote texts that hold a {SEPARATORS[separator]} or a line break"
                    fields = f"{more} fields than the header ({len(row)}, {columns})"
                    others = and_others(_wrong_lines(reader, columns), "line")
                    raise BiasflowError(f"{path}: line {line}: {fields}{cause}{others}.")
                empty.append((line, row))
                if full:
                    yield from empty
                    empty = []
            line = reader.line_num + 1
    except csv.Error as error:
        wrong = str(error).replace("\t", "tab")
        rule = "a cell that begins with a quote ends with one, and quotes in it are doubled"
        raise BiasflowError(f"{path}: line {line}: {wrong}; check the quotes: {rule}.") from error


def _wrong_lines(reader, columns: int) -> list[int]:
    """The lines of further rows of a csv.reader that have cells, but not as many as there are columns."""
    lines, line = [], reader.line_num + 1
    with contextlib.suppress(csv.Error):
        for row in reader:
            if len(row) != columns and (len(row) > 1 or any(map(str.strip, row))):
                lines.append(line)
            line = reader.line_num + 1
    return lines


def and_others(places: Sequence[object], unit: str) -> str:
    """Say how many places are wrong in all, if the one that is named is not the only one, and where the next ones are;
    "" without others."""
    if not places:
        return ""
    shown = ", ".join(map(str, places[: NAMED - 1])) + (", ..." if len(places) >= NAMED else "")
    return f" ({len(places) + 1:,} {unit}s are wrong; the others: {shown})"


def _lines(path: str | Path) -> Iterator[str]:
    """The lines of a text, which a carriage return alone may end, too; an empty one for Excel's own first line."""
    lines = (
        line for whole in text_lines(path) for line in (_CARRIAGE_RETURN.split(whole) if "\r" in whole else [whole])
    )
    first = next(lines, "")
    yield "\n" if _EXCEL.fullmatch(first) else first
    yield from filter(None, lines)


def _separator(first: str, wanted: Collection[str], *, tab_first: bool) -> str:
    """The separator of a table with this first line."""
    known = {name.lower() for name in wanted}

    def columns(separator: str) -> tuple[int, bool, int]:
        names = [name.strip().lower() for name in _cells(first, separator)]
        return len(known.intersection(names)), separator == "\t" and separator in first, len(names)

    return max(sorted(SEPARATORS, key=lambda separator: separator != "\t") if tab_first else SEPARATORS, key=columns)


def _cells(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before every text, in cells and header, that a spreadsheet would take for a formula
    and might run: text from other people's files such as `=HYPERLINK(...)`. Numbers stay; `as_written` is the inverse.

    Such texts begin with =, +, -, @ or a tab (OWASP, CSV injection). A carriage return would end the row: it becomes a
    space, or the line end that it is a part of."""

    def safe(text: str) -> str:
        text = text.replace("\r\n", "\n").replace("\r", " ")
        is_formula = _FORMULA.match(text) and not is_number(text) and not _PRINTED.fullmatch(text)
        return f"'{text}" if is_formula else text

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


def write_csv(frame: pd.DataFrame, path: str | Path, digits: int = 10, **options: str) -> None:
    """Write a CSV with so many significant digits and Unix line ends, and without formulas; options: of to_csv."""
    with whole_file(path) as temporary:
        plain = without_formulas(frame)
        plain.to_csv(temporary, index=False, float_format=f"%.{digits}g", lineterminator="\n", **options)


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
