"""Planted documents: what they hold, that the best answers are Bayes' rule, and that the bias shows in pairs only."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import yaml
from scipy.stats import binomtest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.conll import read_conll, write_conll
from biasflow.corpora.winobias import professions, read_pairs
from biasflow.metrics.coreference import conll_f1, f1_difference
from biasflow.metrics.winobias import pronoun_kinds
from biasflow.planted.coreference import coreference_documents, coreference_pairs, load_grammar
from biasflow.planted.corpus import discourses
from biasflow.planted.frames import PRONOUNS
from biasflow.planted.world import FOLDER, load_world
from biasflow.tasks.coreference.pairs import best_difference
from biasflow.tasks.coreference.rules import rule_clusters
from biasflow.tasks.coreference.strategies import debias

WORLD = load_world()
GRAMMAR = load_grammar(world=WORLD)
BIASES = (0.0, 0.25, 0.5, 0.75, 1.0)
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


def test_same_arguments_same_documents():
    one, again, other = (coreference_documents(bias=0.5, seed=seed, n=20) for seed in (1, 1, 2))
    assert one == again and one.documents != other.documents


def test_documents_are_conll_documents_of_60_to_150_words(drawn, tmp_path):
    documents = drawn[1.0].documents
    assert {60 <= len(document.words) <= 150 for document in documents} == {True}
    write_conll(documents, tmp_path / "planted.conll")
    again = read_conll(tmp_path / "planted.conll")
    assert again.documents == documents and again.repeated == 0


def test_every_word_is_one_of_the_planted_corpus(drawn):
    texts = [text for discourse in discourses(bias=0, seed=0, n=20_000) for text in discourse]
    known = {word for text in texts for word in text.lower().replace(".", " . ").replace("'", " ").split()}
    assert {word.lower() for document in drawn[0.0].documents for word in document.words} <= known


def test_a_cluster_is_a_person_with_pronouns_of_one_gender(drawn):
    for document in drawn[1.0].documents:
        for cluster in document.clusters:
            words = mentions(document, cluster)
            named = {word for word in words if word not in GENDER}
            assert len(named) == 1 and len({GENDER[word] for word in words if word in GENDER}) == 1, words
    names = Counter(cell for document in drawn[1.0].documents for cell in document.names)
    assert set(names) == {"*", "(PERSON)"} and names["(PERSON)"] > 1000


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


def test_pairs_differ_in_their_pronouns_only(pairs):
    for pro, anti in zip(*(side.documents for side in pairs), strict=True):
        assert pro.clusters == anti.clusters and pro.pos == anti.pos
        differing = {one.lower() for one, other in zip(pro.words, anti.words, strict=True) if one != other}
        assert differing and differing <= set(GENDER)


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


def test_documents_never_have_the_combinations_of_the_pairs(drawn, pairs):
    kept, seen = (
        {each for document in documents for each in combinations(document)}
        for documents in (pairs[0].documents, drawn[1.0].documents)
    )
    assert len(kept) > 50 and len(seen) > 300 and not kept & seen


@pytest.mark.parametrize("bias", BIASES)
def test_the_best_difference_is_met_by_many_pairs(bias):
    pro, anti = coreference_pairs(bias=bias, seed=5, n=1500)
    found = f1_difference(
        *(conll_f1(gold(side.documents), side.best).per_document for side in (pro, anti)), resamples=200
    )
    assert found.value == pytest.approx(best_difference(bias=bias), abs=4)
    assert found.value == pytest.approx(100 * (best_f1(pro) - best_f1(anti)))


def test_what_is_planted():
    """No difference without bias, a larger one with every step, and an F1 that leaves room for learning."""
    differences = [best_difference(bias=bias) for bias in BIASES]
    assert differences[0] == 0 and min(np.diff(differences)) > 10 and differences[-1] > 60
    best = [best_f1(coreference_documents(bias=bias, seed=6, n=300)) for bias in BIASES]
    assert best == sorted(best) and 0.96 < best[0] < best[-1] < 1


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
def test_the_best_answers_are_those_of_bayes_rule_and_no_others_are_better(drawn, bias):
    documents, best = drawn[bias].documents, drawn[bias].best

    def f1(choose):
        return conll_f1(gold(documents), [answers(document, choose) for document in documents]).average

    def by_bayes(frame, one, other, gender):
        return one if probability(frame, one, other, gender, bias) >= 0.5 else other

    assert [answers(document, by_bayes) for document in documents] == list(best)
    others = {
        "first": lambda frame, one, other, gender: one,
        "frame": lambda frame, one, other, gender: one if frame.one > 0.5 else other,
        "gender": lambda frame, one, other, gender: one if one in GRAMMAR.occupations[gender] else other,
    }
    for name, choose in others.items():
        assert f1(choose) < best_f1(drawn[bias]) or (name, bias) == ("frame", 0.0), name
    assert f1(lambda frame, one, other, gender: "nobody") < best_f1(drawn[bias]) - 0.02
    rules = conll_f1(gold(documents), [rule_clusters(document) for document in documents])
    assert rules.average < best_f1(drawn[bias]) - 0.3


@pytest.mark.parametrize("strategy", ["anon", "ca", "anon+ca", "doubled"])
def test_every_strategy_can_be_trained_on(drawn, strategy):
    documents = drawn[1.0].documents[:50]
    found = debias(strategy, documents)
    assert len(found.documents) == (50 if strategy == "anon" else 100) and found.counts.get("left", 0) == 0


def test_gender_is_swapped_in_every_copy(drawn):
    documents = drawn[1.0].documents[:50]
    copies = debias("ca", documents).documents[50:]
    words = [pair for two in zip(documents, copies, strict=True) for pair in zip(*(d.words for d in two), strict=True)]
    pronouns = [(GENDER[old.lower()], GENDER[new.lower()]) for old, new in words if old.lower() in GENDER]
    assert len(pronouns) > 500 and set(pronouns) == {("F", "M"), ("M", "F")}


@pytest.mark.parametrize("arguments", [{"bias": 2}, {"bias": -0.1}, {"n": 0}])
def test_wrong_arguments(arguments):
    for draw in (coreference_documents, coreference_pairs):
        with pytest.raises(BiasflowError, match=str(next(iter(arguments.values())))):
            draw(**{"bias": 1.0, "seed": 0, "n": 10, **arguments})


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda grammar: grammar.pop("openings"), "openings"),
        (lambda grammar: grammar["openings"].append("{person} left"), "left"),
        (lambda grammar: grammar["continuations"].append("{nobody} saw {object}"), "nobody"),
        (lambda grammar: grammar["two"][0].update(one=1.5), "1.5"),
        (lambda grammar: grammar["two"][0].update(frame="{one} met {object}"), "other"),
        (lambda grammar: grammar["occupations"]["F"].append("wizard"), "wizard"),
        (lambda grammar: grammar["occupations"]["F"].append("driver"), "driver"),
        (lambda grammar: grammar["occupations"].update(M=[]), "occupations"),
        (lambda grammar: grammar["scenes"].update(two=0.9), "sum to 1"),
        (lambda grammar: grammar.update(per_document=[5, 3]), "per_document"),
        (lambda grammar: grammar.update(two=grammar["two"][:1]), "held out"),
    ],
)
def test_a_wrong_grammar_is_named(tmp_path, change, named):
    grammar = yaml.safe_load((FOLDER / "coreference.yaml").read_text(encoding="utf-8"))
    change(grammar)
    path = tmp_path / "coreference.yaml"
    path.write_text(yaml.safe_dump(grammar), encoding="utf-8")
    with pytest.raises(BiasflowError, match=named) as error:
        load_grammar(path, world=WORLD)
    assert str(path) in str(error.value)
