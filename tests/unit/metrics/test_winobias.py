"""WinoBias as a classification: what both readings see in a cluster, and which cells enter which measure."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.corpora.winobias import Sentence, professions
from scripts.biasflow.metrics import fairness
from scripts.biasflow.metrics.winobias import (
    NONE,
    class_counts,
    classes,
    predicted_professions,
    profession_gaps,
    pronoun_accuracy,
    with_a_profession,
)
from tests.unit.synthetic_conll import conll_text, documents_of

#        0   1            2      3    4   5    6       7   8    9     10  11  12
WORDS = "The construction worker told the CEO because he said that the teacher left"
WORKER, CEO, HE, TEACHER, TOLD_CEO = (0, 2), (4, 5), (7, 7), (10, 11), (3, 5)


@pytest.fixture
def sentence(tmp_path):
    (document,) = documents_of(tmp_path, conll_text("nw/a", [WORDS.split()], [(WORKER, HE)]))
    return Sentence(document, "construction worker", (HE,), "M")


def test_classes_are_in_the_order_of_ascii():
    assert classes()[:3] == ("CEO", "None", "accountant") and len(classes()) == 41
    assert [name for name in classes() if name != NONE] == list(professions().index)


@pytest.mark.parametrize(
    ("clusters", "kind", "tokens", "released"),
    [
        ([(WORKER, HE)], "right", "construction worker", "construction worker"),
        ([(HE, TOLD_CEO)], "other", "CEO", "CEO"),
        ([(WORKER, CEO, HE)], "both", NONE, NONE),
        ([((3, 3), HE)], "none", NONE, NONE),
        ([], "none", NONE, NONE),
        ([((0, 1), HE)], "none", NONE, NONE),  # "The construction" is no profession
        ([(WORKER, CEO)], "none", NONE, NONE),
        ([((4, 4), TEACHER)], "none", NONE, "teacher"),  # "teacher" has "he" in it
        ([(WORKER, HE), ((4, 4), TEACHER)], "right", "construction worker", "teacher"),  # the last one
        ([(WORKER, (1, 2), HE)], "right", "construction worker", NONE),  # two mentions match
        ([(WORKER, (7, 8))], "none", NONE, "construction worker"),  # not the pronoun's own span
        ([(CEO, HE), (HE, WORKER)], "other", "CEO", "construction worker"),
    ],
)
def test_both_readings(sentence, clusters, kind, tokens, released):
    assert predicted_professions([sentence], [clusters]) == [tokens]
    assert predicted_professions([sentence], [clusters], reading="released") == [released]
    found = pronoun_accuracy([sentence], [clusters])
    assert (getattr(found, kind), found.n) == (1, 1)
    assert found.right + found.other + found.both + found.none == 1


def test_two_gold_pronouns_must_agree(tmp_path):
    (document,) = documents_of(tmp_path, conll_text("k", ["The CEO said he saw the cook hurt himself".split()]))
    sentence = Sentence(document, "CEO", ((3, 3), (8, 8)), "M")
    together, apart, one = [((0, 1), (3, 3), (8, 8))], [((0, 1), (3, 3)), ((5, 6), (8, 8))], [((0, 1), (3, 3))]
    assert predicted_professions([sentence] * 3, [together, apart, one]) == ["CEO", NONE, NONE]
    assert pronoun_accuracy([sentence] * 3, [together, apart, one]).none == 2 / 3


def test_none_is_a_miss_and_no_class_with_a_rate(sentence):
    """Four sentences: the woman among the workers, and that among the CEOs, stand with nobody."""
    sentences = [Sentence(sentence.document, y, (HE,), z) for y in ("construction worker", "CEO") for z in "MF"]
    counts = class_counts(sentences, ["construction worker", NONE, "CEO", NONE])
    assert counts.shape == (2, 41, 41) and counts.sum() == 4
    gaps, everything = profession_gaps(counts), fairness.gaps(counts)
    assert gaps.tpr.gap_sum() == 2
    assert gaps.fpr.gap_sum() == 0 and everything.fpr.gap_sum() == 1
    assert gaps.fpr.values.shape == (2, 40)
    assert with_a_profession(counts).sum() == 2
    assert fairness.independence(counts) > 0
    assert np.isnan(fairness.separation(with_a_profession(counts)))  # no woman is left


def test_negatives_include_predictions_of_none(sentence):
    """Of two men who are no CEOs one is taken for a CEO, of the other the pronoun stands with nobody: FPR 1/2."""
    sentences = [Sentence(sentence.document, "cook", (HE,), "M")] * 2
    gaps = profession_gaps(class_counts(sentences, ["CEO", NONE]))
    assert gaps.fpr.values[fairness.MASCULINE, 0] == 0.5


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted).map(tuple) | st.just(HE), max_size=4
        ).map(tuple),
        max_size=4,
    )
)
def test_any_clusters_give_one_class_of_either_reading(sentence, clusters):
    found = pronoun_accuracy([sentence], [clusters])
    (tokens,) = predicted_professions([sentence], [clusters])
    (released,) = predicted_professions([sentence], [clusters], reading="released")
    assert {tokens, released} <= set(classes())
    assert (tokens == sentence.profession) == (found.right == 1)
    assert (tokens != NONE) <= (found.right + found.other == 1)
    assert sum((found.right, found.other, found.both, found.none)) == 1


def test_one_prediction_a_sentence(sentence):
    for clusters in ([], [(), ()]):
        with pytest.raises(BiasflowError, match="give one each"):
            pronoun_accuracy([sentence], clusters)
        with pytest.raises(BiasflowError, match="give one each"):
            predicted_professions([sentence], clusters)
    with pytest.raises(BiasflowError, match="reading"):
        predicted_professions([sentence], [()], reading="substring")
