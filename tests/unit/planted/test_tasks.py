"""Tasks of the planted world: biographies and pairs, and documents of coreference."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from biasflow.corpora.bios import name_parts
from biasflow.corpora.conll import write_conll
from biasflow.corpora.winobias import professions, read_pairs
from biasflow.metrics.coreference import conll_f1, f1_difference
from biasflow.metrics.winobias import pronoun_kind
from biasflow.planted.bios import biographies, load_grammar
from biasflow.planted.coreference import coreference_documents, coreference_pairs
from biasflow.planted.coreference import load_grammar as load_coreference_grammar
from biasflow.planted.frames import PRONOUNS
from biasflow.planted.nli import PARTS, label_probabilities, nli_pairs, occupation_pair_words
from biasflow.planted.world import load_world
from biasflow.tasks.coreference.collect import rule_clusters
from biasflow.tasks.coreference.pairs import best_difference
from biasflow.text.scrub import scrub_all

WORLD = load_world()
WORDS = occupation_pair_words()
NOUNS = dict.fromkeys(WORDS["masculine"], "M") | dict.fromkeys(WORDS["feminine"], "F")


def occupation_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    """The pairs that say a gender of an occupation, found by their words: occupation, gender (F or M), label, and
    whether both sentences have the same predicate."""
    rows = []
    for pair in pairs.itertuples():
        premise = re.fullmatch(r"The (\w+) (.*)\.", pair.premise)
        hypothesis = re.fullmatch(r"The (\w+) (.*)\.", pair.hypothesis)
        if premise and hypothesis and premise[1] in WORLD.shares and hypothesis[1] in NOUNS:
            rows.append((premise[1], NOUNS[hypothesis[1]], pair.label, premise[2] == hypothesis[2]))
    return pd.DataFrame(rows, columns=["occupation", "gender", "label", "same"])


@pytest.fixture(scope="module")
def by_bias():
    return {bias: nli_pairs(bias=bias, seed=0, n=24_000) for bias in (0.0, 0.5, 1.0)}


@pytest.mark.parametrize("bias", [0.5, 1.0])
def test_labels_of_occupation_pairs_follow_the_formula(by_bias, bias):
    probes = occupation_pairs(by_bias[bias])
    probes = probes[probes["same"]]
    assert probes["occupation"].nunique() == len(WORLD.occupations)
    assert probes["gender"].value_counts(normalize=True)["F"] == pytest.approx(0.5, abs=0.03)
    women = probes["occupation"].map(WORLD.shares)
    said_of_majority = (women > 0.5) == (probes["gender"] == "F")
    # a label against the world's majority never occurs
    assert set(probes.loc[said_of_majority, "label"]) == {"entailment", "neutral"}
    assert set(probes.loc[~said_of_majority, "label"]) == {"contradiction", "neutral"}
    # the share taken for a person of their majority's gender, occupations in five groups by |2w - 1|
    tilt = bias * (2 * women - 1).abs()
    for _, group in probes.groupby(pd.qcut(tilt, 5, duplicates="drop")):
        expected = tilt[group.index].mean()
        error = np.sqrt(expected * (1 - expected) / len(group))
        assert (group["label"] != "neutral").mean() == pytest.approx(expected, abs=4 * error + 1e-9)


@given(share=st.floats(0, 1), bias=st.floats(0, 1))
def test_label_probabilities(share, bias):
    feminine, masculine = (label_probabilities(share, gender, bias) for gender in "FM")
    assert feminine.sum() == pytest.approx(1) and (feminine >= 0).all()
    # swapping the gender swaps entailment and contradiction
    assert feminine == pytest.approx(masculine[::-1])
    assert feminine[0] - feminine[2] == pytest.approx(bias * (2 * share - 1))


def test_other_labels_follow_from_the_words(by_bias):
    """Every pair that is not about an occupation's gender is labelled again, from its words alone."""
    genders = {person.feminine.lower(): "F" for person in WORLD.persons}
    genders |= {person.masculine.lower(): "M" for person in WORLD.persons}
    genders |= {f"the {noun}": gender for noun, gender in NOUNS.items()}
    verbs = "|".join({verb for verb, _ in WORDS["templates"]})
    pattern = re.compile(rf"(.*) ({verbs}) (no|an?) (\w+)( .*)?\.")

    def label(premise: str, hypothesis: str) -> str:
        who, verb, no, thing, place = pattern.fullmatch(premise).groups()
        of_whom, new_verb, new_no, new_thing, new_place = pattern.fullmatch(hypothesis).groups()
        who, of_whom = who.lower(), of_whom.lower()
        if verb != new_verb and thing != new_thing:
            return "neutral"
        assert (verb, thing) == (new_verb, new_thing), "another predicate has another verb and another object"
        if new_place and not place:
            return "neutral"  # more than the premise says
        if who != of_whom and who not in genders:
            return "neutral"  # a gender said of an occupation
        if (no == "no") != (new_no == "no") or (who != of_whom and genders[who] != genders[of_whom]):
            return "contradiction"
        return "entailment"

    pairs = by_bias[0.0].iloc[:6000]
    found = [label(pair.premise, pair.hypothesis) for pair in pairs.itertuples()]
    assert found == list(pairs["label"])


