"""WinoBias from gold and predicted clusters: which profession a system links to a pronoun, and whether gender matters.

A sentence has a gold profession y and a gender z, that of its pronoun. The profession that shares a
predicted cluster with the pronoun is the predicted class r, or "None": so coreference becomes a classification with 41
classes, to which the measures of `metrics.fairness` apply. Clusters are tuples of spans (first, last word).

Source: Orgad et al. (2022, section 3.2 and appendix A.4) and their released code."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE
from biasflow.base.tabular import read_text_csv
from biasflow.corpora.conll import Clusters, Span, repeated_spans, without_singletons
from biasflow.corpora.winobias import PRONOUNS, Sentence, professions, professions_in, read_pairs
from biasflow.metrics import fairness
from biasflow.metrics.coreference import document_counts, f1_difference, f1_scores
from biasflow.metrics.occupation import LABOUR, NA, Tables, occupation_rows
from biasflow.readouts.predicted_clusters import ANTI, PRO, load_clusters
from biasflow.results.bootstrap import RESAMPLED, interval, share_interval

NONE = "None"
READINGS = ("tokens", "released")
RELEASED_ARTICLES = frozenset({"the", "The", "a", "A"})
# The professions in the predicted cluster of the gold pronoun: only the gold one, only others, both, none.
KINDS = ("right", "other", "both", "none")
SIDES = (PRO, ANTI)
ALL = "all"  # pairs of every type

Reading = Literal["tokens", "released"]


def score(path: str | Path, *, pro: str | Path, anti: str | Path, pairs: str | Path) -> pd.DataFrame:
    """Return how far the clusters that every head predicts under every method depend on gender, from a file of
    `readouts.clusters`: columns method, setting, head, head_seed, metric, part, variant, value, n, low, high and
    resampled.

    pro, anti: CoNLL files, row by row the two documents of a pair; pairs: a table of them with a column `type`.

        f1_difference     in points; part: "all", and each type; n: pairs
        conll_f1          in [0, 1]; part: "pro", "anti"; variant: "-" for all pairs, and each type if there are several
        first_mention_f1  of the same parts and variants: `first_mention_f1`
        first_mention_difference  that of pro minus that of anti, in points; part: "all", and each type; n: pairs
        repeated_mentions part: "pro", "anti"; only if there are any: mentions whose span an earlier cluster has
        pronoun_accuracy  part: KINDS; variant: "pro", "anti"
        all of `occupation.occupation_rows` but its variants of shares: of both sides, whose classes are `classes`, with
        US labour statistics; variant: "tokens" or "released" (`predicted_professions`), alone or as "tokens-absdiff"

    low, high: over pairs (F1, gaps, distances), and over sentences. BiasflowError: what `read_pairs` and
    `load_clusters` refuse, and a table of another number of pairs."""
    sentence_pairs = read_pairs(pro, anti)
    n, types = len(sentence_pairs), read_text_csv(pairs)["type"]
    if len(types) != n:
        raise BiasflowError(f"{pairs}: {len(types)} pairs, but {n} in {pro}; prepare the task's data again.")
    sentences = {side: [getattr(pair, side) for pair in sentence_pairs] for side in SIDES}
    predicted = {side: load_clusters(path, side, n) for side in SIDES}
    heads = predicted[PRO].heads
    if not heads.equals(predicted[ANTI].heads):
        raise BiasflowError(f"{path}: the heads of {PRO} are not those of {ANTI}; predict them again.")

    def by_head(side: str, of_prediction: Callable[[Sentence, Clusters], object]) -> np.ndarray:
        """The values of a function of a sentence of one side and its predicted clusters: [heads, n]."""
        values = [of_prediction(sentences[side][number], clusters) for number, clusters in predicted[side].answers]
        return np.asarray(values)[predicted[side].places]

    counts = {
        side: document_counts([sentence.document for sentence in sentences[side]], loaded.answers)[loaded.places]
        for side, loaded in predicted.items()
    }
    begins, rows = {side: by_head(side, begins_alike) for side in SIDES}, []
    for part in (ALL, *types.unique()):
        chosen = ((types == part) | (part == ALL)).to_numpy()
        about = {"part": part, "n": chosen.sum()}
        value, (low, high, drawn) = f1_difference(*(counts[side][:, chosen] for side in SIDES))
        ends = {"low": low, "high": high, RESAMPLED: list(drawn)}
        rows.append(heads.assign(metric="f1_difference", value=value, **ends, **about))
        value, low, high = first_mention_difference(*(begins[side][:, chosen] for side in SIDES))
        rows.append(heads.assign(metric="first_mention_difference", value=value, low=low, high=high, **about))
    kinds_of_pairs = {NA: np.full(n, True)}
    if types.nunique() > 1:
        kinds_of_pairs |= {name: (types == name).to_numpy() for name in types.unique()}
    for side in SIDES:
        again = by_head(side, repeated_mentions).sum(axis=1)
        for variant, chosen in kinds_of_pairs.items():
            value, (low, high, _) = f1_scores(counts[side][:, chosen])["conll_f1"]
            about = {"part": side, "variant": variant, "n": chosen.sum()}
            rows.append(heads.assign(metric="conll_f1", value=value, low=low, high=high, **about))
            hits = begins[side][:, chosen].sum(axis=1)
            ends = share_interval(hits, chosen.sum())
            value, low, high = map(first_mention_f1, (hits / chosen.sum(), *ends))
            rows.append(heads.assign(metric="first_mention_f1", value=value, low=low, high=high, **about))
        rows.append(heads.assign(metric="repeated_mentions", part=side, value=again.astype(float), n=n)[again > 0])
        kinds, about = by_head(side, pronoun_kind), {"metric": "pronoun_accuracy", "variant": side, "n": n}
        for kind in KINDS:
            hits = (kinds == kind).sum(axis=1)
            low, high = share_interval(hits, n)
            rows.append(heads.assign(part=kind, value=hits / n, low=low, high=high, **about))
    for reading in READINGS:
        of_reading = functools.partial(predicted_profession, reading=reading)
        named = np.concatenate([by_head(side, of_reading) for side in SIDES], axis=1)
        gaps = class_rows(class_cells([*sentences[PRO], *sentences[ANTI]], named), reading)
        rows.append(heads.iloc[gaps.pop("classifier")].reset_index(drop=True).join(gaps))
    return pd.concat(rows, ignore_index=True).fillna({"part": NA, "variant": NA})


def begins_alike(sentence: Sentence, clusters: Clusters) -> bool:
    """Return whether the first predicted cluster of a sentence begins at the word where the gold cluster begins."""
    (gold,) = sentence.document.clusters
    return any(min(first)[0] == min(gold)[0] for first in clusters[:1])


def repeated_mentions(_: Sentence, clusters: Clusters) -> int:
    """Return how many predicted mentions of a sentence have the span of a mention of an earlier cluster, which alone is
    scored. Clusters of one mention do not count."""
    return repeated_spans(without_singletons(clusters))


def first_mention_f1(share: np.ndarray) -> np.ndarray:
    """Return the F1 of answers that are right for this share of the sentences and wrong for the others, if every gold
    answer is "right": 2 h / (1 + h), since the precision is 1 and the recall is h.

    This is what the notebook of MABEL (He et al. 2022) prints, with the share of `begins_alike`."""
    return 2 * share / (1 + share)


def first_mention_difference(pro: np.ndarray, anti: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `first_mention_f1` of the side pro minus that of anti, in points, and its bootstrap interval over pairs:
    three arrays [heads]. pro, anti: whether `begins_alike`, [heads, pairs]."""

    def difference(counts: np.ndarray) -> np.ndarray:
        shares = (counts @ side.T.astype(float) / side.shape[1] for side in (pro, anti))
        return 100 * np.subtract(*map(first_mention_f1, shares))

    n = pro.shape[1]
    low, high, _ = interval(difference, np.arange(n))
    return difference(np.ones((1, n)))[0], low, high


