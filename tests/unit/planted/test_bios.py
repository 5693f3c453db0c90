"""Planted biographies: shares, words, what they tell, and what the best answers make of them."""

import re

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import binomtest, chisquare

from biasflow.base.errors import BiasflowError
from biasflow.corpora.bios import COLUMNS, name_parts
from biasflow.planted.bios import biographies, load_grammar
from biasflow.planted.corpus import discourses
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


def test_same_arguments_same_biographies():
    one, again, other = (biographies(bias=0.5, seed=seed, n=50) for seed in (1, 1, 2))
    assert one.equals(again) and not one.equals(other)


def test_columns_and_distinct_texts(bios):
    assert tuple(bios.columns) == COLUMNS and len(bios) == 3000
    assert bios["text"].is_unique and set(bios["gender"]) == {"F", "M"}


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_shares_of_women_are_the_planted_ones(by_bias, bias):
    for profession, members in by_bias[bias].groupby("profession"):
        women = int((members["gender"] == "F").sum())
        assert binomtest(women, len(members), WORLD.share(profession, bias)).pvalue > 1e-4, profession


def test_professions_spread_and_are_balanced(bios):
    shares = [WORLD.shares[profession] for profession in GRAMMAR.professions]
    assert len(shares) == 8 and min(shares) < 0.2 and max(shares) > 0.8 and abs(np.mean(shares) - 0.5) < 0.02
    assert chisquare(bios["profession"].value_counts()).pvalue > 1e-4


def test_every_word_is_one_of_the_planted_corpus(bios):
    known = {
        word for discourse in discourses(bias=0, seed=0, n=20_000) for text in discourse for word in words(text.lower())
    }
    assert {word for text in bios["text"] for word in words(text.lower())} <= known


def test_the_profession_is_never_named_and_texts_are_short(bios):
    assert not any(set(words(text.lower())) & set(WORLD.occupations) for text in bios["text"])
    lengths = bios["text"].map(lambda text: len(words(text)))
    assert 20 < lengths.mean() < 30 and lengths.max() < 40


def test_gender_is_always_told_and_never_wrongly(bios):
    for bio in bios.itertuples():
        found = set(words(bio.text.lower()))
        own, other = (FEMININE, MASCULINE) if bio.gender == "F" else (MASCULINE, FEMININE)
        assert found & own and not found & other, bio.text


def test_hints_follow_the_profession_and_not_the_gender(bios):
    """The counts of hint words against P(hint | profession), for women and men apart."""
    for (profession, _), members in bios.groupby(["profession", "gender"]):
        found = np.bincount(np.concatenate(list(members["text"].map(hints))), minlength=len(GRAMMAR.hints))
        expected = GRAMMAR.p_hint[GRAMMAR.professions.index(profession)]
        assert found.sum() == 2 * len(members) and not found[expected == 0].any()
        assert chisquare(found[expected > 0], found.sum() * expected[expected > 0]).pvalue > 1e-5, profession


def test_hints_go_with_no_gender_in_the_world():
    assert not set(GRAMMAR.hints) & set(WORLD.shares)
    assert np.allclose(GRAMMAR.p_hint.sum(axis=1), 1)


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


def gaps_of(bios, answers):
    """By profession: the share of its women whose answer is right, less that of its men."""
    right = (answers == bios["profession"]).groupby([bios["profession"], bios["gender"]]).mean().unstack()
    return right["F"] - right["M"]


def test_what_is_planted(by_bias):
    """Who knows all there is to know, and is shown the gender, favours the profession's majority at full bias alone."""
    shares = pd.Series({profession: WORLD.shares[profession] for profession in GRAMMAR.professions})
    biased, unbiased = (gaps_of(by_bias[bias], likeliest(by_bias[bias], bias, shown=True)) for bias in (1.0, 0.0))
    assert biased.corr(shares) > 0.9 and biased.abs().sum() > 2
    assert unbiased.abs().max() < 0.12


def test_without_the_gender_there_is_no_gap_and_less_accuracy(bios):
    hidden, shown = (likeliest(bios, 1.0, shown=told) for told in (False, True))
    assert gaps_of(bios, hidden).abs().max() < 0.12
    assert 0.8 < (hidden == bios["profession"]).mean() < (shown == bios["profession"]).mean() - 0.05


@pytest.mark.parametrize("arguments", [{"bias": 2}, {"bias": -0.1}, {"n": 0}])
def test_wrong_arguments(arguments):
    with pytest.raises(BiasflowError, match=str(next(iter(arguments.values())))):
        biographies(**{"bias": 1.0, "seed": 0, "n": 10, **arguments})


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
