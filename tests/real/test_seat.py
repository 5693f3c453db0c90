"""WEAT and SEAT on the real files of the folder that BIASFLOW_DATA names."""

import os
from pathlib import Path

import pytest

from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.seat import SENTENCE_TESTS, WORD_TESTS, read_association_test

pytestmark = pytest.mark.skipif("BIASFLOW_DATA" not in os.environ, reason="BIASFLOW_DATA names no folder of real files")

SENTENCES_OF = {"MaleNames": 64, "FemaleNames": 64, "MaleTerms": 80, "FemaleTerms": 80, "Career": 101, "Family": 112}
TARGET_SENTENCES = {"weat7": 72, "weat7b": 72, "weat8": 56, "weat8b": 56}  # for both targets


@pytest.fixture(scope="module")
def read_tests():
    data = Path(os.environ["BIASFLOW_DATA"])
    catalogue = read_catalogue()
    return {
        name: read_association_test(data / catalogue.entry(name).mirror_path) for name in (*WORD_TESTS, *SENTENCE_TESTS)
    }


@pytest.mark.parametrize("name", WORD_TESTS)
def test_sentences_are_about_the_eight_words(read_tests, name):
    for role in "XY":
        words, sentences = getattr(read_tests[name], role), getattr(read_tests[f"sent-{name}"], role)
        assert sorted(set(sentences.about)) == list(range(8)) and words.about == tuple(range(8))
        for text, number in zip(sentences.examples, sentences.about, strict=True):
            stem = words.examples[number].lower()[:2]  # the words are in one order in both files
            parts = text.lower().replace("men", "man").split()
            assert any(part.startswith(stem) for part in parts), (text, stem)


@pytest.mark.parametrize("name", WORD_TESTS)
def test_sentences_are_as_many_as_specified_and_have_the_roles_of_the_words(read_tests, name):
    sets = {role: getattr(read_tests[f"sent-{name}"], role) for role in "XYAB"}
    assert [sets[role].category for role in "XYAB"] == [getattr(read_tests[name], role).category for role in "XYAB"]
    expected = [SENTENCES_OF.get(sets[role].category, TARGET_SENTENCES.get(name)) for role in "XYAB"]
    assert [len(set(sets[role].examples)) for role in "XYAB"] == expected
