"""Natural language inference: readers of SNLI (Bowman et al. 2015), MultiNLI (Williams et al. 2018) and our own CSV."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.corpora.records import columns_of, is_filled, read_records, refuse

LABELS = ("entailment", "neutral", "contradiction")  # in the order of the hub's numbers
TEXTS = ("premise", "hypothesis")
COLUMNS = (*TEXTS, "label")
NAMINGS = (COLUMNS, ("sentence1", "sentence2", "gold_label"))  # ours and the hub's; the original distributions'
NO_GOLD_LABEL = ""  # stands for "-" and -1: the annotators did not agree


@dataclass(frozen=True)
class NliData:
    """Pairs with a gold label (columns premise, hypothesis, label: one of LABELS) and how many had none."""

    pairs: pd.DataFrame
    dropped: int


def read_nli(path: str | Path) -> NliData:
    """Read sentence pairs; pairs without a gold label ("-" or -1) are left out and counted.

    The file's content tells its format: Parquet (as on the hub), JSON lines, or a table with a header. The columns are
    premise, hypothesis and label or sentence1, sentence2 and gold_label, others are ignored. With the latter, those of
    the original distributions, quotes in a table with tabs are plain characters, as published. A label is a word of
    LABELS or its number. The text stays as it is, but a line break within a sentence becomes a space. BiasflowError
    names the file, the line (of Parquet: the row; both from 1) and the column: a column or label missing, an unknown
    label, an empty sentence; or the file that has no pairs or cannot be read."""
    published = NAMINGS[1][2]
    table = read_records(
        path, {name for names in NAMINGS for name in names}, quoted=lambda names: published not in names
    )
    table = table[list(columns_of(path, table, *NAMINGS))]
    labels = gold_labels(path, table.iloc[:, 2], LABELS)
    gold = labels != NO_GOLD_LABEL
    if not gold.any():
        raise BiasflowError(f"{path}: no pairs with a gold label ({len(table)} without one); check the file.")
    for _, texts in table.loc[gold].iloc[:, :2].items():
        refuse(path, texts, ~texts.map(is_filled), "is empty or no text")
    pairs = table.set_axis(COLUMNS, axis=1).assign(label=labels)[gold].astype("str").reset_index(drop=True)
    pairs[[*TEXTS]] = pairs[[*TEXTS]].apply(in_one_line)
    return NliData(pairs, dropped=int((~gold).sum()))


def check_classes(data: NliData, name: str) -> None:
    """Raise BiasflowError unless every label occurs in the training data `name`: a class never seen is never
    predicted."""
    absent = [label for label in LABELS if label not in set(data.pairs["label"])]
    if absent:
        raise BiasflowError(
            f"{name}: no pair is labelled {', '.join(absent)}, so no model can learn it; train on data with all of "
            f"{', '.join(LABELS)}."
        )


def hold_out(pairs: pd.DataFrame, share: float, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split into training and validation pairs so that no premise is in both (most occur in three pairs or more).

    share: of the distinct premises, in (0, 1); at least one is held out and one kept. The same pairs, share and seed
    give the same split; both parts keep the order of `pairs`. BiasflowError: a single premise."""
    premises = pairs["premise"].unique()
    if len(premises) < 2:
        raise BiasflowError(f"held-out share of premises: cannot split {len(premises)} premise(s); give more pairs.")
    count = min(max(round(share * len(premises)), 1), len(premises) - 1)
    held_out = pairs["premise"].isin(np.random.default_rng(seed).permutation(premises)[:count])
    return pairs[~held_out].reset_index(drop=True), pairs[held_out].reset_index(drop=True)


def collect_parts(
    files: Mapping[str, Mapping[str, str | Path]], *, validation_share: float, seed: int
) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """The pairs of the parts train, validation and test, and a table that says where they are from.

    files: part -> name -> path; the files of a part are put one after the other. Where no validation file is named,
    `hold_out` takes that share of the training premises. The table has one row per part and file: part, source, pairs,
    dropped (without a gold label). BiasflowError as `read_nli`, and for a class absent from training."""
    read = {part: {name: read_nli(path) for name, path in named.items()} for part, named in files.items()}
    rows = [(part, name, len(data.pairs), data.dropped) for part, named in read.items() for name, data in named.items()]
    parts = {
        part: pd.concat([data.pairs for data in named.values()], ignore_index=True) for part, named in read.items()
    }
    if "validation" not in parts:
        sources = " and ".join(files["train"])
        dropped = sum(row[3] for row in rows if row[0] == "train")
        parts["train"], parts["validation"] = hold_out(parts["train"], validation_share, seed)
        rows = [row for row in rows if row[0] != "train"]
        rows = [
            ("train", f"{sources}, {1 - validation_share:.0%} of the premises", len(parts["train"]), dropped),
            ("validation", f"{sources}, the other premises", len(parts["validation"]), 0),
            *rows,
        ]
    check_classes(NliData(parts["train"], 0), " and ".join(files["train"]))
    return parts, sources_table(rows)


def sources_table(rows: Iterable[tuple[str, str, int, int]]) -> pd.DataFrame:
    """Return where the parts of NLI data are from: part, source, pairs, dropped."""
    return pd.DataFrame(rows, columns=["part", "source", "pairs", "dropped"])


def gold_labels(path: Path, column: pd.Series, labels: Sequence[str]) -> pd.Series:
    """The labels of a column of `read_records`, which has them by name or by their number in `labels`; NO_GOLD_LABEL
    for those that say that there is none. BiasflowError for an empty cell and any other value."""
    given = column.map(lambda value: "" if value is None else str(value).strip())
    known = {label: label for label in labels} | {str(number): label for number, label in enumerate(labels)}
    named = given.map(known | dict.fromkeys(("-", "-1"), NO_GOLD_LABEL))
    refuse(path, given, given == "", "is empty; give a label, or -1 where there is none")
    refuse(path, given, named.isna(), f"is none of {', '.join(known)}, - and -1")
    return named


def in_one_line(texts: pd.Series) -> pd.Series:
    """Texts with a space for every line break."""
    return texts.astype("str").str.replace(r"[\r\n]+", " ", regex=True)