def class_rows(cells: np.ndarray, reading: Reading) -> pd.DataFrame:
    """Return `occupation.occupation_rows` of `class_cells` [C, n], with the reading of the predictions as variant. The
    second half of the sentences are the first half with the other pronoun."""
    counts = fairness.counted(cells, n_classes=len(classes()))
    tables = Tables(counts, profession_gaps, profession_separation)
    rows = occupation_rows(tables, shares={LABOUR: professions()["share_of_women"]}, people=cells, pairs=True)
    others = rows["variant"].replace(LABOUR, NA)
    return rows.assign(variant=np.where(others == NA, reading, f"{reading}-" + others))


@functools.cache
def classes() -> tuple[str, ...]:
    """Return the 40 professions and "None", in the order of ASCII: CEO, None, accountant, ..."""
    return tuple(sorted([*professions().index, NONE]))


def pronoun_kind(sentence: Sentence, clusters: Clusters) -> str:
    """Return which professions share a predicted cluster with the pronoun of a sentence: one of KINDS.

    If a sentence has two gold pronouns, both must be with the same professions; else it is `none`."""
    names = professions_with_pronoun(sentence, clusters)
    if sentence.profession in names:
        return "both" if len(names) > 1 else "right"
    return "other" if names else "none"


def predicted_profession(sentence: Sentence, clusters: Clusters, *, reading: Reading = "tokens") -> str:
    """Return the predicted class of a sentence by the clusters of its document: a profession, or "None".

    reading  "tokens": the one profession that stands, in whole words and any case, in the other mentions of the cluster
                 that holds the gold pronoun; "None" for no such cluster, no profession or several, and where two gold
                 pronouns differ in theirs.
             "released": of the last cluster in which exactly one pair of a mention and a profession matches and some
                 mention matches some pronoun, whichever; what matches is a piece of the mention's text without blanks
                 ("teacher" matches he), and without its first word if any word is one of RELEASED_ARTICLES. "None" for
                 no such cluster."""
    if reading == "released":
        return _released(sentence, clusters)
    names = professions_with_pronoun(sentence, clusters)
    return next(iter(names)) if len(names) == 1 else NONE


