"""Scores that another model gave to the items of a test, one by one, from the kinds of file that are published.

What a file holds tells its kind, never its name:

numbers      one number a line, in the order of the items (GEST)
CrowS-Pairs  CSV with sent_more, sent_less, their scores, score and stereo_antistereo, as the released script writes it
BEC-Pro      tab-separated, with Sentence and columns of associations, of which one is named
StereoSet    JSON with lists intrasentence and intersentence of {id, score}
ours         a table, or JSON lines: columns that tell the item (such as id, or first and second), and score, or two:
             log_p_first and log_p_second
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError, nearest
from biasflow.base.files import read_json, text_lines
from biasflow.base.left_out import most
from biasflow.base.tabular import is_number
from biasflow.corpora.crows_pairs import COLUMNS, DIRECTIONS
from biasflow.corpora.records import DECIMAL_COMMA, columns_of, one_line, read_records, refuse, without_unknown

SCORE = "score"
LOG_P = ["log_p_first", "log_p_second"]
MORE_LESS = ["sent_more_score", "sent_less_score"]
ABOVE_0 = "is above 0, so it is no logarithm of a probability; turn its sign"
SENTENCE = "Sentence"  # of BEC-Pro
PAIRS = "crows_pairs"
# The column that says which tokens of a pair were masked; "shared" is what CrowS-Pairs's script does.
MASKING, SHARED, MASKINGS = "masking", "shared", ("shared", "nothing", "attended")
LOG_PROBABILITIES, PROBABILITIES = ("occtmp", "winogender"), ("strength",)  # metrics whose scores are such
PLACE = "sentence"  # what is counted in the predictions of StereoSet
PARTS = ("intrasentence", "intersentence")  # of StereoSet
KNOWN = (
    f"one number a line; columns {', '.join(MORE_LESS)}, score, {', '.join(COLUMNS)} (CrowS-Pairs); {SENTENCE} and a "
    f"named column (BEC-Pro); JSON with {' and '.join(PARTS)} (StereoSet); or columns that tell the item, and {SCORE} "
    f"or {', '.join(LOG_P)}"
)


def read_scores(path: str | Path, metric: str = "", *, column: str = "", part: str = "") -> pd.DataFrame:
    """The scores of a file: a row for each, columns that tell its item (none in a file of numbers alone), and `score`,
    or the log-likelihoods log_p_first and log_p_second (nats). The index is the place in the file.

    column: the one with the scores, where it is not called so; part: of a file of StereoSet (PARTS, or "both").
    A value that is no finite number is NaN. BiasflowError names the file, the line and what was expected: an unknown
    kind, a missing column, values most of which are no finite numbers, a log-likelihood above 0, CrowS-Pairs whose own
    scores contradict its likelihoods, and what the metric that the scores are for does not take."""
    scores = _read(path, column, part)
    _check_values(path, scores, metric)
    return scores


def _read(path: str | Path, column: str, part: str) -> pd.DataFrame:
    path = Path(path)
    start = _start(path)
    if start.startswith("{") and not _names_in_json(start):
        return _stereoset(path, part)
    if is_number(start):
        return _numbers(path)
    table = read_records(path)
    values = _values(path, list(table), column)
    if values == MORE_LESS:
        return _crows_pairs(path, table)
    columns_of(path, table, values)
    keys = {SENTENCE: "text"} if SENTENCE in table else {name: name for name in table if name not in (*values, "")}
    named = {**keys, **({column: SCORE} if column else {})}
    return _checked(path, table[[*keys, *values]].rename(columns=named), column)


def _start(path: Path) -> str:
    """The first line with anything in it; BiasflowError where it is a number with a decimal comma."""
    start = next((line.strip() for line in text_lines(path) if line.strip()), "")
    if DECIMAL_COMMA.fullmatch(start):
        raise BiasflowError(f"{path}: line 1: {start} is a number with a comma; write a decimal point")
    return start


def _names_in_json(start: str) -> list[str]:
    """The names of the first object of JSON lines; [] for anything else, such as a file of StereoSet."""
    try:
        record = json.loads(start)
    except ValueError:
        return []
    return list(record) if isinstance(record, dict) and not set(PARTS) & set(record) else []


def _values(path: Path, names: Sequence[str], column: str) -> list[str]:
    """The columns with the scores in a file that has columns of these names; BiasflowError where there are none."""
    if {"doc", "resps"} <= set(names):
        raise BiasflowError(
            f"{path}: line 1: has samples of lm-evaluation-harness: log-likelihoods of whole texts, read from left to "
            f"right, while the measures here are of masked words. Known are files with {KNOWN}"
        )
    choices = [[column]] if column else [MORE_LESS, LOG_P, [SCORE]]
    values = next((choice for choice in choices if set(choice) <= set(names)), None)
    if values is None and column:
        raise BiasflowError(f"{path}: no column {column}; {nearest(column, [*filter(None, names)])}")
    if values is None:
        has = one_line(", ".join(filter(None, names)))
        raise BiasflowError(f"{path}: no column {SCORE}; it has {has}. Known are files with {KNOWN}")
    return values


def _numbers(path: Path) -> pd.DataFrame:
    numbered = {number: line.strip() for number, line in enumerate(text_lines(path), start=1) if line.strip()}
    return _checked(path, pd.DataFrame({SCORE: list(numbered.values())}, index=pd.Index(numbered, name="line")))


def _crows_pairs(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    """The released script stores the likelihoods of a pair that goes against a stereotype under each other's names.
    Other versions may not: the file's own `score`, 1 where sent_more is likelier, tells."""
    columns_of(path, table, [*MORE_LESS, SCORE, *COLUMNS])
    table = without_unknown(path, table, {"stereo_antistereo": DIRECTIONS})
    values = _checked(path, table[[*MORE_LESS, SCORE]])
    against = (table["stereo_antistereo"] == DIRECTIONS[1]).to_numpy()[:, None]
    stored = values[MORE_LESS].to_numpy()
    for more_less in (np.where(against, stored[:, ::-1], stored), stored):
        known = values.notna().all(axis=1)
        wrong = known & ((more_less[:, 0] > more_less[:, 1]) != (values[SCORE] == 1))
        if not wrong.any():
            pairs = table[[*COLUMNS, *({MASKING} & {*table})]].rename(columns=COLUMNS)
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
    table = pd.DataFrame(rows, index=pd.RangeIndex(1, len(rows) + 1, name=PLACE), dtype=object)
    columns_of(path, table, ["id", SCORE])
    return _checked(path, table[["id", SCORE]])


