"""WinoBias by gold and predicted clusters: whom a system takes the pronoun for, and if that depends on its gender.

A sentence has a gold profession y and a gender z, that of its pronoun. The profession that is found with the pronoun in
the predicted clusters is its predicted class r, or "None": so coreference is a classification of 41 classes, of which
`metrics.fairness` knows the measures. Clusters are tuples of spans (first, last word) of each sentence's document.

Source: Orgad et al. (2022, section 3.2 and appendix A.4) and their released code."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from scripts.biasflow.base.errors import BiasflowError, check_choice
from scripts.biasflow.corpora.conll import Clusters, Span
from scripts.biasflow.corpora.winobias import PRONOUNS, Sentence, professions, professions_in
from scripts.biasflow.metrics import fairness

NONE = "None"
READINGS = ("tokens", "released")

Reading = Literal["tokens", "released"]


@dataclass(frozen=True)
class PronounAccuracy:
    """Shares of n sentences, which sum to 1: what stands in the predicted cluster of the gold pronoun is the gold
    profession only (`right`), other professions only (`other`), it and others (`both`), or no profession (`none`)."""

    right: float
    other: float
    both: float
    none: float
    n: int


@functools.cache
def classes() -> tuple[str, ...]:
    """The 40 professions and "None", in the order of ASCII: CEO, None, accountant, ..."""
    return tuple(sorted([*professions().index, NONE]))


def pronoun_accuracy(sentences: Sequence[Sentence], clusters: Sequence[Clusters]) -> PronounAccuracy:
    """How often the pronoun of each sentence stands with its profession, by the predicted clusters of its document.

    Of a sentence with two gold pronouns both must stand with the same professions; else it counts as `none`.
    BiasflowError for no sentences, or another number of predictions."""
    found = _checked(sentences, clusters, professions_with_pronoun)
    right = [{sentence.profession} == each for sentence, each in zip(sentences, found, strict=True)]
    there = [sentence.profession in each for sentence, each in zip(sentences, found, strict=True)]
    some = [bool(each) for each in found]
    kinds = (right, np.less(there, some), np.less(right, there), np.logical_not(some))
    return PronounAccuracy(*(float(np.mean(kind)) for kind in kinds), n=len(sentences))


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


def class_counts(sentences: Sequence[Sentence], predicted: Sequence[str]) -> np.ndarray:
    """How often each class is predicted, by gender and gold profession: `fairness.counts` of `classes`, [2, 41, 41]."""
    number = {name: i for i, name in enumerate(classes())}
    return fairness.counts(
        [number[sentence.profession] for sentence in sentences],
        [number[name] for name in predicted],
        [int(sentence.gender == "F") for sentence in sentences],
        n_classes=len(number),
    )


def profession_gaps(counts: np.ndarray) -> fairness.Gaps:
    """The rates of the 40 professions, [..., 2, 40] in the order of `professions()`, from counts [..., 2, 41, 41].

    "None" is a prediction like another where it is a miss or a rejection, but no class with a rate of its own: its
    false positive rate is the share of sentences without any profession, and would enter the sum of gaps."""
    gaps = fairness.gaps(counts)
    kept = np.array([name != NONE for name in classes()])
    rates = (fairness.Rate(rate.values[..., kept]) for rate in (gaps.tpr, gaps.fpr, gaps.precision))
    return fairness.Gaps(*rates)


def with_a_profession(counts: np.ndarray) -> np.ndarray:
    """Counts [..., 2, 41, 41] of the sentences for which a profession is predicted: what separation is computed of.

    (Independence and sufficiency are of all sentences.)"""
    return np.where(np.array(classes()) == NONE, 0, counts)


def professions_with_pronoun(sentence: Sentence, clusters: Clusters) -> frozenset[str]:
    """The professions in the other mentions of the predicted cluster that holds the gold pronoun's own span.

    Of two gold pronouns both must have the same; else there are none."""
    found = {_beside(sentence.document.words, clusters, pronoun) for pronoun in sentence.pronouns}
    return found.pop() if len(found) == 1 else frozenset()


def _beside(words: tuple[str, ...], clusters: Clusters, pronoun: Span) -> frozenset[str]:
    cluster = next((cluster for cluster in clusters if pronoun in cluster), ())
    others = (words[first : last + 1] for first, last in cluster if (first, last) != pronoun)
    return frozenset(name for mention in others for name in professions_in(mention))


def _released(sentence: Sentence, clusters: Clusters) -> str:
    last = NONE
    for cluster in clusters:
        mentions = ["".join(sentence.document.words[first : end + 1]) for first, end in cluster]
        matches = [name for name in professions().index for each in mentions if name.replace(" ", "") in each]
        if len(matches) == 1 and any(pronoun in each for pronoun in PRONOUNS for each in mentions):
            last = matches[0]
    return last


def _checked(sentences: Sequence[Sentence], clusters: Sequence[Clusters], of_one) -> list:
    """`of_one` sentence and its predicted clusters, for all of them."""
    if len(sentences) != len(clusters) or not len(sentences):
        raise BiasflowError(f"WinoBias: {len(sentences)} sentences and {len(clusters)} predictions; give one each.")
    return [of_one(*pair) for pair in zip(sentences, clusters, strict=True)]
