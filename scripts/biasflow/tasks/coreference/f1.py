"""How well predicted clusters of mentions agree with gold ones: MUC, B-cubed, CEAFe, LEA and the CoNLL F1.

All are computed from one table for each document: how many mentions each gold cluster shares with each predicted one.
Recall and precision are quotients of sums over documents, never means over them. A cluster of one mention counts as it
is given: leave such clusters out of both sides where the data have none.

Sources: Vilain et al. (1995) for MUC, Bagga and Baldwin (1998) for B-cubed, Luo (2005) for CEAFe, Moosavi and Strube
(2016) for LEA, Pradhan et al. (2014) for mentions that only one side has, and for the average."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from biasflow.base.errors import BiasflowError

METRICS = ("muc", "b_cubed", "ceafe", "lea")
CONLL = METRICS[:3]  # the CoNLL F1 is the mean of theirs

Mentions = Iterable[Hashable]


@dataclass(frozen=True)
class Agreement:
    """recall, precision and f1, each in [0, 1]: numbers, or arrays [..., metrics] in the order of METRICS."""

    recall: float | np.ndarray
    precision: float | np.ndarray
    f1: float | np.ndarray


@dataclass(frozen=True)
class ConllF1:
    """Every metric over all documents, and `average`, the CoNLL F1: the mean F1 of MUC, B-cubed and CEAFe, in [0, 1].

    per_document  what they are quotients of: [documents, METRICS, 4], see `cluster_counts`
    repeated  predicted mentions left out because an earlier one of their document is the same span"""

    muc: Agreement
    b_cubed: Agreement
    ceafe: Agreement
    lea: Agreement
    average: float
    per_document: np.ndarray
    repeated: int


def conll_f1(
    gold: Sequence[Iterable[Mentions]],
    predicted: Sequence[Iterable[Mentions]],
    *,
    names: Sequence[str] | None = None,
) -> ConllF1:
    """Compare predicted clusters with gold ones: all metrics over some documents.

    gold, predicted  the clusters of every document; a cluster holds mentions, such as spans (first, last)
    names  of the documents, for messages; default: their numbers from 1

    A mention that is predicted twice in a document is kept where it stands first, as the reference scorer does, and
    counted. BiasflowError for unequal numbers of documents, for none, and for a gold mention that a document has twice
    (document and mention are named)."""
    names = names or [str(number) for number in range(1, len(gold) + 1)]
    if not len(gold) == len(predicted) == len(names) or not len(gold):
        raise BiasflowError(
            f"coreference: {len(gold)} documents with gold clusters, {len(predicted)} with predicted ones, "
            f"{len(names)} names; give one of each for every document."
        )
    counts, repeated = [], 0
    for name, of_gold, of_predicted in zip(names, gold, predicted, strict=True):
        gold_numbers, twice = _numbered(of_gold)
        if twice:
            raise BiasflowError(f"document {name}: {twice[0]} is a gold mention twice; merge its clusters into one.")
        predicted_numbers, twice = _numbered(of_predicted)
        repeated += len(twice)
        counts.append(cluster_counts(gold_numbers, predicted_numbers))
    per_document = np.stack(counts)
    total = per_document.sum(axis=0)
    scores = agreement(total)
    by_metric = {
        metric: Agreement(*(float(values[number]) for values in (scores.recall, scores.precision, scores.f1)))
        for number, metric in enumerate(METRICS)
    }
    return ConllF1(**by_metric, average=float(conll_average(total)), per_document=per_document, repeated=repeated)


def agreement(counts: ArrayLike) -> Agreement:
    """Recall, precision and F1 of counts [..., metrics, 4], as `cluster_counts` gives them; 0/0 is 0.

    F1 = 2 recall precision / (recall + precision). Counts of documents are summed first: that is the caller's."""
    counts = np.asarray(counts, dtype=float)
    recall, precision = _ratio(counts[..., 0], counts[..., 1]), _ratio(counts[..., 2], counts[..., 3])
    return Agreement(recall, precision, _ratio(2 * recall * precision, recall + precision))


def conll_average(counts: ArrayLike) -> np.ndarray:
    """The CoNLL F1 in [0, 1] of summed counts [..., METRICS, 4]: the mean F1 of MUC, B-cubed and CEAFe, [...]."""
    return agreement(counts).f1[..., : len(CONLL)].mean(axis=-1)


def cluster_counts(gold: dict[Hashable, int], predicted: dict[Hashable, int]) -> np.ndarray:
    """Return the counts behind recall and precision of one document: [METRICS, 4] = numerator and denominator of
    recall, numerator and denominator of precision.

    gold, predicted: mention -> number of its cluster, from 0 without a gap. With clusters c of the one side and o of
    the other, |c & o| the mentions that they share, links(n) = n (n - 1) / 2, the recall of

        MUC      sum_c (|c| - parts of c) / sum_c (|c| - 1); what c shares with one o is a part, as is each mention that
                 the other side has not
        B-cubed  sum_c sum_o |c & o|^2 / |c|  /  sum_c |c|
        CEAFe    max over one-to-one pairs of sum 2 |c & o| / (|c| + |o|)  /  the number of clusters c
        LEA      sum_c |c| sum_o links(|c & o|) / links(|c|)  /  sum_c |c|; a cluster of one mention has one link, to
                 itself, which a cluster of the same single mention has too

    is that with c gold and o predicted; precision is that with the sides exchanged."""
    shape = [len(set(side.values())) for side in (gold, predicted)]
    sizes = [np.bincount(list(side.values()), minlength=n) for side, n in zip((gold, predicted), shape, strict=True)]
    shared = np.zeros(shape)
    for mention in gold.keys() & predicted.keys():
        shared[gold[mention], predicted[mention]] += 1
    alike = 2 * shared / (sizes[0][:, None] + sizes[1][None, :])
    matched = alike[linear_sum_assignment(alike, maximize=True)].sum()
    sides = ((shared, sizes[0], sizes[1]), (shared.T, sizes[1], sizes[0]))
    return np.stack(
        [
            np.concatenate([_muc(*side) for side in sides]),
            np.concatenate([_b_cubed(*side) for side in sides]),
            np.array([matched, shape[0], matched, shape[1]]),
            np.concatenate([_lea(*side) for side in sides]),
        ]
    )


def _muc(shared: np.ndarray, sizes: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    parts = (shared > 0).sum(axis=1) + sizes - shared.sum(axis=1)
    return (sizes - parts).sum(), (sizes - 1).sum()


def _b_cubed(shared: np.ndarray, sizes: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    return ((shared**2).sum(axis=1) / sizes).sum(), sizes.sum()


def _lea(shared: np.ndarray, sizes: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    same_single = shared * (sizes[:, None] == 1) * (others[None, :] == 1)
    kept = (_links(shared) + same_single).sum(axis=1)
    return (sizes * kept / np.where(sizes == 1, 1, _links(sizes))).sum(), sizes.sum()


def _links(n: np.ndarray) -> np.ndarray:
    return n * (n - 1) / 2


def _numbered(clusters: Iterable[Mentions]) -> tuple[dict[Hashable, int], list[Hashable]]:
    """Mention -> number of its first cluster, from 0 without a gap, and the mentions that come again."""
    of_mention: dict[Hashable, int] = {}
    again = []
    number = 0
    for cluster in clusters:
        size = len(of_mention)
        for mention in cluster:
            if mention in of_mention:
                again.append(mention)
            else:
                of_mention[mention] = number
        number += len(of_mention) > size
    return of_mention, again


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)
