"""Planted biographies: shares, words, what they tell, and what the best answers make of them."""

import re

import numpy as np
import pytest
import yaml
from scipy.stats import binomtest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.bios import name_parts
from biasflow.planted.bios import biographies, load_grammar
from biasflow.planted.world import FOLDER, load_world
from biasflow.text.scrub import scrub_all

WORLD = load_world()
GRAMMAR = load_grammar(world=WORLD)
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


def likeliest(bios, bias, shown):
    """The best answers by Bayes' rule, one biography at a time."""
    answers = []
    for bio in bios.itertuples():
        scores = []
        for code, profession in enumerate(GRAMMAR.professions):
            share = WORLD.share(profession, bias)
            known = (share if bio.gender == "F" else 1 - share) if shown else 1.0
            scores.append(known * np.prod(GRAMMAR.p_hint[code, hints(bio.text)]))
        answers.append(GRAMMAR.professions[int(np.argmax(np.round(scores, 12)))])
    return np.array(answers)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda grammar: grammar.pop("hint"), "hint"),
        (lambda grammar: grammar["opening"].append("{nobody} left"), "nobody"),
        (lambda grammar: grammar["pairs"][0].update(weight=1.5), "1.5"),
        (lambda grammar: grammar["pairs"][0].update(professions=["cleaner", "wizard"]), "surgeon|wizard"),
        (lambda grammar: grammar["pairs"].append(grammar["pairs"][0]), "cleaner"),
        (lambda grammar: grammar["own"].pop("tailor"), "tailor"),
        (lambda grammar: grammar["own"]["tailor"].append("lipstick"), "lipstick"),
        (lambda grammar: grammar["own"]["tailor"].append("rain"), "rain"),
        (lambda grammar: grammar["own"].update(tailor=[]), "every profession"),
        (lambda grammar: grammar.update(opening=[]), "opening"),
    ],
)
def test_a_wrong_grammar_is_named(tmp_path, change, named):
    grammar = yaml.safe_load((FOLDER / "bios.yaml").read_text(encoding="utf-8"))
    change(grammar)
    path = tmp_path / "bios.yaml"
    path.write_text(yaml.safe_dump(grammar), encoding="utf-8")
    with pytest.raises(BiasflowError, match=named) as error:
        load_grammar(path, world=WORLD)
    assert str(path) in str(error.value)
