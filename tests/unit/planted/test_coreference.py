"""Planted documents: what they hold, that the best answers are Bayes' rule, and that the bias shows in pairs only."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binomtest

from biasflow.corpora.conll import write_conll
from biasflow.corpora.winobias import professions, read_pairs
from biasflow.metrics.coreference import conll_f1, f1_difference
from biasflow.metrics.winobias import pronoun_kinds
from biasflow.planted.coreference import coreference_documents, coreference_pairs, load_grammar
from biasflow.planted.frames import PRONOUNS
from biasflow.planted.world import load_world
from biasflow.tasks.coreference.collect import rule_clusters
from biasflow.tasks.coreference.pairs import best_difference

WORLD = load_world()
GRAMMAR = load_grammar()
BIASES = (0.0, 0.5, 1.0)
FRAMES = {
    frame: re.compile(
        re.sub(r"{(\w+)}", lambda slot: r"the (\w+)" if slot[1] in ("one", "other") else r"\w+", frame.frame)
    )
    for frame in GRAMMAR.two
}
GENDER = {word: gender for gender, words in PRONOUNS.items() for word in words.values()}


@pytest.fixture(scope="module")
def drawn():
    return {bias: coreference_documents(bias=bias, seed=3, n=600) for bias in (0.0, 1.0)}


@pytest.fixture(scope="module")
def pairs():
    return coreference_pairs(bias=1.0, seed=4, n=800)


def gold(documents):
    return [document.clusters for document in documents]


def best_f1(answered):
    """The CoNLL F1 of the best predictor: no system has more but by luck."""
    return conll_f1(gold(answered.documents), answered.best).average


def mentions(document, cluster) -> list[str]:
    return [" ".join(document.words[first : last + 1]).lower() for first, last in cluster]


def combinations(document) -> list[tuple]:
    """(frame, first occupation, second one) of every sentence about two."""
    sentences = [" ".join(document.words[i] for i in numbers[:-1]).lower() for numbers in document.sentence_words()]
    found = [(frame, pattern.fullmatch(text)) for text in sentences for frame, pattern in FRAMES.items()]
    return [(frame, *match.groups()) for frame, match in found if match]


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_shares_of_women_are_the_planted_ones(drawn, bias):
    women, people = Counter(), Counter()
    for document in drawn[bias].documents:
        for cluster in document.clusters:
            words = mentions(document, cluster)
            (named,) = {word for word in words if word not in GENDER}
            people[named.removeprefix("the ")] += 1
            women[named.removeprefix("the ")] += next(GENDER[word] for word in words if word in GENDER) == "F"
    for names in GRAMMAR.occupations.values():
        for name in names:
            assert people[name] > 50
            assert binomtest(women[name], people[name], WORLD.share(name, bias)).pvalue > 1e-4, name


def test_who_is_meant_of_two_follows_the_frame(pairs):
    """In the pro-stereotypical sentences and so, word for word, in the others."""
    first, of_frame = Counter(), Counter()
    for document in pairs[0].documents:
        ((frame, one, _),) = combinations(document)
        of_frame[frame] += 1
        first[frame] += f"the {one}" in mentions(document, document.clusters[0])
    assert set(of_frame) == set(GRAMMAR.two)
    for frame, n in of_frame.items():
        assert binomtest(first[frame], n, frame.one).pvalue > 1e-4, frame


def test_pairs_are_sentences_of_winobias(pairs, tmp_path):
    paths = [tmp_path / side for side in ("pro", "anti")]
    for path, side in zip(paths, pairs, strict=True):
        write_conll(side.documents, path)
    read = read_pairs(*paths)
    assert len(read) == 800
    for gender, names in GRAMMAR.occupations.items():
        assert set(professions().loc[list(names), "stereotype"]) == {gender}
    right = [
        pronoun_kinds([getattr(pair, name) for pair in read], side.best).count("right") / len(read)
        for name, side in zip(("pro", "anti"), pairs, strict=True)
    ]
    assert right[0] > 0.97 and right[1] < 0.3


@pytest.mark.parametrize("bias", BIASES)
def test_the_best_difference_is_met_by_many_pairs(bias):
    pro, anti = coreference_pairs(bias=bias, seed=5, n=1500)
    found, _ = f1_difference(*(conll_f1(gold(side.documents), side.best).per_document for side in (pro, anti)))
    assert found == pytest.approx(best_difference(bias=bias), abs=4)
    assert found == pytest.approx(100 * (best_f1(pro) - best_f1(anti)))


def answers(document, choose):
    """Clusters in which `choose(frame, one, other, gender)` says whom the pronouns after two occupations mean."""
    meant = {}  # span -> who
    for cluster in document.clusters:
        (who,) = {word for word in mentions(document, cluster) if word not in GENDER}
        meant |= dict.fromkeys(cluster, who)
    for sentence, following in pairwise(document.sentence_words()):
        words = [word.lower() for word in document.words[sentence.start : sentence.stop - 1]]
        for frame, pattern in FRAMES.items():
            if match := pattern.fullmatch(" ".join(words)):
                for name, start in zip(match.groups(), (0, words.index("the", 1)), strict=True):
                    meant[sentence.start + start, sentence.start + start + 1] = f"the {name}"
                pronouns = [at for at in (*sentence, *following) if document.words[at].lower() in GENDER]
                gender = GENDER[document.words[pronouns[0]].lower()]
                meant |= {(at, at): f"the {choose(frame, *match.groups(), gender)}" for at in pronouns}
    clusters = [tuple(sorted(span for span in meant if meant[span] == who)) for who in set(meant.values())]
    return tuple(sorted(cluster for cluster in clusters if len(cluster) > 1))


def probability(frame, one, other, gender, bias):
    """P(the first is meant | what is seen)."""
    women = np.array([WORLD.share(each, bias) for each in (one, other)])
    first, second = (women if gender == "F" else 1 - women) * (frame.one, 1 - frame.one)
    return first / (first + second)


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_the_best_answers_are_those_of_bayes_rule_and_better_than_the_rules(drawn, bias):
    documents, best = drawn[bias].documents, drawn[bias].best

    def by_bayes(frame, one, other, gender):
        return one if probability(frame, one, other, gender, bias) >= 0.5 else other

    assert [answers(document, by_bayes) for document in documents] == list(best)
    rules = conll_f1(gold(documents), [rule_clusters(document) for document in documents])
    assert rules.average < best_f1(drawn[bias]) - 0.3
