"""Coreference F1, and its difference between genders (the formulas of F1 stand with the task, which uses them, too)."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.corpora.conll import Clusters, Document, read_conll, without_singletons
from biasflow.readouts.predicted_clusters import TEST, load_clusters
from biasflow.results.bootstrap import RESAMPLED, Interval, interval
from biasflow.tasks.coreference.f1 import METRICS as METRICS
from biasflow.tasks.coreference.f1 import agreement as agreement
from biasflow.tasks.coreference.f1 import conll_average
from biasflow.tasks.coreference.f1 import conll_f1 as conll_f1


def score(path: str | Path, *, test: str | Path) -> pd.DataFrame:
    """Return the F1 of every head under every method on the documents of a CoNLL file, from a file of
    `readouts.clusters`.

    Columns method, setting, head, head_seed, metric, value (in [0, 1]), n (documents), low, high (bootstrap over
    documents), resampled. Metrics: conll_f1, and muc_f1, b_cubed_f1, ceafe_f1, lea_f1. Clusters of one mention are left
    out on both sides. BiasflowError names a file that is no such table, or has other documents."""
    documents = read_conll(test).documents
    predicted = load_clusters(path, TEST, len(documents))
    scores = f1_scores(document_counts(documents, predicted.answers)[predicted.places])
    rows = [
        predicted.heads.assign(metric=metric, value=value, **ends._asdict() | {RESAMPLED: list(ends.resampled)})
        for metric, (value, ends) in scores.items()
    ]
    return pd.concat(rows, ignore_index=True).assign(n=len(documents))


def f1_scores(counts: np.ndarray) -> dict[str, tuple[np.ndarray, Interval]]:
    """Return conll_f1 and the F1 of all METRICS, by name, each with its bootstrap interval over documents.

    All are arrays [heads]; counts [heads, documents, METRICS, 4] as of `document_counts`."""

    def named(sums: np.ndarray) -> np.ndarray:
        return np.concatenate([conll_average(sums)[..., None], agreement(sums).f1], axis=-1)

    value = named(counts.sum(axis=1))
    ends = interval(lambda drawn: named(np.tensordot(drawn, counts, axes=(1, 1))), np.arange(counts.shape[1]))
    names = ["conll_f1", *(f"{metric}_f1" for metric in METRICS)]
    return {
        name: (value[:, number], Interval(*(side[:, number] for side in ends))) for number, name in enumerate(names)
    }


def document_counts(documents: Sequence[Document], predicted: Iterable[tuple[int, Clusters]]) -> np.ndarray:
    """Return the counts behind the F1 of predictions, [predictions, METRICS, 4], without clusters of one mention.

    predicted: for each prediction the number of a document and the clusters that were predicted in it."""
    numbers, clusters = zip(*predicted, strict=True)
    gold = [without_singletons(document.clusters) for document in documents]
    return conll_f1(
        [gold[number] for number in numbers],
        [without_singletons(mentions) for mentions in clusters],
        names=[documents[number].name for number in numbers],
    ).per_document


def f1_difference(pro: ArrayLike, anti: ArrayLike) -> tuple[np.ndarray, Interval]:
    """Return 100 * (CoNLL F1 on the pro-stereotypical documents - CoNLL F1 on the anti-stereotypical ones), in points,
    and its interval.

    pro, anti: `conll_f1(...).per_document` [..., n, METRICS, 4], row by row the two documents of a pair; leading axes
    are predictions of the same pairs, scored separately. The interval is the percentile bootstrap over
    pairs: each resample draws n pairs with replacement, and takes both F1s from the sums of its counts.

    Sources: Zhao et al. (2018), Orgad et al. (2022, section 3.2)."""
    sides = np.asarray(pro, dtype=float), np.asarray(anti, dtype=float)

    def difference(drawn: np.ndarray) -> np.ndarray:
        pro, anti = (100 * conll_average(np.tensordot(drawn, counts, axes=(1, -3))) for counts in sides)
        return pro - anti

    n = sides[0].shape[-3]
    return difference(np.ones((1, n)))[0], interval(difference, np.arange(n))
