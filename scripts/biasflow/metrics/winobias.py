"""WinoBias by gold and predicted clusters: whom a system takes the pronoun for, and if that depends on its gender.

A sentence has a gold profession y and a gender z, that of its pronoun. The profession that is found with the pronoun in
the predicted clusters is its predicted class r, or "None": so coreference is a classification of 41 classes, of which
`metrics.fairness` knows the measures. Clusters are tuples of spans (first, last word) of each sentence's document.

Source: Orgad et al. (2022, section 3.2 and appendix A.4) and their released code."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError, check_choice
from biasflow.base.genders import FEMALE
from biasflow.base.tabular import read_text_csv
from biasflow.corpora.conll import Clusters, Span
from biasflow.corpora.winobias import PRONOUNS, Sentence, professions, professions_in, read_pairs
from biasflow.metrics import fairness
from biasflow.metrics.coreference import document_counts, f1_difference, f1_scores
from biasflow.metrics.occupation import LABOUR, NA, Tables, occupation_rows
from biasflow.readouts.predicted_clusters import ANTI, PRO, load_clusters
from biasflow.results.bootstrap import share_interval

NONE = "None"
READINGS = ("tokens", "released")
# What stands in the predicted cluster of the gold pronoun: the gold profession only, others only, it and others, none.
KINDS = ("right", "other", "both", "none")
SIDES = (PRO, ANTI)
ALL = "all"  # pairs of every type

Reading = Literal["tokens", "released"]


def score(path: str | Path, *, pro: str | Path, anti: str | Path, pairs: str | Path) -> pd.DataFrame:
    """Whether the clusters that every head predicts under every method depend on gender, from a file of
    `readouts.clusters`: columns method, setting, head, head_seed, metric, part, variant, value, n, low, high.

    pro, anti: CoNLL files, row by row the two documents of a pair; pairs: a table of them with a column `type`.

        f1_difference     in points; part: "all", and each type; n: pairs
        conll_f1          in [0, 1]; part: "pro", "anti"
        pronoun_accuracy  part: KINDS; variant: "pro", "anti"
        all of `occupation.occupation_rows` but its variants of shares: of both sides, whose classes are `classes`, with
        US labour statistics; variant: "tokens" or "released" (`predicted_professions`), alone or as "tokens-absdiff"

    low, high: over pairs (F1), and over sentences. BiasflowError: what `read_pairs` and `load_clusters` refuse, and a
    table of another number of pairs."""
    read = read_pairs(pro, anti)
    n, types = len(read), read_text_csv(pairs)["type"]
    if len(types) != n:
        raise BiasflowError(f"{pairs}: {len(types)} pairs, but {n} in {pro}; prepare the task's data again.")
    sentences = {side: [getattr(pair, side) for pair in read] for side in SIDES}
    predicted = {side: load_clusters(path, side, n) for side in SIDES}
    heads = predicted[PRO].heads
    if not heads.equals(predicted[ANTI].heads):
        raise BiasflowError(f"{path}: the heads of {PRO} are not those of {ANTI}; predict them again.")

    def by_head(side: str, of_predictions: Callable[..., Sequence], **options) -> np.ndarray:
        """What a function says of the predictions of a side: [heads, n]."""
        numbers, clusters = zip(*predicted[side].found, strict=True)
        values = of_predictions([sentences[side][number] for number in numbers], clusters, **options)
        return np.asarray(values)[predicted[side].places]

    counts = {
        side: document_counts([each.document for each in sentences[side]], its.found)[its.places]
        for side, its in predicted.items()
    }
    rows = []
    for part in (ALL, *types.unique()):
        chosen = ((types == part) | (part == ALL)).to_numpy()
        found = f1_difference(*(counts[side][:, chosen] for side in SIDES))
        interval = {"low": found.low, "high": found.high, "n": found.n}
        rows.append(heads.assign(metric="f1_difference", part=part, value=found.value, **interval))
    for side in SIDES:
        value, low, high = f1_scores(counts[side])["conll_f1"]
        rows.append(heads.assign(metric="conll_f1", part=side, value=value, n=n, low=low, high=high))
        kinds, about = by_head(side, pronoun_kinds), {"metric": "pronoun_accuracy", "variant": side, "n": n}
        for kind in KINDS:
            hits = (kinds == kind).sum(axis=1)
            low, high = share_interval(hits, n)
            rows.append(heads.assign(part=kind, value=hits / n, low=low, high=high, **about))
    for reading in READINGS:
        found = np.concatenate([by_head(side, predicted_professions, reading=reading) for side in SIDES], axis=1)
        gaps = class_rows(class_counts([*sentences[PRO], *sentences[ANTI]], found), reading)
        rows.append(heads.iloc[gaps.pop("classifier")].reset_index(drop=True).join(gaps))
    return pd.concat(rows, ignore_index=True).fillna({"part": NA, "variant": NA})


def class_rows(counts: np.ndarray, reading: Reading) -> pd.DataFrame:
    """`occupation.occupation_rows` of counts [C, 2, 41, 41] of predictions in a reading, which becomes the variant."""
    tables = Tables(counts, profession_gaps, profession_separation)
    rows = occupation_rows(tables, shares={LABOUR: professions()["share_of_women"]})
    others = rows["variant"].replace(LABOUR, NA)
    return rows.assign(variant=np.where(others == NA, reading, f"{reading}-" + others))


@functools.cache
def classes() -> tuple[str, ...]:
    """The 40 professions and "None", in the order of ASCII: CEO, None, accountant, ..."""
    return tuple(sorted([*professions().index, NONE]))


def pronoun_kinds(sentences: Sequence[Sentence], clusters: Sequence[Clusters]) -> list[str]:
    """Who stands with the pronoun of each sentence, of KINDS, by the predicted clusters of its document.

    Of a sentence with two gold pronouns both must stand with the same professions; else it is `none`. BiasflowError for
    no sentences, or another number of predictions."""
    found = _checked(sentences, clusters, professions_with_pronoun)
    return [_kind(sentence.profession, names) for sentence, names in zip(sentences, found, strict=True)]


def _kind(profession: str, found: frozenset[str]) -> str:
    if profession in found:
        return "both" if len(found) > 1 else "right"
    return "other" if found else "none"


def predicted_professions(
    sentences: Sequence[Sentence], clusters: Sequence[Clusters], *, reading: Reading = "tokens"
) -> list[str]:
    """The class of each sentence by the predicted clusters of its document: a profession, or "None".

    reading  "tokens": the one profession that stands, in whole words and any case, in the other mentions of the cluster
                 that holds the gold pronoun; "None" for no such cluster, no profession or several, and where two gold
                 pronouns differ in theirs.
             "released": of the last cluster in which exactly one pair of a mention and a profession matches and some
                 mention matches some pronoun, whichever; what matches is a piece of the mention's text without blanks
                 ("teacher" matches he). "None" for no such cluster.

    BiasflowError for another reading, no sentences, or another number of predictions."""
    check_choice("WinoBias: reading", reading, READINGS)
    if reading == "released":
        return _checked(sentences, clusters, _released)
    found = _checked(sentences, clusters, professions_with_pronoun)
    return [next(iter(each)) if len(each) == 1 else NONE for each in found]


def class_counts(sentences: Sequence[Sentence], predicted: ArrayLike) -> np.ndarray:
    """How often each class is predicted, by gender and gold profession: `fairness.counts` of `classes`, [2, 41, 41].

    predicted: the class of each sentence [n], or [..., n] by many heads, which give [..., 2, 41, 41]."""
    number, predicted = pd.Index(classes()), np.asarray(predicted)
    return fairness.counts(
        number.get_indexer([sentence.profession for sentence in sentences]),
        number.get_indexer(predicted.ravel()).reshape(predicted.shape),
        [int(sentence.gender == FEMALE) for sentence in sentences],
        n_classes=len(number),
    )


def profession_gaps(counts: np.ndarray) -> fairness.Gaps:
    """The rates of the 40 professions, [..., 2, 40] in the order of `professions()`, from counts [..., 2, 41, 41].

    "None" is a prediction like another where it is a miss or a rejection, but no class with a rate of its own: its
    false positive rate is the share of sentences without any profession, and would enter the sum of gaps."""
    gaps = fairness.gaps(counts)
    return fairness.Gaps(
        *(
            fairness.Rate(_of_professions(rate.values), _of_professions(rate.people))
            for rate in (gaps.tpr, gaps.fpr, gaps.precision)
        )
    )


def profession_separation(counts: np.ndarray) -> fairness.Distances:
    """`fairness.separation_distances` of the 40 gold professions, [..., 2, 40], from counts [..., 2, 41, 41] of which
    only the sentences count for which a profession is predicted.

    (Independence and sufficiency are of all sentences.)"""
    with_a_profession = np.where(np.array(classes()) == NONE, 0, counts)
    return fairness.Distances(_of_professions(fairness.separation_distances(with_a_profession).values))


def _of_professions(values: np.ndarray) -> np.ndarray:
    return values[..., np.array(classes()) != NONE]


def professions_with_pronoun(sentence: Sentence, clusters: Clusters) -> frozenset[str]:
    """The professions in the other mentions of the predicted cluster that holds the gold pronoun's own span.

    Of two gold pronouns both must have the same; else there are none."""
    found = {_beside(sentence.document.words, clusters, pronoun) for pronoun in sentence.pronouns}
    return found.pop() if len(found) == 1 else frozenset()


def _beside(words: tuple[str, ...], clusters: Clusters, pronoun: Span) -> frozenset[str]:
    cluster = next((cluster for cluster in clusters if pronoun in cluster), ())
    others = (words[first : last + 1] for first, last in cluster if (first, last) != pronoun)
    return frozenset().union(*map(_named, others))


def _released(sentence: Sentence, clusters: Clusters) -> str:
    last = NONE
    for cluster in clusters:
        mentions = ["".join(sentence.document.words[first : end + 1]) for first, end in cluster]
        found = [_in_pieces(each) for each in mentions]
        matches = [name for names, _ in found for name in names]
        if len(matches) == 1 and any(has_pronoun for _, has_pronoun in found):
            last = matches[0]
    return last


# The same mentions are looked at for every head under every method.
@functools.cache
def _named(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(professions_in(words))


@functools.cache
def _in_pieces(mention: str) -> tuple[tuple[str, ...], bool]:
    names = tuple(name for name in professions().index if name.replace(" ", "") in mention)
    return names, any(pronoun in mention for pronoun in PRONOUNS)


def _checked(sentences: Sequence[Sentence], clusters: Sequence[Clusters], of_one) -> list:
    """`of_one` sentence and its predicted clusters, for all of them."""
    if len(sentences) != len(clusters) or not len(sentences):
        raise BiasflowError(f"WinoBias: {len(sentences)} sentences and {len(clusters)} predictions; give one each.")
    return [of_one(*pair) for pair in zip(sentences, clusters, strict=True)]
