"""The sentences of gender-swapped triples (files of corpora/stereoset.py), one row each, and a user's triples swapped.
Imports no torch."""

from pathlib import Path

import pandas as pd

from biasflow.base.left_out import leave_out
from biasflow.base.tabular import read_text_csv
from biasflow.corpora.stereoset import own_triples
from biasflow.text.gender_swap import swap_stimuli

UNIT = ("triple",)  # whose rows a limited sample keeps together
_KEYS = ["triple", "label"]


def sentence_pairs(stimuli: pd.DataFrame) -> pd.DataFrame:
    """Originals, then swapped copies, one row per pair: triple, label (of the original), swapped, first, second."""
    original = stimuli[[*_KEYS, "context", "next_sentence"]].set_axis([*_KEYS, "first", "second"], axis=1)
    swapped = stimuli[[*_KEYS, "swapped_context", "swapped_next_sentence"]].set_axis(original.columns, axis=1)
    both = pd.concat([original.assign(swapped=False), swapped.assign(swapped=True)], ignore_index=True)
    return both[[*_KEYS, "swapped", "first", "second"]]


def items(stimuli: str | Path, *, name: str) -> pd.DataFrame:
    """The sentences that a user's probabilities are joined to: those of `sentence_pairs` with the columns context and
    next_sentence, and set, their name."""
    pairs = sentence_pairs(read_text_csv(stimuli)).rename(columns={"first": "context", "second": "next_sentence"})
    return pairs.assign(set=name)


def own_stimuli(path: str | Path) -> pd.DataFrame:
    """Return a user's triples (`corpora.stereoset.own_triples`) with their gender-swapped copies. A triple without a
    word of a gender equals its copy, and is left out (base.left_out)."""
    stimuli = swap_stimuli(own_triples(path))
    alike = stimuli["gender"].isna()
    reasons = {f"item {triple}": "has no word of a gender" for triple in stimuli["triple"][alike].unique()}
    leave_out(path, reasons, stimuli["triple"].nunique())
    return stimuli[~alike].reset_index(drop=True)