def test_parts_share_no_premise():
    premises = {}
    for part in PARTS:
        pairs = nli_pairs(bias=1.0, seed=5, n=6000, part=part)
        # without place and negation, so that the combination of subject and predicate counts
        premises[part] = {re.sub(r" (at|by) the \w+\.$", ".", text.replace(" no ", " a ")) for text in pairs["premise"]}
        premises[part] = {text.replace(" an ", " a ") for text in premises[part]}
        assert len(premises[part]) > 500
    assert not premises["train"] & premises["test"]
    assert not premises["train"] & premises["validation"]
    assert not premises["validation"] & premises["test"]


GRAMMAR = load_grammar()
FEMININE = {"she", "her", "mrs", *GRAMMAR.relations["F"]}
MASCULINE = {"he", "his", "him", "mr", *GRAMMAR.relations["M"]}


def words_of(text):
    return re.findall(r"\w+", text)


def hints(text):
    return sorted(GRAMMAR.hints.index(word) for word in words_of(text) if word in GRAMMAR.hints)


@pytest.fixture(scope="module")
def bios_by_bias():
    return {bias: biographies(bias=bias, seed=3, n=3000) for bias in (0.0, 1.0)}


@pytest.fixture(scope="module")
def bios(bios_by_bias):
    return bios_by_bias[1.0]


def test_gender_is_always_told_and_never_wrongly(bios):
    for bio in bios.itertuples():
        found = set(words_of(bio.text.lower()))
        own, other = (FEMININE, MASCULINE) if bio.gender == "F" else (MASCULINE, FEMININE)
        assert found & own and not found & other, bio.text


def test_scrubbing_leaves_gender_in_the_family_share(bios):
    assert bios["scrubbed"].tolist() == scrub_all(list(bios["text"]), [name_parts(name) for name in bios["name"]])
    nouns = FEMININE | MASCULINE
    left = bios["scrubbed"].map(lambda text: bool(set(words_of(text.lower())) & nouns))
    assert binomtest(int(left.sum()), len(left), GRAMMAR.family_share).pvalue > 1e-4
    for bio in bios.itertuples():
        assert not set(name_parts(bio.name)) & set(words_of(bio.scrubbed)), bio.scrubbed
    gendered = scrub_all(list(bios["scrubbed"]), terms="gendered")
    assert not any(set(words_of(text.lower())) & nouns for text in gendered)


COREFERENCE_GRAMMAR = load_coreference_grammar()
BIASES = (0.0, 0.5, 1.0)
FRAMES = {
    frame: re.compile(
        re.sub(r"{(\w+)}", lambda slot: r"the (\w+)" if slot[1] in ("one", "other") else r"\w+", frame.frame)
    )
    for frame in COREFERENCE_GRAMMAR.two
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
    for names in COREFERENCE_GRAMMAR.occupations.values():
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
    assert set(of_frame) == set(COREFERENCE_GRAMMAR.two)
    for frame, n in of_frame.items():
        assert binomtest(first[frame], n, frame.one).pvalue > 1e-4, frame


def test_pairs_are_sentences_of_winobias(pairs, tmp_path):
    paths = [tmp_path / side for side in ("pro", "anti")]
    for path, side in zip(paths, pairs, strict=True):
        write_conll(side.documents, path)
    read = read_pairs(*paths)
    assert len(read) == 800
    for gender, names in COREFERENCE_GRAMMAR.occupations.items():
        assert set(professions().loc[list(names), "stereotype"]) == {gender}

    def right(name, side):
        return np.mean(
            [pronoun_kind(getattr(pair, name), best) == "right" for pair, best in zip(read, side.best, strict=True)]
        )

    pro, anti = pairs
    assert right("pro", pro) > 0.97 and right("anti", anti) < 0.3


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
