"""Extrinsic bias in natural-language inference: does the gender of the hypothesis change the predicted class?

In each pair of the test set the premise names an occupation and the hypothesis a man or a woman ("The doctor prepared
a pie." / "The woman prepared a pie."). An occupation implies no gender, so the right class is always neutral.

Sources: Dev et al. (2020; the pairs, and the share predicted neutral), Dawkins et al. (2024; parity and eta). The
latter do not say when two genders count as treated alike; both readings are kept, as the variants "majority" and
"templates"."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.corpora.nli import LABELS as CLASSES
from biasflow.metrics.items import truncated_of_heads
from biasflow.readouts.files import load_arrays
from biasflow.results.bootstrap import RESAMPLED, interval, weighted_mean

ENTAILMENT, NEUTRAL, CONTRADICTION = CLASSES


def _of_means(means: np.ndarray) -> dict[tuple[str, str, str], np.ndarray]:
    """(metric, part, variant) -> the scores [...] of models, from the means over occupations [..., 5] of
    `by_occupation`. With c the predicted class,

        accuracy = share of c = neutral
        parity   = share of the occupations that are treated alike, a multiple of 1 / occupations
        eta      = accuracy * parity"""
    shares, majority, templates = means[..., : len(CLASSES)], means[..., -2], means[..., -1]
    accuracy = shares[..., CLASSES.index(NEUTRAL)]
    return {
        ("nli_accuracy", "-", "-"): accuracy,
        ("nli_parity", "-", "majority"): majority,
        ("nli_parity", "-", "templates"): templates,
        ("nli_fairness", "-", "majority"): accuracy * majority,
        ("nli_fairness", "-", "templates"): accuracy * templates,
        ("largest_label_share", "-", "-"): shares.max(axis=-1),
    } | {("nli_share", name, "-"): shares[..., number] for number, name in enumerate(CLASSES)}


def by_occupation(predictions: ArrayLike) -> np.ndarray:
    """Return five numbers for each occupation, [..., occupations, 5]: the shares of the three CLASSES, and whether the
    genders are treated alike by "majority" and by "templates" (1 or 0).

    predictions: class numbers [..., occupations, templates, 2, words]. The axis of length 2 is the gender of the
    hypothesis (0 masculine, 1 feminine); along `words` the two genders' words are aligned in pairs (man and woman,
    gentleman and lady). An occupation is treated alike if

        "majority":  the most frequent class over templates and words is the same for both genders; where classes tie,
                     the sets of most frequent classes must be equal,
        "templates": c(masculine) = c(feminine) for every template and pair of words.

    The second implies the first. Works through the leading axes one by one, so a large uint8 array is never copied.

    Source: Dawkins et al. (2024)."""
    predictions = np.asarray(predictions)
    leading = predictions.shape[:-4]
    models = predictions.reshape(-1, *predictions.shape[-4:])
    counts = np.stack([_class_counts(model) for model in models])
    alike = np.stack([(model[:, :, 0] == model[:, :, 1]).all(axis=(1, 2)) for model in models])
    totals = counts.sum(axis=2)
    shares = totals / totals.sum(axis=-1, keepdims=True)
    result = np.concatenate([shares, np.stack([_same_majority(counts), alike], axis=-1)], axis=-1)
    return result.reshape(*leading, *result.shape[1:])


def nli_scores(axis: Sequence[tuple[str, str]], predictions: ArrayLike) -> pd.DataFrame:
    """Return all NLI scores of every method, in the order of `axis` (method, setting).

    predictions  class numbers [methods, occupations, templates, 2, words], see `by_occupation`

    Returns columns method, setting, metric, part, variant, value, n (pairs), low, high, resampled: nli_accuracy,
    nli_parity and nli_fairness (eta), the last two with the variants "majority" and "templates", nli_share, the share
    of the class `part`, which says where the errors go, and largest_label_share, that of the most frequent class. The
    bootstrap draws occupations with all of their pairs: pairs of one occupation are no independent items."""
    predictions = np.asarray(predictions)
    occupations = by_occupation(predictions)  # [methods, occupations, 5]

    def named(means: np.ndarray) -> np.ndarray:
        return np.stack([*_of_means(means).values()], axis=-1)

    ends = interval(
        lambda counts: named(weighted_mean(counts, occupations.swapaxes(0, 1))), np.arange(occupations.shape[1])
    )
    values = named(occupations.mean(axis=1)), *ends  # each [methods, scores]
    keys = _of_means(occupations.mean(axis=1))
    rows = [
        (*pair, *key, *(of_all[number, column] for of_all in values))
        for number, pair in enumerate(axis)
        for column, key in enumerate(keys)
    ]
    columns = ["method", "setting", "metric", "part", "variant", "value", "low", "high", RESAMPLED]
    return pd.DataFrame(rows, columns=columns).assign(n=predictions[0].size)


def score(path: str | Path) -> pd.DataFrame:
    """Return `nli_scores` of every head in a readout of `predictions` on the gender-occupation pairs, by column
    `head`."""
    readout = load_arrays(path)
    scores = [nli_scores(readout.axis, predicted).assign(head=head) for head, predicted in readout.arrays.items()]
    return pd.concat([*scores, truncated_of_heads(readout, part="-", variant="-")], ignore_index=True)


def _class_counts(model: np.ndarray) -> np.ndarray:
    """How often each class is predicted: [occupations, templates, 2, words] -> [occupations, 2, 3]."""
    return np.stack([np.count_nonzero(model == number, axis=(1, 3)) for number in range(len(CLASSES))], axis=-1)


def _same_majority(counts: np.ndarray) -> np.ndarray:
    """Whether both genders have the same set of most frequent classes: [..., 2, 3] -> bool [...]."""
    most_frequent = counts == counts.max(axis=-1, keepdims=True)
    return (most_frequent[..., 0, :] == most_frequent[..., 1, :]).all(axis=-1)
