"""Planted biographies: shares, words, what they tell, and what the best answers make of them."""

import re

import pytest
from scipy.stats import binomtest

from biasflow.corpora.bios import name_parts
from biasflow.planted.bios import biographies, load_grammar
from biasflow.planted.world import load_world
from biasflow.text.scrub import scrub_all

WORLD = load_world()
GRAMMAR = load_grammar()
FEMININE = {"she", "her", "mrs", *GRAMMAR.relations["F"]}
MASCULINE = {"he", "his", "him", "mr", *GRAMMAR.relations["M"]}


def words(text):
    return re.findall(r"\w+", text)


def hints(text):
    return sorted(GRAMMAR.hints.index(word) for word in words(text) if word in GRAMMAR.hints)


@pytest.fixture(scope="module")
def by_bias():
    return {bias: biographies(bias=bias, seed=3, n=3000) for bias in (0.0, 1.0)}


@pytest.fixture(scope="module")
def bios(by_bias):
    return by_bias[1.0]


def test_gender_is_always_told_and_never_wrongly(bios):
    for bio in bios.itertuples():
        found = set(words(bio.text.lower()))
        own, other = (FEMININE, MASCULINE) if bio.gender == "F" else (MASCULINE, FEMININE)
        assert found & own and not found & other, bio.text


def test_scrubbing_leaves_gender_in_the_family_share(bios):
    assert bios["scrubbed"].tolist() == scrub_all(list(bios["text"]), [name_parts(name) for name in bios["name"]])
    nouns = FEMININE | MASCULINE
    left = bios["scrubbed"].map(lambda text: bool(set(words(text.lower())) & nouns))
    assert binomtest(int(left.sum()), len(left), GRAMMAR.family_share).pvalue > 1e-4
    for bio in bios.itertuples():
        assert not set(name_parts(bio.name)) & set(words(bio.scrubbed)), bio.scrubbed
    gendered = scrub_all(list(bios["scrubbed"]), terms="gendered")
    assert not any(set(words(text.lower())) & nouns for text in gendered)
