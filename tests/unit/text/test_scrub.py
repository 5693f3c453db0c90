"""Scrubbing: what goes, what stays, twice is once, and the texts of a table of biographies."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.text.gender_lexicon import WORD
from biasflow.text.scrub import TERMS, gendered_nouns, scrub, scrub_all

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


def test_gendered_terms():
    text = "His wife, an Actress and guy, and Miss Hill miss Women of Duke University (bachelor, maternity)."
    assert scrub(text, ("Hill",), terms="gendered") == (
        "_ _, an _ and _, and _ _ miss _ of Duke University (bachelor, maternity)."
    )
    text = "The nurse-midwife met a Pregnant queen; Mr. King, King's College and kings."
    assert scrub(text, terms="gendered") == "The nurse-_ met a _ _; _. King, King's College and _."


def test_the_released_terms_leave_what_the_released_expression_leaves():
    text = "He met SHe, HE, Miss Hill, Mr. Hill and Sir Ian's wife."
    assert scrub(text, terms="released") == "_ met SHe, HE, Miss Hill, _. Hill and Sir Ian's wife."


@given(texts, names, st.sampled_from(TERMS))
def test_twice_is_once(text, parts, terms):
    once = scrub(text, parts, terms=terms)
    assert scrub(once, parts, terms=terms) == once


@given(texts)
def test_only_whole_words_change(text):
    """What the released expression leaves is left; no text between the words is touched."""
    plain = re.compile(
        r"\b([Hh]e|[Ss]he|[Hh]er|[Hh]is|[Hh]im|[Hh]ers|[Hh]imself|[Hh]erself|[mM][rR]|[mM][rR][sS]|[mM][sS])\b"
    )
    assert scrub(text, terms="released") == plain.sub("_", text)


@given(texts, names)
def test_each_of_the_terms_scrubs_what_the_one_before_it_does(text, parts):
    blanks = [scrub(text, parts, terms=terms).count("_") for terms in TERMS]
    assert blanks == sorted(blanks)


@given(texts, st.sampled_from(TERMS))
def test_as_many_words_are_left(text, terms):
    assert len(WORD.findall(scrub(text, terms=terms))) == len(WORD.findall(text))


@given(st.lists(st.tuples(texts, names), max_size=5), st.sampled_from(TERMS))
def test_many_are_as_one_by_one(pairs, terms):
    together = scrub_all([text for text, _ in pairs], [parts for _, parts in pairs], terms=terms)
    assert together == [scrub(text, parts, terms=terms) for text, parts in pairs]


def test_without_names():
    assert scrub_all(["He and Ann"]) == ["_ and Ann"]


def test_other_terms_are_named():
    with pytest.raises(BiasflowError, match="names"):
        scrub("He", terms="names")


def test_the_list_of_nouns():
    nouns = gendered_nouns()
    assert {"husband", "wife", "mother", "women", "chairman", "midwife", "pregnant"} <= nouns.any_case
    assert not nouns.any_case & {"he", "her", "bachelor", "king", "maternity"}
    assert {"king", "queen"} <= nouns.lower_case and not nouns.any_case & nouns.lower_case
    titles = nouns.titles
    assert titles.search("Sir Ian") and not titles.search("sir Ian") and not titles.search("Miss them")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("noun\nwife\n", "word, kind"),
        ("word,kind\n", "words"),
        ("word,kind\nwife,spouse\n", "wife"),
        ("word,kind\nspoon,person\n", "spoon"),
        ("word,kind\nwife,person\nwife,relation\n", "wife"),
    ],
)
def test_a_wrong_list_is_named(tmp_path, content, named):
    path = tmp_path / "words.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BiasflowError, match=named) as error:
        gendered_nouns(path)
    assert str(path) in str(error.value)


def test_a_list_without_titles(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("word,kind\nwife,relation\n", encoding="utf-8")
    nouns = gendered_nouns(path)
    assert nouns.any_case == {"wife"} and not nouns.lower_case and not nouns.titles.search("Miss Hill")
