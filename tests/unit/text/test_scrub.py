"""Scrubbing: what goes, what stays, twice is once, and the texts of a table of biographies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.tabular import read_text_csv
from biasflow.text.gender_lexicon import default_lexicon
from biasflow.text.scrub import TERMS, WORDS, gendered_nouns, scrub

FRAGMENTS = ["he", "She", "HERS", "himself", "Mr.", "MS", "wife", "Women", "Miss", "Ann", "Annual", "De La", "A.", "_"]
texts = st.lists(st.sampled_from([*FRAGMENTS, " ", "-", "'", ".", "é", "x"]), max_size=25).map("".join) | st.text()
names = st.lists(st.sampled_from(["Ann", "A.", "De La", "De", "", "O'x", "x-x"]), max_size=4)


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("He saw her; she saw him.", "_ saw _; _ saw _."),
        ("His own, hers, himself and Herself", "_ own, _, _ and _"),
        ("Mr. Hill, MRS Hill, ms. Hill", "_. Hill, _ Hill, _. Hill"),
        ("She's here", "_'s here"),
        ("HE HIMSELF and SHe: the, there, sheer, this, Hershey", "_ _ and _: the, there, sheer, this, Hershey"),
        ("Sir Ian, Dame Ann, Miss _ and Miss Ann miss sir", "_ Ian, _ Ann, _ _ and _ Ann miss sir"),
        ("Her husband and a woman", "_ husband and a woman"),  # nouns stay
        ("", ""),
        (" and\the", " and\t_"),
    ],
)
def test_pronouns_and_titles(text, scrubbed):
    assert scrub(text) == scrubbed


@pytest.mark.parametrize(
    ("text", "parts", "scrubbed"),
    [
        ("Ann gave the Annual talk; Ann's.", ("Ann", "", "Hill"), "_ gave the Annual talk; _'s."),
        ("ann left", ("Ann",), "ann left"),
        ("Dr. A. van den Berg, den 3", ("A.", "van den Berg", "den"), "Dr. _ _, _ 3"),
        ("what (is) it", ("(is)", "w.*"), "what _ it"),
    ],
)
def test_names(text, parts, scrubbed):
    assert scrub(text, parts) == scrubbed


@given(texts, names, st.sampled_from(TERMS))
def test_twice_is_once(text, parts, terms):
    once = scrub(text, parts, terms=terms)
    assert scrub(once, parts, terms=terms) == once


def test_the_list_of_nouns():
    nouns = gendered_nouns()
    assert {"husband", "wife", "mother", "women", "chairman", "midwife", "pregnant"} <= nouns.any_case
    assert not nouns.any_case & {"he", "her", "bachelor", "king", "maternity"}
    assert {"king", "queen"} <= nouns.lower_case and not nouns.any_case & nouns.lower_case
    titles = nouns.titles
    assert titles.search("Sir Ian") and not titles.search("sir Ian") and not titles.search("Miss them")


def test_every_word_of_the_list_is_of_one_kind_and_gendered():
    """A word that the swapper's lexicon does not know tells no gender, or has no counterpart."""
    table, heads = read_text_csv(WORDS), default_lexicon().heads
    assert table["word"].is_unique and set(table["kind"]) == {"relation", "person", "alone", "lower", "title"}
    words = table.loc[table["kind"] != "alone", "word"]
    assert [word for word in words if word not in heads or not heads[word].entries] == []
