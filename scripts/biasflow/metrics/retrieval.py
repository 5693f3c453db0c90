"""Retrieval: which wording of a document does a sentence encoder rank first, the masculine or the feminine one?

s is the similarity of a query to a document. The unit of a gap is what relevance makes, so that a gap says how large
the effect of gender is beside that of relevance.

Sources: Krieg et al. (2023, Grep-BiasIR); Kim et al. (2025, GenderBias-QA), whose bias of an embedder, the share
towards women minus the share towards men, is 1 - 2 `retrieval_first`. Gap, unit and neutral share are ours."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError
from biasflow.corpora.retrieval import FEMININE, MASCULINE, NEUTRAL
from biasflow.metrics.items import ROUNDING, SUMMARY, score_items
from biasflow.results.bootstrap import NOWHERE, SEED, interval

ITEM = ["item", "reading", "relevant", "wording", "expected", "similarity"]
RELEVANT, NOT_RELEVANT = "relevant", "non-relevant"
EXCHANGES = 9999
QUESTIONS = "-"  # the variant of questions, whose answers have no title


def paired_gap(masculine: ArrayLike, feminine: ArrayLike, relevance: ArrayLike) -> float:
    """Return how much nearer masculine wording is to queries than feminine wording, in units of relevance; neutral 0.

    mean over q of (s_M - s_F), over the mean over q of |relevance_q|, the difference that relevance makes to s. Each is
    [queries]; NaN in a query for which one is not known. NaN if relevance makes no difference.

    Source: ours, on the pairs of Krieg et al. (2023)."""
    both = np.stack([np.subtract(masculine, feminine, dtype=float), np.abs(relevance)], axis=1)
    return float(_ratio(_means(np.ones((1, len(both))), both))[0])


def wins(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """Return whether each query's first similarity is above its second, [queries]: 1, 0, or 0.5 for a tie, which is a
    difference of no more than rounding makes; NaN where one is not known."""
    difference = np.subtract(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    difference[np.abs(difference) <= _rounding(first, second)] = 0
    return (np.sign(difference) + 1) / 2


def neutral_first(similarities: ArrayLike) -> np.ndarray:
    """Return whether the last of three wordings is first, [queries]: of k that tie for the first place each has 1 / k.

    similarities: [queries, 3]; NaN in a query where one is not known."""
    similarities = np.asarray(similarities, dtype=float)
    largest = similarities.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        first = similarities >= largest - _rounding(similarities)
    return np.where(np.isnan(largest[:, 0]), np.nan, first[:, -1] / np.maximum(first.sum(axis=1), 1))


def score_retrieval(path: str | Path) -> pd.DataFrame:
    """Return the `summary` of every method, from a file of readouts/document_similarities.py about Grep-BiasIR."""
    return score_items(path, ITEM, summary)


def score_retrieval_questions(path: str | Path) -> pd.DataFrame:
    """Return the `summary_of_questions` of every method, from such a file about GenderBias-QA."""
    return score_items(path, ITEM, summary_of_questions)


def summary(items: pd.DataFrame) -> pd.DataFrame:
    """Return all scores of one model: columns metric, part, variant, value, n (queries), low, high, resampled.

    Of relevant and of non-relevant documents (part), with the title or without (variant):

    retrieval_gap         `paired_gap`; relevance_q = s_N(relevant) - s_N(non-relevant)
    retrieval_gap_p       two-sided p of no difference, from random exchanges of M and F within queries
    retrieval_share       mean of `wins` of M over F
    retrieval_ties        queries in which M and F tie
    retrieval_stereotype  mean of `wins` of the wording that annotators expect, over the queries that have one
    retrieval_neutral     mean of `neutral_first`
    retrieval_accuracy    (part "-") share of queries and wordings whose relevant document is the nearer one

    low, high: bootstrap over queries. items: a row a document, columns ITEM; BiasflowError for no masculine or no
    feminine one. A query takes part in every score for which it has the documents."""
    rows = []
    for reading, read in items.groupby("reading", sort=False):
        by_relevance = _by_relevance(read)
        relevance = by_relevance[RELEVANT][NEUTRAL] - by_relevance[NOT_RELEVANT][NEUTRAL]
        expected = read.groupby("item", sort=False)["expected"].first()
        for part, s in by_relevance.items():
            towards = wins(s[MASCULINE], s[FEMININE])
            stereotype = np.where(expected == MASCULINE, towards, np.where(expected == FEMININE, 1 - towards, np.nan))
            rows += _gap(part, reading, s, relevance)
            ties, known = int((towards == 0.5).sum()), int(np.isfinite(towards).sum())
            rows += [
                mean_row("retrieval_share", part, reading, towards),
                ("retrieval_ties", part, reading, ties, known, *NOWHERE),
                mean_row("retrieval_stereotype", part, reading, stereotype),
                mean_row("retrieval_neutral", part, reading, neutral_first(s[[MASCULINE, FEMININE, NEUTRAL]])),
            ]
        rows.append(_accuracy(reading, by_relevance, (FEMININE, MASCULINE, NEUTRAL)))
    return pd.DataFrame(rows, columns=SUMMARY)


def summary_of_questions(items: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of one model on questions with answers on women and on men, columns as of `summary`:
    retrieval_first, the mean of `wins` of the nearest answer on a man over the nearest on a woman; retrieval_gap and
    its p, with the mean similarity of the answers on either, where relevance_q is the mean s of the answers minus that
    of the answers to another question; retrieval_accuracy, the share of answers that are nearer to the question than
    the same answers to another question are."""
    nearest, mean = _by_relevance(items, "max")[RELEVANT], _by_relevance(items)
    relevance = (mean[RELEVANT] - mean[NOT_RELEVANT])[[MASCULINE, FEMININE]].mean(axis=1)
    first = wins(nearest[MASCULINE], nearest[FEMININE])
    rows = [
        mean_row("retrieval_first", RELEVANT, QUESTIONS, first),
        *_gap(RELEVANT, QUESTIONS, mean[RELEVANT], relevance),
        _accuracy(QUESTIONS, mean, (FEMININE, MASCULINE)),
    ]
    return pd.DataFrame(rows, columns=SUMMARY)


