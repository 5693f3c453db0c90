"""GLUE (Wang et al. 2019): readers of the hub's Parquet, of the original tables, and of tables without a header."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import sha256
from biasflow.corpora.nli import LABELS, NO_GOLD_LABEL, gold_labels, in_one_line
from biasflow.corpora.records import columns_of, read_records, refuse

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GlueTask:
    """One task: its text columns, and its classes in the order of the hub's numbers (none for a score)."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]


_SENTENCES = ("sentence1", "sentence2")
_ENTAILED = ("entailment", "not_entailment")

# By the hub's names of the configurations.
TASKS = {
    "cola": GlueTask(("sentence",), ("unacceptable", "acceptable")),
    "sst2": GlueTask(("sentence",), ("negative", "positive")),
    "mrpc": GlueTask(_SENTENCES, ("not_equivalent", "equivalent")),
    "stsb": GlueTask(_SENTENCES, ()),
    "qqp": GlueTask(("question1", "question2"), ("not_duplicate", "duplicate")),
    "mnli": GlueTask(("premise", "hypothesis"), LABELS),
    "qnli": GlueTask(("question", "sentence"), _ENTAILED),
    "rte": GlueTask(_SENTENCES, _ENTAILED),
    "wnli": GlueTask(_SENTENCES, _ENTAILED[::-1]),
}
SCORE_RANGE = (0.0, 5.0)  # of STS-B's gold scores

# How many examples the hub's parts have.
SIZES = {
    "cola": {"train": 8551, "validation": 1043},
    "sst2": {"train": 67349, "validation": 872},
    "mrpc": {"train": 3668, "validation": 408},
    "stsb": {"train": 5749, "validation": 1500},
    "qqp": {"train": 363846, "validation": 40430},
    "mnli": {"train": 392702, "validation_matched": 9815, "validation_mismatched": 9832},
    "qnli": {"train": 104743, "validation": 5463},
    "rte": {"train": 2490, "validation": 277},
    "wnli": {"train": 635, "validation": 71},
}
LABEL = "label"  # the hub's name of the gold column, and ours
# The names of text(s) and label in the original distribution, where they are not the hub's.
ORIGINAL = {
    "mrpc": ("#1 String", "#2 String", "Quality"),
    "stsb": ("sentence1", "sentence2", "score"),
    "qqp": ("question1", "question2", "is_duplicate"),
    "mnli": ("sentence1", "sentence2", "gold_label"),
}
# The columns of tables that have no header.
HEADERLESS = {
    "cola": ("source", LABEL, "mark", "sentence"),
    "stsb": ORIGINAL["stsb"],
    "wnli": ("index", "sentence1", "sentence2", LABEL),
}


@dataclass(frozen=True)
class GlueData:
    """Examples of a part, how many more had no gold label, and how many the whole part has (SIZES).

    examples: the task's text columns (TASKS) and `label`, a class name, for STS-B a score in [0, 5]."""

    examples: pd.DataFrame
    dropped: int
    published: int


def read_glue(task: str, part: str, paths: Sequence[str | Path]) -> GlueData:
    """Read a part (train, validation; for MNLI validation_matched, validation_mismatched) from one or more files.

    The files' examples are put one after the other; a file that is the same as an earlier one, byte for byte, is read
    once (one upstream file may stand for two files of a mirror). Examples without a gold label (-1, "-") are left out
    and counted. Fewer examples than the part has are logged as a warning.

    The content tells a file's format: Parquet (as on the hub); a table with the hub's column names, those of the
    original distribution (ORIGINAL), or without a header (HEADERLESS). In a published table with tabs quotes are plain
    characters. A label is
    a class name or its number. Texts stay as they are, but a line break within one becomes a space.

    BiasflowError: a file that cannot be read; the file, its line (of Parquet: row; both from
    1) and the column where a column, text or label is missing or the label is unknown; more examples than the part
    has; a class that no training example has."""
    entry, paths = TASKS[task], [Path(path) for path in paths]
    read = [_examples(path, entry, _raw(path, task)) for path in _distinct(paths)]
    examples = pd.concat([examples for examples, _ in read], ignore_index=True)
    data = GlueData(examples, dropped=sum(dropped for _, dropped in read), published=SIZES[task][part])
    _check(f"{task}: {', '.join(map(str, paths))}", part, data, entry.labels)
    return data


def _check(where: str, part: str, data: GlueData, labels: Iterable[str]) -> None:
    total = len(data.examples) + data.dropped
    if total > data.published:
        raise BiasflowError(
            f"{where}: {total} examples, but part {part} has {data.published}; was a file of another part named?"
        )
    if data.examples.empty:
        raise BiasflowError(
            f"{where}: no example has a gold label (those of the test part are secret); name another part."
        )
    absent = [label for label in labels if label not in set(data.examples[LABEL])]
    if part == "train" and absent:
        raise BiasflowError(f"{where}: no training example of class {absent[0]}; check the file.")
    if total < data.published:
        log.warning("%s: %d of the %d examples of part %s", where, total, data.published, part)


def _distinct(paths: Sequence[Path]) -> list[Path]:
    """The paths whose content is not that of an earlier one."""
    distinct: dict[str, Path] = {}
    try:
        for path in paths:
            distinct.setdefault(sha256(path), path)
        return list(distinct.values())
    except OSError as error:
        raise BiasflowError(f"{error.filename}: cannot be read: {error.strerror}.") from error


def _raw(path: Path, task: str) -> pd.DataFrame:
    """Text(s) and label under our names, the values as the file has them; the index, "line" or "row", is the place."""
    names = (*TASKS[task].texts, LABEL)
    namings = [names, *([ORIGINAL[task]] if task in ORIGINAL else [])]
    headerless = HEADERLESS.get(task, ())

    def without_header(first: list[str]) -> Sequence[str] | None:
        known = any(set(naming).issubset(first) for naming in namings)
        return headerless if len(first) == len(headerless) and not known else None

    wanted = {name for naming in namings for name in naming}
    # The publisher's tables have no quoting, and no column idx, which the hub's have, whoever wrote them as a table.
    table = read_records(path, wanted, headerless=without_header, quoted=lambda names: "idx" in names)
    return table[list(columns_of(path, table, *namings))].set_axis(names, axis=1)


def _examples(path: Path, entry: GlueTask, raw: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Check texts and labels, spell the labels as we do; the examples with a gold label, and how many have none."""
    for column in entry.texts:
        refuse(path, raw[column], ~raw[column].map(lambda text: isinstance(text, str)), "is no text")
    # A question of QQP may be empty, so only an example without any text is wrong.
    empty = ~raw[list(entry.texts)].map(lambda text: bool(text.strip())).any(axis=1)
    refuse(path, raw[entry.texts[-1]], empty, "is empty")
    labels = gold_labels(path, raw[LABEL], entry.labels) if entry.labels else _gold_scores(path, raw[LABEL])
    gold = labels != NO_GOLD_LABEL
    examples = raw[[*entry.texts]].apply(in_one_line)[gold]
    examples[LABEL] = labels[gold].astype("str" if entry.labels else float)
    return examples.reset_index(drop=True), int((~gold).sum())


def _gold_scores(path: Path, column: pd.Series) -> pd.Series:
    """Scores in [0, 5]; -1, which no score is, stands for none."""
    scores = pd.to_numeric(column, errors="coerce")
    low, high = SCORE_RANGE
    refuse(path, column, ~(scores.between(low, high) | (scores == -1)), f"is no score from {low:g} to {high:g}")
    return scores.astype(object).mask(scores == -1, NO_GOLD_LABEL)
