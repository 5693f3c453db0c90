"""The matrix as tables for readers: methods in rows, measures in columns; one table of encoders as pre-trained, and one
for each task."""

from dataclasses import dataclass

import pandas as pd

from biasflow.base.sample import limit_of
from biasflow.encoders.places import SENTENCE
from biasflow.matrix import ELSEWHERE, RANDOM
from biasflow.results.matrix import UNTRAINED, criticisms, limited
from biasflow.results.scores import NA
from biasflow.results.tables import unmatched

ROW = ["encoder", "strategy", "method", "setting"]
COLUMN = ["measure", "dataset", "head"]
SETTINGS = 12  # a method of more settings (a grid) would hide all others
_BETTER = {"low": "Lower is better", "high": "Higher is better"}


@dataclass(frozen=True)
class FirstTable:
    """A table for readers. frame: a row per model and method, a column per measure; headers: its columns for
    readers."""

    frame: pd.DataFrame
    headers: dict[str, str]
    caption: str


def first_table(matrix: pd.DataFrame, task: str) -> FirstTable:
    """The cells of `matrix` (results.matrix) whose models were fine-tuned on `task`; NA: on none.

    A column names the dataset and the head where its measure has several, and a dataset that is limited, or of the
    vectors that sentence-transformers makes. The caption says which those are, what is better, what is known against a
    measure or stands against a value, why cells are empty, and which methods have more than SETTINGS settings and are
    left to matrix.csv."""
    of_task = matrix[matrix["task"] == task]
    settings = of_task.groupby("method", sort=False)["setting"].nunique()
    left_out = settings.index[settings > SETTINGS]
    shown = of_task[~of_task["method"].isin(left_out)]
    measured, empty = shown[shown["reason"] == ""], shown[shown["reason"] != ""]
    columns = _columns(measured)
    values = measured.set_index([*ROW, *COLUMN])["value"].unstack(COLUMN).reindex(columns=list(columns))
    rows = pd.concat([measured, unmatched(empty, measured, ROW[:-1])])[ROW].drop_duplicates()  # also of none measured
    names = [name for name, _ in columns.values()]
    frame = values.reindex(pd.MultiIndex.from_frame(rows)).set_axis(names, axis=1)
    blank = [key for key in ("strategy", "setting") if (shown[key] == NA).all()]
    return FirstTable(
        frame.reset_index().replace({"strategy": {RANDOM: UNTRAINED}}).drop(columns=blank),
        dict(columns.values()),
        " ".join(_caption(task, measured, empty, list(left_out))),
    )


def _columns(measured: pd.DataFrame) -> dict[tuple[str, str, str], tuple[str, str]]:
    """(measure, dataset, head) -> the column's name and its header."""
    columns = {}
    for measure, block in measured.groupby("measure", sort=False):
        several = [key for key in COLUMN[1:] if block[key].nunique() > 1]
        for row in block.drop_duplicates(COLUMN).to_dict("records"):
            is_named = limit_of(row["dataset"]) or SENTENCE in row["dataset"].split("-")
            shown = dict.fromkeys([*several, *(["dataset"] if is_named else [])])
            about = [row[key] for key in shown if row[key] != NA]
            name, header = "_".join([measure, *about]), " ".join([row["label"], ", ".join(about)]).strip()
            columns[tuple(row[key] for key in COLUMN)] = name, header
    return columns


def _caption(task: str, measured: pd.DataFrame, empty: pd.DataFrame, left_out: list[str]) -> list[str]:
    models = "encoders as pre-trained" if task == NA else f"encoders fine-tuned on {task}"
    sentences = [
        f"Scores of {models}: a row is a method, a column is a measure, and a score is the mean over seeds. matrix.csv "
        "adds n, intervals, and the score of the untouched model on the same seeds."
    ]
    better: dict[str, dict[str, None]] = {}
    for row in measured.drop_duplicates("measure").itertuples():
        how = _BETTER.get(row.better, f"Nearer to {row.neutral:g} is better")
        better.setdefault(how, {})[row.label] = None
    sentences += [f"{how}: {', '.join(labels)}." for how, labels in better.items()]
    sentences += limited(measured["dataset"]) + criticisms(measured["measure"])
    for note, block in measured[measured["note"] != ""].groupby("note", sort=False):
        left = f"{note}, so much of the bias there may stay; a method with fitted_to: task (or pairs) is fitted there"
        said = left if note.endswith(ELSEWHERE) else note
        sentences.append(f"{_listed(block['method'])} in {_listed(block['label'])}: {said}.")
    for caution, block in measured[measured["caution"] != ""].groupby("caution", sort=False):
        sentences.append(f"{_listed(block['label'])} ({_listed(block['method'])}) must be read with care: {caution}.")
    for reason, block in empty.groupby("reason", sort=False):
        sentences.append(f"{_listed(block['encoder'])} has no score of {_listed(block['label'])}: {reason}.")
    if left_out:
        sentences.append(f"{', '.join(left_out)}: more than {SETTINGS} settings, which are in matrix.csv only.")
    return sentences


def _listed(names: pd.Series) -> str:
    return ", ".join(dict.fromkeys(names))
