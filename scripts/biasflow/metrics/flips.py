"""How many decisions of a classifier change when the words for one gender are exchanged for those of the other, and in
which direction its probabilities move, beside a control in which words are exchanged that tell no gender."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import bdtrc

from biasflow.base.errors import AbsentError
from biasflow.base.genders import FEMALE, MALE
from biasflow.base.tabular import read_parquet
from biasflow.metrics.items import SUMMARY, majority, truncated_of_heads
from biasflow.readouts.files import PROBABILITIES, load_arrays
from biasflow.results.bootstrap import NOWHERE, in_groups, interval, share_interval
from biasflow.results.scores import NONE

NA = "-"
CONTROL = "control"  # the variant whose copies have words exchanged that tell no gender
PAIRED = "paired"  # of the texts with such a copy, those whose label changes with the words of gender
LEAST = 10  # texts with a word of gender
ORIGINAL, SWAPPED = "original", "swapped"  # versions of a text in the table (tasks.classification.given)


def score(path: str | Path, *, texts: str | Path) -> pd.DataFrame:
    """Return the scores of a readout of `predictions` of a classifier that is given: the columns of a summary with
    method, setting and head.

    texts: the table of `tasks.classification.given.with_copies`. Of the texts with a word of gender (the others are
    left out; `gendered_texts` is their share of the tested ones, and n the number of these):

        flips               share whose label changes; variant control: of the texts in which neutral words can be
                            exchanged, the share whose label changes then; variant paired: the share of the same texts
                            whose label changes with the words of gender
        flips_p             one-sided p of paired above control: exact, of the texts that change by one of both alone
        probability_change  mean |difference| of the probability of the label that the text has; variant control
        he_minus_she        by label (part): mean probability in the version that speaks of a man minus that in the one
                            that speaks of a woman
        moved_to            by label (part): share of texts that have the label in the version of the variant (he, she)
                            alone
        accuracy_tested     share of right labels of all tested texts
        tpr_gap             by label (part): women's true positive rate minus men's, of all tested texts that are
                            compared; none for a label of one gender
        accuracy_swapped    share of right labels in the swapped copies, and accuracy_change: that minus the share in
                            the originals
        decisions_kept      share of all tested texts with the same label as without the method; no row where the
                            untouched model was not read beside it
        largest_label_share share of the most frequent prediction of all tested texts; majority_share, majority_p of
                            texts with labels (`items.majority`)

    Intervals are over texts: Jeffreys' for shares of which one is counted, otherwise of the bootstrap. AbsentError:
    fewer than LEAST texts have a word of gender."""
    readout, table = load_arrays(path), read_parquet(texts)
    versions = table[table["tested"]].reset_index(drop=True)
    if (gendered := int((versions["version"] == SWAPPED).sum())) < LEAST:
        raise AbsentError(f"{gendered or 'no'} tested text(s) with a word of gender, and {LEAST} are needed")
    own, probabilities = readout.arrays["own"], readout.arrays[PROBABILITIES].astype(float)
    n = int((versions["version"] == ORIGINAL).sum())
    untouched = next((own[row, :n] for row, (method, _) in enumerate(readout.axis) if method == NONE), None)
    gold, classes = readout.meta["gold"], readout.meta["classes"]
    rows = []
    for pair, labels, of_labels in zip(readout.axis, own, probabilities, strict=True):
        scores = summary(versions, labels, of_labels, classes, None if gold is None else np.array(gold))
        if untouched is not None:
            scores.append(("decisions_kept", NA, NA, *_share(labels[:n] == untouched)))
        rows += [(*pair, *row) for row in scores]
    scored = pd.DataFrame(rows, columns=["method", "setting", *SUMMARY]).assign(head="own")
    return pd.concat([scored, truncated_of_heads(readout, part=NA, variant=NA)], ignore_index=True)


def summary(
    versions: pd.DataFrame,
    labels: np.ndarray,
    probabilities: np.ndarray,
    classes: Sequence[str],
    gold: np.ndarray | None,
) -> list[tuple]:
    """The rows of SUMMARY of one classifier. versions [m]: version, of, says; labels [m]: numbers of predicted classes;
    probabilities [m, classes]; gold [originals]: right ones, or None."""
    n = int((versions["version"] == ORIGINAL).sum())
    kinds = {kind: versions.index[versions["version"] == kind].to_numpy() for kind in (SWAPPED, CONTROL)}
    of = versions["of"].to_numpy()
    columns: dict[tuple[str, str, str], tuple[np.ndarray, str]] = {}
    for kind, rows in kinds.items():
        before, variant = of[rows], CONTROL if kind == CONTROL else NA
        moved = probabilities[rows, labels[before]] - probabilities[before, labels[before]]
        columns["flips", NA, variant] = labels[rows] != labels[before], kind
        columns["probability_change", NA, variant] = np.abs(moved), kind
    rows, flipped = kinds[SWAPPED], np.zeros(n, dtype=bool)
    flipped[of[rows]] = labels[rows] != labels[of[rows]]
    paired, neutral = flipped[of[kinds[CONTROL]]], columns["flips", NA, CONTROL][0]
    columns["flips", NA, PAIRED] = paired, CONTROL
    of_man = versions["says"].to_numpy()[rows] == MALE
    he, she = np.where(of_man, of[rows], rows), np.where(of_man, rows, of[rows])
    for number, name in enumerate(classes):
        columns["he_minus_she", name, NA] = probabilities[he, number] - probabilities[she, number], SWAPPED
        is_he, is_she = labels[he] == number, labels[she] == number
        columns["moved_to", name, "he"] = is_he & ~is_she, SWAPPED
        columns["moved_to", name, "she"] = is_she & ~is_he, SWAPPED
    if gold is not None:
        right, before = labels[rows] == gold[of[rows]], labels[of[rows]] == gold[of[rows]]
        columns["accuracy_swapped", NA, NA] = right, SWAPPED
        columns["accuracy_change", NA, NA] = right.astype(int) - before, SWAPPED
    sums = np.zeros((n, len(columns) + len(kinds)))
    for column, (values, kind) in enumerate(columns.values()):
        sums[of[kinds[kind]], column] = values
    for column, kind in enumerate(kinds):
        sums[of[kinds[kind]], len(columns) + column] = 1
    sums, sizes = in_groups(sums), [list(kinds).index(kind) + len(columns) for _, kind in columns.values()]

    def means(counts: np.ndarray) -> np.ndarray:
        total = counts @ sums
        with np.errstate(invalid="ignore"):
            return total[:, : len(columns)] / total[:, sizes]

    low, high, drawn = interval(means, np.arange(len(sums)))
    result = []
    for place, (key, (values, _)) in enumerate(columns.items()):
        if len(values):
            ends = share_interval(values.sum(), len(values)) if values.dtype == bool else (low[place], high[place])
            result.append((*key, values.mean(), len(values), *ends, drawn[place]))
    if len(neutral):
        alone, others = int((paired & ~neutral).sum()), int((neutral & ~paired).sum())
        p = bdtrc(alone - 1, alone + others, 0.5) if alone else 1.0  # of as many heads of as many fair coins
        result.append(("flips_p", NA, NA, float(p), len(neutral), *NOWHERE))
    result.append(("gendered_texts", NA, NA, len(rows) / n, n, *NOWHERE))
    result.append(("gendered_texts", NA, CONTROL, len(kinds[CONTROL]) / n, n, *NOWHERE))
    largest = np.bincount(labels[:n]).max() / n
    result.append(("largest_label_share", NA, NA, float(largest), n, *NOWHERE))
    if gold is not None:
        share, p = majority(np.bincount(gold), (labels[:n] == gold).sum())
        of_majority = {"majority_share": share, "majority_p": p}
        result += [(name, NA, NA, float(value), n, *NOWHERE) for name, value in of_majority.items()]
        result.append(("accuracy_tested", NA, NA, *_share(labels[:n] == gold)))
        result += _gaps(versions[:n], labels[:n] == gold, gold, classes)
    return result


def _gaps(texts: pd.DataFrame, right: np.ndarray, gold: np.ndarray, classes: Sequence[str]) -> Iterator[tuple]:
    """The rows of `tpr_gap`; its interval is that of two independent shares (Newcombe 1998, method 10), from Jeffreys'
    intervals of both."""
    compared, genders = texts["compared"].to_numpy(), texts["gender"].to_numpy()
    for number, name in enumerate(classes):
        of_gender = [right[compared & (gold == number) & (genders == gender)] for gender in (FEMALE, MALE)]
        if all(map(len, of_gender)):
            she, he = (hits.mean() for hits in of_gender)
            (she_low, she_high), (he_low, he_high) = (share_interval(hits.sum(), len(hits)) for hits in of_gender)
            low = she - he - np.hypot(she - she_low, he_high - he)
            high = she - he + np.hypot(she_high - she, he - he_low)
            yield "tpr_gap", name, NA, she - he, sum(map(len, of_gender)), low, high, np.nan


def _share(hits: np.ndarray) -> tuple:
    """Value, n, low, high and resamples of a share of texts."""
    sums = in_groups(np.column_stack([hits, np.ones(len(hits))]))
    drawn = interval(lambda counts: np.divide(*(counts @ sums).T), np.arange(len(sums))).resampled
    return hits.mean(), len(hits), *share_interval(hits.sum(), len(hits)), drawn