def _checked(path: Path, table: pd.DataFrame, column: str = "") -> pd.DataFrame:
    """The table with its values as numbers, NaN for what is no finite one, unless that is most of them. column: what
    the file calls its scores, where it is not so."""
    for name in (SCORE, *LOG_P, *MORE_LESS):
        if name not in table:
            continue
        numbers = pd.to_numeric(table[name], errors="coerce").astype(float)
        values = table[name].rename(column or name)
        unknown = ~np.isfinite(numbers)
        if most(unknown.sum(), len(table)):
            refuse(path, values, unknown, "is no finite number; give one for each item")
        numbers = numbers.mask(unknown)
        if name != SCORE:
            refuse(path, values, numbers > 0, ABOVE_0)
        table = table.assign(**{name: numbers})
    return table


def _check_values(path: str | Path, scores: pd.DataFrame, metric: str) -> None:
    """BiasflowError for a value that is none of what the metric takes."""
    if MASKING in scores and metric == PAIRS:
        refuse(path, scores[MASKING], ~scores[MASKING].isin(MASKINGS), f"is none of {', '.join(MASKINGS)}")
    elif MASKING in scores and metric:
        raise BiasflowError(f"{path}: line 1: the column {MASKING} is for {PAIRS} alone; leave it out")
    if SCORE not in scores:
        if metric in (*LOG_PROBABILITIES, *PROBABILITIES):
            raise BiasflowError(f"{path}: line 1: has log-likelihoods of pairs; {metric} takes one column {SCORE}")
        return
    if metric in LOG_PROBABILITIES:
        refuse(path, scores[SCORE].astype(str), scores[SCORE] > 0, ABOVE_0)
    if metric in PROBABILITIES:
        outside = (scores[SCORE] < 0) | (scores[SCORE] > 1)
        refuse(path, scores[SCORE].astype(str), outside, "is no probability from 0 to 1; give no logarithm")
