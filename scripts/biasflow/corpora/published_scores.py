"""Scores that another model gave to the items of a test, one by one, from the kinds of file that are published.

What a file holds tells its kind, never its name:

numbers      one number a line, in the order of the items (GEST)
CrowS-Pairs  CSV with sent_more, sent_less, their scores, score and stereo_antistereo, as the released script writes it
BEC-Pro      tab-separated, with Sentence and columns of associations, of which one is named
StereoSet    JSON with lists intrasentence and intersentence of {id, score}
ours         CSV: columns that tell the item (such as id, or first and second), and score, or two: log_p_first and
             log_p_second
"""

from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError, nearest
from biasflow.base.files import read_json
from biasflow.base.tabular import is_number
from biasflow.corpora.crows_pairs import COLUMNS, DIRECTIONS
from biasflow.corpora.records import columns_of, read_records, refuse, refuse_unknown

SCORE = "score"
LOG_P = ["log_p_first", "log_p_second"]
MORE_LESS = ["sent_more_score", "sent_less_score"]
ABOVE_0 = "is above 0, so it is no logarithm of a probability; turn its sign"
SENTENCE = "Sentence"  # of BEC-Pro
PARTS = ("intrasentence", "intersentence")  # of StereoSet
KNOWN = (
    f"one number a line; columns {', '.join(MORE_LESS)}, score, {', '.join(COLUMNS)} (CrowS-Pairs); {SENTENCE} and a "
    f"named column (BEC-Pro); JSON with {' and '.join(PARTS)} (StereoSet); or columns that tell the item, and {SCORE} "
    f"or {', '.join(LOG_P)}"
)


def read_scores(path: str | Path, *, column: str = "", part: str = "") -> pd.DataFrame:
    """The scores of a file: a row for each, columns that tell its item (none in a file of numbers alone), and `score`,
    or the log-likelihoods log_p_first and log_p_second (nats). The index is the place in the file.

    column: the one with the scores, where it is not called so; part: of a file of StereoSet (PARTS, or "both").
    BiasflowError names the file, the line and what was expected: an unknown kind, a missing column, a value that is no
    finite number, a log-likelihood above 0, CrowS-Pairs whose own scores contradict its likelihoods."""
    path = Path(path)
    start = _start(path)
    if start.startswith("{"):
        return _stereoset(path, part)
    if is_number(start):
        return _numbers(path)
    table = read_records(path)
    if set(MORE_LESS) <= set(table):
        return _crows_pairs(path, table)
    values = [column] if column else LOG_P if set(LOG_P) <= set(table) else [SCORE]
    if not set(values) <= set(table):
        raise BiasflowError(f"{path}: no column {values[0]}; known are files with {KNOWN}")
    columns_of(path, table, values)
    keys = {SENTENCE: "text"} if SENTENCE in table else {name: name for name in table if name not in (*values, "")}
    named = {**keys, **({column: SCORE} if column else {})}
    return _checked(path, table[[*keys, *values]].rename(columns=named), column)


def check_kind(path: str | Path, column: str = "") -> None:
    """BiasflowError unless the first line of a file says that `read_scores` can read it."""
    start = _start(Path(path))
    names = set(start.split("\t" if "\t" in start else ",")) | {name.strip('"') for name in start.split(",")}
    wanted = {column} if column else {SCORE} if SCORE in names else set(LOG_P)
    if not (start.startswith("{") or is_number(start) or set(MORE_LESS) <= names or wanted <= names):
        if column:
            columns = sorted(name for name in names if name != start)
            raise BiasflowError(f"{path}: line 1: no column {column}; {nearest(column, columns)}")
        raise BiasflowError(f"{path}: line 1: no column {SCORE}; known are files with {KNOWN}")


def _start(path: Path) -> str:
    """The first line with anything in it."""
    try:
        with open(path, encoding="utf-8-sig") as stream:
            return next((line.strip() for line in stream if line.strip()), "")
    except (OSError, UnicodeDecodeError) as error:
        raise BiasflowError(f"{path}: cannot be read as text ({error}); known are files with {KNOWN}") from error


def _numbers(path: Path) -> pd.DataFrame:
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    numbered = {number: line.strip() for number, line in enumerate(lines, start=1) if line.strip()}
    return _checked(path, pd.DataFrame({SCORE: list(numbered.values())}, index=pd.Index(numbered, name="line")))


def _crows_pairs(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    """The released script stores the likelihoods of a pair that goes against a stereotype under each other's names.
    Other versions may not: the file's own `score`, 1 where sent_more is likelier, tells."""
    columns_of(path, table, [*MORE_LESS, SCORE, *COLUMNS])
    refuse_unknown(path, table["stereo_antistereo"], DIRECTIONS)
    values = _checked(path, table[[*MORE_LESS, SCORE]])
    against = (table["stereo_antistereo"] == DIRECTIONS[1]).to_numpy()[:, None]
    stored = values[MORE_LESS].to_numpy()
    for more_less in (np.where(against, stored[:, ::-1], stored), stored):
        wrong = pd.Series((more_less[:, 0] > more_less[:, 1]) != (values[SCORE] == 1), table.index)
        if not wrong.any():
            pairs = table[list(COLUMNS)].rename(columns=COLUMNS)
            return _checked(path, pairs.assign(**dict(zip(LOG_P, more_less.T, strict=True))))
    refuse(path, table[SCORE], wrong, f"contradicts {' and '.join(MORE_LESS)}, whichever way they are read")
    raise AssertionError


def _stereoset(path: Path, part: str) -> pd.DataFrame:
    content = read_json(path)
    parts = PARTS if part == "both" else (part,)
    for name in parts:
        if not isinstance(content.get(name), list):
            raise BiasflowError(
                f"{path}: no list {name!r} of sentences with id and score; known are files with {KNOWN}"
            )
    rows = [row for name in parts for row in content[name]]
    table = pd.DataFrame(rows, index=pd.RangeIndex(1, len(rows) + 1, name="sentence"), dtype=object)
    columns_of(path, table, ["id", SCORE])
    return _checked(path, table[["id", SCORE]])


def _checked(path: Path, table: pd.DataFrame, column: str = "") -> pd.DataFrame:
    """The table with its values as numbers. column: what the file calls its scores, where it is not so."""
    for name in (SCORE, *LOG_P, *MORE_LESS):
        if name not in table:
            continue
        numbers = pd.to_numeric(table[name], errors="coerce").astype(float)
        values = table[name].rename(column or name)
        refuse(path, values, ~np.isfinite(numbers), "is no finite number; give one for each item")
        if name != SCORE:
            refuse(path, values, numbers > 0, ABOVE_0)
        table = table.assign(**{name: numbers})
    return table
