"""Sentences of trait ratings, from tables of the user's and from lists as the authors write them."""

import pytest

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.left_out import LeftOut
from biasflow.corpora.trait_ratings import items, read_traits

OWN = {
    "words": "group,word,object,genitive,possessive\n"
    "masculine,he,him,his,\nfeminine,my mother,,,\nneo,xe,xem,xyr,xyr\n",
    "traits": "trait\nwarm\nhonest\nunique\nunkind\n",
    "templates": "template\n{word} has {article} {trait} heart.\nThey like {object} for {possessive} {trait} heart.\n"
    "{genitive} {trait} heart helps at {possessive} work.\n",
}
AUTHORS = {
    "masculine": "he\nsailor_man\nsailor_man\n",
    "feminine": "she\n",
    "neo": "xe",
    "templates": "[DETERMINER][AAA] has [ARTICLE] [TTT] heart.\n"
    "people admire [DETERMINER][AAA] for [PRONOUN] [TTT] heart.\n"
    "[DETERMINER][AAA]'s [TTT] heart helps.",
    "factor1": "warm\nable",
    "factor2": "calm\nwarm",
}


def listed(tmp_path, texts):
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    left_out = LeftOut()
    with left_out.told():
        table = items(**{name: tmp_path / name for name in texts})
    return table, left_out


def spans(row):
    """What is asked for, and what is masked beside it."""
    places = [(row.start, row.end), (row.also_start, row.also_end), (row.further_start, row.further_end)]
    return [row.text[start:end] for start, end in places if start >= 0]


def test_words_traits_and_possessives_are_found_in_sentences_of_own_lists(tmp_path):
    table, _ = listed(tmp_path, OWN)
    assert len(table) == 3 * 3 * 4 * 3 and table["item"].value_counts().eq(3).all()
    of = {(row.text, row.masked): spans(row) for row in table[table["trait"] == "unique"].itertuples()}
    assert of["he has a unique heart.", "shown"] == ["he"]
    assert of["he has a unique heart.", "hidden"] == ["he", "unique"]
    assert of["my mother has a unique heart.", "hidden"] == ["mother", "unique"]
    assert of["They like him for his unique heart.", "shown"] == ["him", "his"]
    assert of["They like my mother for her unique heart.", "hidden"] == ["mother", "unique", "her"]
    assert of["xyr unique heart helps at xyr work.", "shown"] == ["xyr", "xyr"]
    assert of["my mother's unique heart helps at her work.", "shown"] == ["mother", "her"]
    whole = table[table["masked"] == "whole"]
    assert all(spans(row) == [row.text] for row in whole.itertuples()) and {*whole["filling"]} == {"one-by-one"}


def test_lists_of_the_authors(tmp_path):
    table, _ = listed(tmp_path, AUTHORS)
    assert list(table["trait"].unique()) == ["warm", "able", "calm"]  # each once, of all factors
    of = {row.text: spans(row) for row in table[(table["masked"] == "shown") & (table["trait"] == "able")].itertuples()}
    assert of == {
        "he has an able heart.": ["he"],
        "the sailor_man has an able heart.": ["sailor_man"],
        "she has an able heart.": ["she"],
        "xe has an able heart.": ["xe"],
        "people admire him for his able heart.": ["him", "his"],
        "people admire the sailor_man for his able heart.": ["sailor_man", "his"],
        "people admire her for her able heart.": ["her", "her"],
        "people admire xem for xyr able heart.": ["xem", "xyr"],
        "his able heart helps.": ["his"],
        "the sailor_man's able heart helps.": ["sailor_man"],
        "her able heart helps.": ["her"],
        "xe's able heart helps.": ["xe"],
    }


def test_articles_follow_the_sound_or_the_table(tmp_path):
    (tmp_path / "t.csv").write_text("trait,article\nhonest,\nunique,\nunkind,\nusual,\nhuge,\nheroic,an\n")
    found = read_traits(tmp_path / "t.csv").set_index("trait")["article"]
    assert found.to_dict() == {"honest": "an", "unique": "a", "unkind": "an", "usual": "a", "huge": "a", "heroic": "an"}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("templates", OWN["templates"] + "{word} is kind.\n", "template"),
        ("templates", OWN["templates"] + "{word} and {object} are {trait}.\n", "template"),
        ("templates", OWN["templates"] + "{trait} {name} is {word}.\n", "template"),
        ("words", OWN["words"] + "other,they,them,their,their\n", "group"),
        ("traits", OWN["traits"] + '""\n', "trait"),
    ],
)
def test_an_odd_row_is_left_out_and_counted(tmp_path, name, text, reason):
    table, left_out = listed(tmp_path, OWN | {name: text})
    assert len(table) == 3 * 3 * 4 * 3 or name == "traits"
    assert len(left_out.reasons) == (name != "traits") and all(reason in why for why in left_out.reasons.values())


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("templates", "sentence\n{word} is {trait}.\n", "no column template"),
        ("traits", "adjective\nwarm\n", "no column trait"),
        ("words", "group,word\nfemale,she\n", "line 2: column group"),
        ("words", "group,word\nfeminine,she\n", "no masculine word"),
    ],
)
def test_a_list_that_is_wrong_as_a_whole_is_named(tmp_path, name, text, match):
    with pytest.raises((BiasflowError, AbsentError), match=match):
        listed(tmp_path, OWN | {name: text})
