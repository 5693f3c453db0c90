"""How many decisions of a classifier change when the words for one gender are exchanged for those of the other, and in
which direction its probabilities move, beside a control in which words are exchanged that tell no gender."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
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
MATCHED = "-matched"  # of these, the texts in which both exchange as many words
LEAST = 10  # texts with a word of gender
ORIGINAL, SWAPPED = "original", "swapped"  # versions of a text in the table (tasks.classification.given)


def score(path: str | Path, *, texts: str | Path) -> pd.DataFrame:
    """Return the scores of a readout of `predictions` of a classifier that is given: the columns of a summary with
    method, setting and head.

    texts: the table of `tasks.classification.given.with_copies`. Of the texts with a word of gender (the others are
    left out; `gendered_texts` is their share of the tested ones, and n the number of these):

        flips               share whose label changes; variant control: of the texts in which neutral words can be
                            exchanged, the share whose label changes then; variant paired: the share of the same texts
                            whose label changes with the words of gender; control-matched, paired-matched: of the texts
                            in which as many words are exchanged in both
        flips_p             one-sided p of paired above control: exact, of the texts that change by one of both alone
        words_exchanged     how many words are, on average: by gender, in the control (variant control), and by gender
                            in the texts of the control (paired)
        probability_change  mean |difference| of the probability of the label that the text has; variant control
        he_minus_she        by label (part): mean probability in the version that speaks of a man minus that in the one
                            that speaks of a woman
        moved_to            by label (part): share of texts that have the label in the version of the variant (he, she)
                            alone
        accuracy_tested     share of right labels of all tested texts
        tpr                 by label (part) and gender (variant): true positive rate of the tested texts that are
                            compared; tpr_gap: women's minus men's; none for a label of one gender
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
            scores += _means({("decisions_kept", NA, NA): labels[:n] == untouched})
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
    """The rows of SUMMARY of one classifier. versions [m]: version, of, says, exchanged; labels [m]: numbers of
    predicted classes; probabilities [m, classes]; gold [originals]: right ones, or None."""
    kind, of, says, words = (versions[name].to_numpy() for name in ("version", "of", "says", "exchanged"))
    originals, swapped, control = (np.flatnonzero(kind == one) for one in (ORIGINAL, SWAPPED, CONTROL))
    n, before = len(originals), labels[of]
    flipped, moved = labels != before, np.abs(probabilities[np.arange(len(of)), before] - probabilities[of, before])
    copies = np.zeros(n, dtype=int)
    copies[of[swapped]] = swapped
    paired = copies[of[control]]
    of_swapped = {
        ("flips", NA, NA): flipped[swapped],
        ("probability_change", NA, NA): moved[swapped],
        ("words_exchanged", NA, NA): words[swapped],
    }
    of_control = {
        ("flips", NA, CONTROL): flipped[control],
        ("flips", NA, PAIRED): flipped[paired],
        ("probability_change", NA, CONTROL): moved[control],
        ("words_exchanged", NA, CONTROL): words[control],
        ("words_exchanged", NA, PAIRED): words[paired],
    }
    as_many = words[paired] == words[control]
    of_matched = {
        ("flips", NA, CONTROL + MATCHED): flipped[control[as_many]],
        ("flips", NA, PAIRED + MATCHED): flipped[paired[as_many]],
    }
    of_man = says[swapped] == MALE
    he, she = np.where(of_man, of[swapped], swapped), np.where(of_man, swapped, of[swapped])
    for number, name in enumerate(classes):
        of_swapped["he_minus_she", name, NA] = probabilities[he, number] - probabilities[she, number]
        is_he, is_she = labels[he] == number, labels[she] == number
        of_swapped["moved_to", name, "he"], of_swapped["moved_to", name, "she"] = is_he & ~is_she, is_she & ~is_he
    shares = [("gendered_texts", NA, NA, len(swapped) / n), ("gendered_texts", NA, CONTROL, len(control) / n)]
    shares.append(("largest_label_share", NA, NA, np.bincount(labels[:n]).max() / n))
    of_labels: list[tuple] = []
    if gold is not None:
        right = labels == gold[of]
        of_swapped["accuracy_swapped", NA, NA] = right[swapped]
        of_swapped["accuracy_change", NA, NA] = right[swapped].astype(int) - right[of[swapped]]
        of_majority = zip(("majority_share", "majority_p"), majority(np.bincount(gold), right[:n].sum()), strict=True)
        shares += [(name, NA, NA, float(value)) for name, value in of_majority]
        of_labels = [*_means({("accuracy_tested", NA, NA): right[:n]}), *_gaps(versions[:n], right[:n], gold, classes)]
    result = [row for columns in (of_swapped, of_control, of_matched) for row in _means(columns)]
    if len(control):
        alone, others = (int((one & ~other).sum()) for one, other in permutations((flipped[paired], flipped[control])))
        p = bdtrc(alone - 1, alone + others, 0.5) if alone else 1.0  # of as many heads of as many fair coins
        result.append(("flips_p", NA, NA, float(p), len(control), *NOWHERE))
    return result + [(*share, n, *NOWHERE) for share in shares] + of_labels


def _means(columns: Mapping[tuple[str, str, str], np.ndarray]) -> Iterator[tuple]:
    """The rows of means of columns of the same texts; none without texts."""
    if n := len(next(iter(columns.values()))):
        sums = in_groups(np.column_stack([*columns.values(), np.ones(n)]))

        def means(counts: np.ndarray) -> np.ndarray:
            return np.divide(*np.split(counts @ sums, [-1], axis=1))

        drawn = zip(*interval(means, np.arange(len(sums))), strict=True)
        for (key, values), (low, high, resampled) in zip(columns.items(), drawn, strict=True):
            low, high = share_interval(values.sum(), n) if values.dtype == bool else (low, high)
            yield *key, values.mean(), n, low, high, resampled


def _gaps(texts: pd.DataFrame, right: np.ndarray, gold: np.ndarray, classes: Sequence[str]) -> Iterator[tuple]:
    """The rows of `tpr` and `tpr_gap`; the gap's interval is that of two independent shares (Newcombe 1998, method 10),
    from Jeffreys' intervals of both."""
    compared, genders = texts["compared"].to_numpy(), texts["gender"].to_numpy()
    for number, name in enumerate(classes):
        hits = [right[compared & (gold == number) & (genders == gender)] for gender in (FEMALE, MALE)]
        if all(map(len, hits)):
            rates = [(of.mean(), len(of), *share_interval(of.sum(), len(of))) for of in hits]
            yield from (
                ("tpr", name, gender, *rate, np.nan) for gender, rate in zip((FEMALE, MALE), rates, strict=True)
            )
            (she, women, she_low, she_high), (he, men, he_low, he_high) = rates
            ends = she - he - np.hypot(she - she_low, he_high - he), she - he + np.hypot(she_high - she, he - he_low)
            yield "tpr_gap", name, NA, she - he, women + men, *ends, np.nan
