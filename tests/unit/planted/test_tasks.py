"""Planted biographies and NLI pairs: shares and parts, and the bias in them."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from biasflow.corpora.bios import name_parts
from biasflow.planted.bios import biographies, load_grammar
from biasflow.planted.nli import PARTS, label_probabilities, nli_pairs, occupation_pair_words
from biasflow.planted.world import load_world
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


@settings(max_examples=50, deadline=None)
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
