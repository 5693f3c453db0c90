"""The glossary: every measure, eraser and strategy has a meaning, and words are linked to their definitions."""

import re

import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from biasflow.overview.glossary import MEANINGS, glossary
from biasflow.registry import ERASERS, METRICS, STRATEGIES
from tests.unit.overview import made_up


@pytest.fixture(scope="module")
def words():
    return made_up.words(made_up.run()[0])


def test_everything_of_the_registry_has_a_meaning_and_nothing_else():
    meanings = yaml.safe_load(MEANINGS.read_text("utf-8"))
    measures = {name for entry in METRICS.values() for name in entry.measures}
    assert {kind: set(names) for kind, names in meanings.items()} == {
        "measures": measures,
        "erasers": set(ERASERS),
        "strategies": set(STRATEGIES),
    }
    for text in (text for names in meanings.values() for text in names.values()):
        assert len(text.split()) > 3 and not text.endswith(".")


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
