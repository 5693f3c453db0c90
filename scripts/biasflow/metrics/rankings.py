"""Ranked lists: how much of the searchers' attention women and men get, and how well a list answers.

Documents that tie share their places: each is in any of them with the same probability.

Sources: Singh and Joachims (2018; exposure); Rekabsaz et al. (2021; fairness of ranked lists, NFaiRR)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from biasflow.metrics.items import ROUNDING

DIGITS = -round(np.log10(ROUNDING))  # of a similarity, by which documents are told apart
NEUTRAL_WORDS = 1  # so many words of gender leave a document neutral


class Ranks(NamedTuple):
    """The first and the last place, from 1, that documents may have among those they tie with: [..., documents]."""

    first: np.ndarray
    last: np.ndarray


def ranks(similarities: ArrayLike) -> Ranks:
    """Return the places of documents in ranked lists, by similarities [..., documents], the largest first. A difference
    of no more than rounding makes a tie."""
    similarities = np.asarray(similarities, dtype=float)
    largest = np.abs(similarities).max(axis=-1, keepdims=True, initial=0)
    rounded = np.round(similarities / np.where(largest > 0, largest, 1), DIGITS)
    first, last = np.empty(rounded.shape, int), np.empty(rounded.shape, int)
    for place in np.ndindex(rounded.shape[:-1]):
        _, number, sizes = np.unique(-rounded[place], return_inverse=True, return_counts=True)
        last[place] = sizes.cumsum()[number]
        first[place] = last[place] - sizes[number] + 1
    return Ranks(first, last)


def exposures(places: Ranks, k: int | None = None) -> np.ndarray:
    """Return the attention that each document gets, [..., documents]: 1 / log2(1 + rank), 0 behind the first k.

    Of documents that tie each has the mean over their places."""
    most = int(places.last.max(initial=0))
    weights = 1 / np.log2(1 + np.arange(1, most + 1))
    weights[most if k is None else k :] = 0
    upto = np.concatenate([[0], np.cumsum(weights)])
    return (upto[places.last] - upto[places.first - 1]) / (places.last - places.first + 1)


def in_first(places: Ranks, k: int) -> np.ndarray:
    """Return whether each document is among the first k, [..., documents]; of those that tie for the last of these
    places each is so with the same probability."""
    within = np.minimum(places.last, k) - places.first + 1
    return np.maximum(within, 0) / (places.last - places.first + 1)


def exposure_gap(exposure: ArrayLike, is_woman: ArrayLike) -> np.ndarray:
    """Return (E_M - E_F) / (E_M + E_F), [...], of the mean exposure of men and of women; above 0 men are shown first.

    exposure: [..., people]; is_woman: [people]. NaN without people of both genders, and where nobody is shown."""
    exposure, is_woman = np.asarray(exposure, dtype=float), np.asarray(is_woman, dtype=bool)
    if is_woman.all() or not is_woman.any():
        return np.full(exposure.shape[:-1], np.nan)
    men, women = exposure[..., ~is_woman].mean(axis=-1), exposure[..., is_woman].mean(axis=-1)
    with np.errstate(invalid="ignore"):
        return (men - women) / (men + women)


def top_share(shown: ArrayLike, is_woman: ArrayLike) -> np.ndarray:
    """Return the share of women among those of a gender who are shown, [...]; shown: [..., people], such as `in_first`.
    NaN where nobody is."""
    shown, is_woman = np.asarray(shown, dtype=float), np.asarray(is_woman, dtype=bool)
    with np.errstate(invalid="ignore"):
        return shown[..., is_woman].sum(axis=-1) / shown.sum(axis=-1)


def ndcg(exposure: ArrayLike, is_relevant: ArrayLike, k: int) -> np.ndarray:
    """Return nDCG@k of lists in which documents are relevant or not, [...], from their exposures within the first k."""
    is_relevant = np.asarray(is_relevant, dtype=bool)
    n = np.minimum(is_relevant.sum(axis=-1), k)
    best = np.concatenate([[np.nan], np.cumsum(1 / np.log2(1 + np.arange(1, k + 1)))])
    return np.where(is_relevant, exposure, 0).sum(axis=-1) / best[n]


def recall(shown: ArrayLike, is_relevant: ArrayLike, k: int) -> np.ndarray:
    """Return the share of the relevant documents, or of the k places if they are more, that is among the first k."""
    is_relevant = np.asarray(is_relevant, dtype=bool)
    n = np.minimum(is_relevant.sum(axis=-1), k).astype(float)
    with np.errstate(invalid="ignore"):
        return np.where(is_relevant, shown, 0).sum(axis=-1) / n


def neutrality(masculine: ArrayLike, feminine: ArrayLike) -> np.ndarray:
    """Return how neutral documents are, in [0, 1], by how many words of each gender they have, [documents].

    1 up to NEUTRAL_WORDS of them; otherwise 1 - |m - 1/2| - |f - 1/2| with the shares m and f of these words."""
    masculine, feminine = np.asarray(masculine, dtype=float), np.asarray(feminine, dtype=float)
    words = masculine + feminine
    with np.errstate(invalid="ignore"):
        return np.where(words <= NEUTRAL_WORDS, 1.0, 1 - 2 * np.abs(masculine / words - 0.5))


def nfairr(exposure: ArrayLike, neutral: ArrayLike, k: int | None = None) -> float:
    """Return NFaiRR of one list: the sum of exposure times neutrality, over the largest that the same documents in any
    order could have; 1: no fairer order. exposure: within the first k, [documents]; NaN where no document is neutral at
    all."""
    neutral = np.asarray(neutral, dtype=float)
    places = np.arange(1, len(neutral) + 1)
    best = exposures(Ranks(places, places), k) @ np.sort(neutral)[::-1]
    return float(exposure @ neutral / best) if best > 0 else np.nan
