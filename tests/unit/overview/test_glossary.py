"""The glossary: every measure, eraser and strategy has a meaning, and words are linked to their definitions."""

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.overview.glossary import glossary
from biasflow.plan.choices import CHOICES
from biasflow.registry import ERASERS, METRICS, STRATEGIES
from biasflow.results.meanings import meanings
from tests.unit.overview import made_up


@pytest.fixture(scope="module")
def words():
    return made_up.words(made_up.run()[0])


def test_everything_of_the_registry_has_a_meaning_and_nothing_else():
    measures = [name for entry in METRICS.values() for name in entry.measures]
    for kind, names in (("measures", measures), ("erasers", ERASERS), ("strategies", STRATEGIES)):
        assert set(meanings(kind)) == set(names)
        for name, text in meanings(kind).items():
            assert len(text.split()) > 3 and not text.endswith(".")
            assert text in dict(CHOICES[kind](None))[name]  # `biasflow list` prints it


def test_words_have_one_definition_each(words):
    entries = [entry for group in words.groups.values() for entry in group]
    names = [name for entry in entries for name in entry.names]
    assert len(set(names)) == len(names) and len({entry.id for entry in entries}) == len(entries)
    wanted = "score measure method setting seed encoder model cost control item head".split()
    wanted += [
        "neutral value",
        "confidence interval",
        "Holm",
        "TPR gap",
        "no claim",
        "keeps quality",
        "Strength",
        "alpha",
    ]
    assert set(wanted) <= set(names)
    assert not [entry for entry in entries if re.search(r"[*`]|\]\(", entry.text)]


def test_measures_say_their_neutral_value_and_methods_their_eraser(words):
    assert words.meaning("perplexity").endswith("Neutral value: 1. Lower is better.")
    assert words.meaning("alpha").startswith(
        "alpha: LEACE (places: last): it changes the vectors as little as possible"
    )
    assert words.meaning("scrubbing + alpha").count(": ") >= 2 and words.meaning("no such name") == ""


def test_a_control_is_said_to_be_one():
    scored = made_up.scores(**{"zeta-random0": (1.0, 10.0)})
    names = pd.DataFrame(columns=["name", "kind", "attribute", "value"])
    found = glossary(made_up.matrix(scored, made_up.plan(scored)), names)
    assert found.meaning("zeta-random0").startswith("zeta-random0: the control of zeta: ")
    assert "zeta: a method of this configuration" in found.meaning("zeta")


def test_the_first_use_of_a_word_is_linked_and_nothing_else(words):
    assert words.pieces("Scores and a score.") == [("", ""), ("Scores", "word-score"), (" and a score.", "")]
    assert words.pieces("scoreboard under-score") == [("scoreboard under-score", "")]
    assert ("TPR gap (P)", "word-tpr-gap-p") in words.pieces("the TPR gap (P) of it")
    assert ("95 % intervals", "word-confidence-interval") in words.pieces("The 95 % intervals")
    assert words.pieces("") == [("", "")]


@given(st.text("score modelN<&>. -", max_size=60))
def test_no_character_is_lost_or_added(words, text):
    assert "".join(piece for piece, _ in words.pieces(text)) == text


def test_a_measure_has_its_card_and_a_word_or_a_method_has_none(words):
    cards = {entry.names[0]: dict(entry.card) for group in words.groups.values() for entry in group}
    assert cards["Strength"]["needs"] == "an encoder as it was pre-trained, with a next-sentence head"
    assert cards["Strength"]["with its definition"].startswith("docs/measures/strength.md")
    assert not cards["score"] and not cards["alpha"]
