"""WEAT and SEAT on the real files of the folder that BIASFLOW_DATA names, and through a small BERT beside it."""

import math
import os
from pathlib import Path

import pytest

from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.seat import SENTENCE_TESTS, WORD_TESTS, densray_tests, read_association_test
from biasflow.encoders.load import load_encoder
from biasflow.metrics.association import weat
from biasflow.readouts.reader import Reader
from biasflow.readouts.vectors import embed_test

pytestmark = pytest.mark.skipif("BIASFLOW_DATA" not in os.environ, reason="BIASFLOW_DATA names no folder of real files")
FOLDER = Path(os.environ.get("BIASFLOW_DATA", "")).parent / "models" / "litwiki-bert"

SENTENCES_OF = {"MaleNames": 64, "FemaleNames": 64, "MaleTerms": 80, "FemaleTerms": 80, "Career": 101, "Family": 112}
TARGET_SENTENCES = {"weat7": 72, "weat7b": 72, "weat8": 56, "weat8b": 56}  # for both targets


@pytest.fixture(scope="module")
def read_tests():
    data = Path(os.environ["BIASFLOW_DATA"])
    catalogue = read_catalogue()
    return {
        name: read_association_test(data / catalogue.entry(name).mirror_path) for name in (*WORD_TESTS, *SENTENCE_TESTS)
    }


@pytest.fixture(scope="module")
def encoder():
    if not FOLDER.is_dir():
        pytest.skip("no models/litwiki-bert beside the folder that BIASFLOW_DATA names")
    return Reader(*load_encoder(FOLDER, head="none"))


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


def test_weat_of_a_small_bert(read_tests, encoder):
    for name, test in densray_tests(read_tests).items():
        vectors = embed_test(encoder, test, pooling="target")
        found = weat(*(vectors[role][0] for role in "XYAB"))
        assert found.exact and found.partitions == math.comb(16, 8)
        assert 0 < abs(found.effect_size) < 2 and 0 < found.p_value < 1, name


@pytest.mark.parametrize("pooling", ["cls", "mean", "first-piece"])
def test_seat_of_a_small_bert(read_tests, encoder, pooling):
    for name in SENTENCE_TESTS:
        vectors = embed_test(encoder, read_tests[name], pooling=pooling)
        found = weat(*(vectors[role][0] for role in "XYAB"), ddof=1, ties="inclusive", samples=1000)
        assert not found.exact and 0 < abs(found.effect_size) < 2 and 0 < found.p_value <= 1, name
