"""The glossary: every measure, eraser and strategy has a meaning, and words are linked to their definitions."""

import re

import pytest

from tests.unit.overview import made_up


@pytest.fixture(scope="module")
def words():
    return made_up.words(made_up.run()[0])


def test_words_have_one_definition_each(words):
    entries = [entry for group in words.groups.values() for entry in group]
    names = [name for entry in entries for name in entry.names]
    assert len(set(names)) == len(names) and len({entry.id for entry in entries}) == len(entries)
    wanted = "score measure method setting seed encoder model cost control item head".split()
    wanted += [
        "neutral value",
        "confidence interval",
        "Holm",
        "trusted",
        "disputed",
        "weak head",
        "weak control",
        "TPR gap",
        "no claim",
        "keeps quality",
        "trusted",
        "disputed",
        "weak head",
        "weak control",
        "Strength",
        "alpha",
    ]
    assert set(wanted) <= set(names)
    assert not [entry for entry in entries if re.search(r"[*`]|\]\(", entry.text)]


def test_the_first_use_of_a_word_is_linked_and_nothing_else(words):
    assert words.pieces("Scores and a score.", "one") == [("", ""), ("Scores", "word-score"), (" and a score.", "")]
    assert words.pieces("A score.", "one") == [("A score.", "")] != words.pieces("A score.", "other")
    assert "word-score" in {entry.id for entry in words.used()["Words"]}
    assert words.pieces("scoreboard under-score", "one") == [("scoreboard under-score", "")]
    assert ("TPR gap (P)", "word-tpr-gap-p") in words.pieces("the TPR gap (P) of it", "one")
    assert ("95 % intervals", "word-confidence-interval") in words.pieces("The 95 % intervals", "one")
    assert words.pieces("", "one") == [("", "")]