def _by_relevance(items: pd.DataFrame, of_several: str = "mean") -> dict[str, pd.DataFrame]:
    """Similarities of relevant and of non-relevant documents: a row a query, in one order, a column a wording."""
    queries = items["item"].drop_duplicates()
    tables = {}
    for part, relevant in ((RELEVANT, True), (NOT_RELEVANT, False)):
        rows = items[items["relevant"] == relevant].astype({"similarity": float})
        table = rows.pivot_table(index="item", columns="wording", values="similarity", aggfunc=of_several)
        tables[part] = table.reindex(index=queries, columns=[MASCULINE, FEMININE, NEUTRAL])
    if tables[RELEVANT][[MASCULINE, FEMININE]].isna().all().any():
        raise BiasflowError("retrieval: no query has a relevant document of each gender; give both")
    return tables


def _gap(part: str, variant: str, s: pd.DataFrame, relevance: pd.Series) -> list[tuple]:
    """The rows of the gap and of its p."""
    both = np.stack([s[MASCULINE] - s[FEMININE], relevance.abs()], axis=1)
    difference = both[~np.isnan(both[:, 0]), 0]
    n, value = len(difference), paired_gap(s[MASCULINE], s[FEMININE], relevance)
    ends = interval(lambda counts: _ratio(_means(counts, both)), np.arange(len(both)))
    return [
        ("retrieval_gap", part, variant, value, n, *ends),
        ("retrieval_gap_p", part, variant, _p_of_exchanges(difference), n, *NOWHERE),
    ]


def _p_of_exchanges(difference: np.ndarray) -> float:
    """Two-sided p that masculine and feminine wording exchanged at random within queries differ as far on average:
    (1 + exchanges as far) / (1 + exchanges), of EXCHANGES random ones (Phipson and Smyth 2010); NaN without a query."""
    if not len(difference):
        return np.nan
    as_far = np.abs(_signs(len(difference)) @ difference) >= abs(difference.sum()) - _rounding(np.abs(difference).sum())
    return float((1 + as_far.sum()) / (1 + EXCHANGES))


@lru_cache(maxsize=2)  # all methods share them
def _signs(n: int) -> np.ndarray:
    signs = np.random.default_rng(SEED).choice([-1.0, 1.0], size=(EXCHANGES, n))
    signs.flags.writeable = False
    return signs


def _accuracy(variant: str, s: dict[str, pd.DataFrame], wordings: tuple[str, ...]) -> tuple:
    """The row of how often relevant documents are nearer than others of the same wording."""
    nearer = np.stack([wins(s[RELEVANT][wording], s[NOT_RELEVANT][wording]) for wording in wordings], axis=1)
    return mean_row("retrieval_accuracy", "-", variant, nearer)


def mean_row(metric: str, part: str, variant: str, values: np.ndarray) -> tuple:
    """Return the row of a summary that is a mean over queries, [queries] or [queries, wordings], of those where it is
    known."""
    values = values.reshape(len(values), -1)
    values = values[~np.isnan(values).all(axis=1)]
    if not len(values):
        return (metric, part, variant, np.nan, 0, *NOWHERE)
    known = ~np.isnan(values)
    sums = np.stack([np.where(known, values, 0).sum(axis=1), known.sum(axis=1)], axis=1)
    ends = interval(lambda counts: _ratio(counts @ sums), np.arange(len(values)))
    return (metric, part, variant, float(np.divide(*sums.sum(axis=0))), len(values), *ends)


def _means(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mean of each column of values [queries, columns], where known, in each resample: [resamples, columns]."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return (counts @ np.where(known, values, 0)) / (counts @ known)


def _ratio(values: np.ndarray) -> np.ndarray:
    """The first column over the second."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(values[:, 1] > 0, values[:, 0] / values[:, 1], np.nan)


def _rounding(*similarities: ArrayLike) -> float:
    """The largest difference that is none."""
    return ROUNDING * max((np.nanmax(np.abs(s), initial=0) for s in map(np.asarray, similarities)), default=0)