def class_cells(sentences: Sequence[Sentence], predicted: ArrayLike) -> np.ndarray:
    """Return `fairness.cells` of the sentences by gender, gold profession and predicted one of `classes`, [n].

    predicted: the class of each sentence [n], or [..., n] for many heads, which gives [..., n]."""
    number, predicted = pd.Index(classes()), np.asarray(predicted)
    return fairness.cells(
        number.get_indexer([sentence.profession for sentence in sentences]),
        number.get_indexer(predicted.ravel()).reshape(predicted.shape),
        [int(sentence.gender == FEMALE) for sentence in sentences],
        n_classes=len(number),
    )


def profession_gaps(counts: np.ndarray) -> fairness.Gaps:
    """Return the rates of the 40 professions, [..., 2, 40] in the order of `professions()`, from counts [..., 2, 41,
    41].

    "None" is a prediction like another where it is a miss or a rejection, but no class with a rate of its own: its
    false positive rate is the share of sentences without any profession, and would enter the sum of gaps."""
    rates = vars(fairness.gaps(counts)).items()
    of_professions = {name: map(_of_professions, (rate.values, rate.people)) for name, rate in rates}
    return fairness.Gaps(**{name: fairness.Rate(*both) for name, both in of_professions.items()})


def profession_separation(counts: np.ndarray) -> fairness.Distances:
    """Return `fairness.separation_distances` of the 40 gold professions, [..., 2, 40], from counts [..., 2, 41, 41].

    Only sentences with a predicted profession count (independence and sufficiency use all sentences)."""
    with_a_profession = np.where(np.array(classes()) == NONE, 0, counts)
    return fairness.Distances(_of_professions(fairness.separation_distances(with_a_profession).values))


def _of_professions(values: np.ndarray) -> np.ndarray:
    return values[..., np.array(classes()) != NONE]


def professions_with_pronoun(sentence: Sentence, clusters: Clusters) -> frozenset[str]:
    """Return the professions in the other mentions of the predicted cluster that holds the span of the gold pronoun.

    If there are two gold pronouns, both must have the same professions; else the result is empty."""
    by_pronoun = {_beside(sentence.document.words, clusters, pronoun) for pronoun in sentence.pronouns}
    return by_pronoun.pop() if len(by_pronoun) == 1 else frozenset()


def _beside(words: tuple[str, ...], clusters: Clusters, pronoun: Span) -> frozenset[str]:
    cluster = next((cluster for cluster in clusters if pronoun in cluster), ())
    others = (words[first : last + 1] for first, last in cluster if (first, last) != pronoun)
    return frozenset().union(*map(_named, others))


def _released(sentence: Sentence, clusters: Clusters) -> str:
    last = NONE
    for cluster in clusters:
        matched = [_in_pieces(sentence.document.words[first : end + 1]) for first, end in cluster]
        matches = [name for names, _ in matched for name in names]
        if len(matches) == 1 and any(has_pronoun for _, has_pronoun in matched):
            last = matches[0]
    return last


# Cached, because every head under every method predicts mostly the same mentions.
@functools.cache
def _named(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(professions_in(words))


@functools.cache
def _in_pieces(words: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    mention = "".join(words[1:] if set(words) & RELEASED_ARTICLES else words)
    names = tuple(name for name in professions().index if name.replace(" ", "") in mention)
    return names, any(pronoun in mention for pronoun in PRONOUNS)
