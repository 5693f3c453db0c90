"""Coreference metrics: the reference scorer's cases, and what must hold for any clusters."""

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.tasks.coreference.f1 import conll_f1

TRUTH_A = "a bc def"
# Case: gold, predicted, metric -> recall and precision. Clusters are words, their letters are mentions.
CASES = [
    (TRUTH_A, TRUTH_A, {"muc": (1, 1), "b_cubed": (1, 1), "ceafe": (1, 1), "lea": (1, 1)}),
    (TRUTH_A, "a de", {"muc": ("1/3", 1), "b_cubed": ("7/18", 1), "ceafe": (0.6, 0.9)}),
    (TRUTH_A, "a bcx defy z", {"muc": (1, "3/5"), "b_cubed": (1, "55/108"), "ceafe": (0.8857, 0.6643)}),
    (TRUTH_A, "a bcx dy z", {"muc": ("1/3", "1/3"), "b_cubed": ("5/9", "17/42"), "ceafe": ("11/15", 0.55)}),
    (TRUTH_A, "a b c d e f", {"muc": (0, 0), "b_cubed": ("1/2", 1)}),
    ("12345 67 89ABC", "12345 6789ABC", {"muc": (1, "9/10"), "b_cubed": (1, "16/21")}),
    ("12345 67 89ABC", "1234589ABC 67", {"muc": (1, "9/10"), "b_cubed": (1, "7/12")}),
    ("ABCD", "AB CD", {"muc": ("2/3", 1)}),
    ("abc defg", "ab cd fghi", {"lea": (0.2381, 0.3333)}),
    ("a bc", "a bd", {"lea": ("1/3", "1/3")}),  # a alone on both sides is a link kept
    ("a bc", "ab c", {"lea": (0, 0)}),
]


@pytest.mark.parametrize(("gold", "predicted", "expected"), CASES)
def test_reference_cases(gold, predicted, expected):
    scores = conll_f1([gold.split()], [predicted.split()])
    for metric, values in expected.items():
        found = getattr(scores, metric)
        recall, precision = (float(Fraction(str(value))) for value in values)
        assert (found.recall, found.precision) == pytest.approx((recall, precision), abs=5e-5), metric
        assert found.f1 == pytest.approx(2 * recall * precision / (recall + precision) if recall else 0, abs=5e-5)


def test_a_mention_predicted_twice_counts_where_it_stands_first():
    scores = conll_f1([["abc"]], [["ab", "bc", "a"]])
    assert scores.repeated == 2
    assert np.array_equal(scores.per_document, conll_f1([["abc"]], [["ab", "c"]]).per_document)


def documents(size: int = 3):
    """Gold and predicted clusters of some documents; a mention stands in one cluster of a side at most."""

    def clusters(numbers):
        return [
            [mention for mention, each in enumerate(numbers) if each == number]
            for number in sorted(set(numbers) - {None})
        ]

    side = st.lists(st.none() | st.integers(0, 4), max_size=9).map(clusters)
    return st.lists(st.tuples(side, side), min_size=1, max_size=size).map(lambda pairs: list(zip(*pairs, strict=True)))


@given(documents())
def test_documents_are_one_document_whose_mentions_name_theirs(sides):
    tagged = [
        [[[(number, mention) for mention in cluster] for number, each in enumerate(side) for cluster in each]]
        for side in sides
    ]
    assert conll_f1(*tagged).per_document[0] == pytest.approx(conll_f1(*sides).per_document.sum(axis=0))


def recall_by_definition(gold, predicted) -> list[tuple[float, float]]:
    """Numerator and denominator of each metric's recall, mention by mention and link by link."""
    of = {mention: frozenset(cluster) for cluster in predicted for mention in cluster}
    muc = lea = 0
    for cluster in gold:
        muc += len(cluster) - len({of.get(mention, mention) for mention in cluster})
        links = [frozenset(pair) for pair in combinations(cluster, 2)] or [frozenset(cluster)]
        kept = [link for link in links if any(_has(other, link) for other in of.values())]
        lea += len(cluster) * len(kept) / len(links)
    b_cubed = sum(len(of.get(m, frozenset()) & set(cluster)) / len(cluster) for cluster in gold for m in cluster)
    few, many = sorted((gold, predicted), key=len)
    ceafe = max(
        sum(2 * len({*one} & {*other}) / (len(one) + len(other)) for one, other in zip(few, chosen, strict=True))
        for chosen in permutations(many, len(few))
    )
    mentions = sum(map(len, gold))
    return [(muc, mentions - len(gold)), (b_cubed, mentions), (ceafe, len(gold)), (lea, mentions)]


def _has(cluster, link) -> bool:
    return link <= cluster if len(link) > 1 else link == cluster


@given(documents(size=1))
def test_counts_are_those_of_the_definitions(sides):
    (gold,), (predicted,) = sides
    (counts,) = conll_f1([gold], [predicted]).per_document
    assert counts[:, :2] == pytest.approx(np.array(recall_by_definition(gold, predicted)))
    assert counts[:, 2:] == pytest.approx(np.array(recall_by_definition(predicted, gold)))
