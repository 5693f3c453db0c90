"""A table as LaTeX that fits a page of the class `article` with its own margins (345 pt of text, 550 turned): turned if
wide, in panels if wider, broken if long.

Widths are estimated in characters of half an em, the width of a digit in Computer Modern. Few texts are wider:
capitals are, small letters are narrower."""

import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile

import numpy as np
import pandas as pd

# Characters above which a text is set on several lines.
LONG_TEXT = 30
# Characters across an upright page at \footnotesize and across a turned one at \scriptsize.
_UPRIGHT, _TURNED = 78, 160
# Characters above which a text says more than which row it is.
_LONG_KEY = 40
# Lines above which a table may break over pages; the lines that the head of a further panel takes.
_PAGE_LINES, _HEAD_LINES = 40, 5
# A long text fills about so many lines, in a column of so many characters; a line of a header has fewer.
_TEXT_LINES, _NARROWEST, _BROADEST, _HEADER = 5, 20, 60, 12

_ESCAPED = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"±": r"$\pm$"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    | {"[": "{[}"}  # after the end of a row a bare bracket would open an option
)


def escape_latex(text: str) -> str:
    """Return `text` with every character that LaTeX would read as a command replaced."""
    return text.translate(_ESCAPED)


def latex_table(
    shown: pd.DataFrame, *, headers: Mapping[str, str], numeric: Collection[str], caption: str, label: str
) -> str:
    """The cells `shown` (text) under their `headers`, columns in `numeric` flushed right.

    A table too wide for a turned page is set in panels, one under the other, with the same rows in the same order.
    Every panel repeats the keys: the leading columns of short text, as many as fill half the page. A column stands
    beside the one that it is named after (`strength`, `strength_published`), unless these fill more than half the
    page. Columns blank in every row are left out, and the caption names them.

    Packages: array, booktabs, longtable, pdflscape."""
    filled = [column for column in shown if shown[column].ne("").any()] or list(shown)
    if blank := [headers[column] for column in shown if column not in filled]:
        caption += f" Left out, as blank in every row: {', '.join(blank)}."
    stacks = {c: textwrap.wrap(headers[c], width=_HEADER, break_long_words=False) for c in filled}
    long_texts = [c for c in filled if c not in numeric and _longest(shown[c]) > LONG_TEXT]
    bodies = {c: _text_width(shown[c]) if c in long_texts else _longest(shown[c]) for c in filled}
    # Two spaces of 2 pt beside a column make one more character.
    widths = {c: max(bodies[c], *map(len, stacks[c])) + 1 for c in filled}

    total = sum(widths.values())
    turned = total > _UPRIGHT
    keys = list(takewhile(lambda c: c not in numeric and _longest(shown[c]) <= _LONG_KEY, filled))
    panels = _panels(list(shown), widths, keys) if total > _TURNED else [filled]
    lines = sum(_lines(shown[panel], bodies) + _HEAD_LINES for panel in panels) - _HEAD_LINES
    cells = shown[filled].map(escape_latex)
    numbers = [c for c in filled if c in numeric]
    # A sign outside mathematics would be set as a hyphen.
    cells[numbers] = cells[numbers].map(lambda text: f"${text}$" if text[:1] in ("+", "-") else text)
    formats = {c: "r" if c in numeric else "l" for c in filled} | {
        c: rf">{{\raggedright\arraybackslash}}p{{{bodies[c] / 2:g}em}}" for c in long_texts
    }
    heads = {c: _stacked(stacks[c]) for c in filled}
    parts = [
        (cells[panel].set_axis([heads[c] for c in panel], axis=1), "".join(formats[c] for c in panel))
        for panel in panels
    ]
    body = (_broken if lines > _PAGE_LINES else _floating)(
        parts,
        style=("\\scriptsize" if turned else "\\footnotesize") + "\\setlength{\\tabcolsep}{2pt}",
        caption=escape_latex(caption),
        label=label,
    )
    if turned:
        body = "\\begin{landscape}\n" + body + "\\end{landscape}\n"
    return "% packages: array, booktabs, longtable, pdflscape\n" + body


def _longest(texts: pd.Series) -> int:
    return max(map(len, texts), default=0)


def _text_width(texts: pd.Series) -> int:
    """The characters across a column of long texts: enough for few lines and for the longest word."""
    word = max(len(part) for text in texts for part in re.split("[ -]", text))
    return max(min(_longest(texts) // _TEXT_LINES, _BROADEST), _NARROWEST, word + 1)


def _panels(columns: Sequence[str], widths: Mapping[str, int], keys: Sequence[str]) -> list[list[str]]:
    """The columns that have a width, in panels no wider than a turned page; each begins with `keys`, if they fit."""

    def width(panel: Sequence[str]) -> int:
        return sum(widths[column] for column in panel)

    while width(keys) > _TURNED / 2:
        keys = keys[:-1]
    groups: dict[str, list[str]] = {}
    for column in columns:
        values = [column] if column in widths and column not in keys else []
        namesakes = (h for h in reversed(groups) if column.startswith(h + "_"))
        head = next((h for h in namesakes if width(groups[h] + values) <= _TURNED / 2), column)
        groups.setdefault(head, []).extend(values)
    panels = [list(keys)]
    for group in groups.values():
        if panels[-1] != keys and width(panels[-1] + group) > _TURNED:
            panels.append(list(keys))
        panels[-1] += group
    return panels


def _lines(shown: pd.DataFrame, bodies: Mapping[str, int]) -> int:
    """The lines that the rows take when long texts are wrapped."""
    lengths = shown.map(len).to_numpy(float)
    broken = np.ceil(lengths / [max(bodies[column], 1) for column in shown])
    return int(broken.max(axis=1, initial=1).sum())


def _stacked(lines: Sequence[str]) -> str:
    escaped = [escape_latex(line) for line in lines]
    return escaped[0] if len(escaped) == 1 else r"\shortstack{" + r"\\".join(escaped) + "}"


def _floating(parts: Sequence[tuple[pd.DataFrame, str]], *, style: str, caption: str, label: str) -> str:
    """One float, its panels under each other."""
    tabulars = [cells.style.hide(axis="index").to_latex(column_format=f, hrules=True) for cells, f in parts]
    return (
        f"\\begin{{table}}\n\\centering{style}\n\\caption{{{caption}}}\n\\label{{{label}}}\n\\medskip\n"
        + "\n\\bigskip\n".join(tabulars)
        + "\\end{table}\n"
    )


def _broken(parts: Sequence[tuple[pd.DataFrame, str]], *, style: str, caption: str, label: str) -> str:
    """Tables that may break over pages, all under the number of the first."""
    texts = []
    for index, (cells, column_format) in enumerate(parts):
        text = cells.style.hide(axis="index").to_latex(
            column_format=column_format,
            hrules=True,
            caption=("(continued)", "") if index else caption,
            label=None if index else label,
            environment="longtable",
        )
        texts.append(text.replace(f"\\caption[]{{{caption}}}", "\\caption[]{(continued)}"))
    return "{" + style + "\\setlength{\\LTcapwidth}{\\linewidth}\n" + "\\addtocounter{table}{-1}\n".join(texts) + "}\n"
