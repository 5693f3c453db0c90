"""The occupations and tests of paper A by name."""

import json

import pytest

from biasflow.planted.world import load_world
from biasflow.stimuli.densray_sets import read_occupation_set, read_test


def association_file(path):
    sets = {key: {"category": key, "examples": ["a", "B"]} for key in ("targ1", "targ2", "attr1", "attr2")}
    path.write_text(json.dumps(sets))
    return path


@pytest.mark.parametrize(
    ("name", "first"), [("planted", "[MASK] is a {} ."), ("planted-occupations", "The {} said that [MASK] was late.")]
)
def test_planted_occupations_need_no_file(name, first):
    found = read_occupation_set(name)
    assert found.occupations == list(load_world().occupations)
    assert found.sentences[0] == first.format(found.occupations[0]) and found.pronouns == ("he", "she")


def test_words_and_sentences_are_told_apart(tmp_path):
    path = association_file(tmp_path / "file")
    words, of_words = read_test("C6", path)
    assert of_words and words.X.category == "attr1"  # paper A exchanges targets and attributes
    assert words.X.examples == ("a", "b")  # and takes lower case
    sentences, of_words = read_test("sent-weat8", path)
    assert not of_words and sentences.X.examples == ("a", "B")
    planted, of_words = read_test("planted")
    assert of_words and [len(getattr(planted, role).examples) for role in "XYAB"] == [8, 8, 8, 8]
    assert "nurse" in planted.X.examples and not set(planted.X.examples) & set(planted.Y.examples)
    assert all(" " not in word for word in (*planted.A.examples, *planted.B.examples))
