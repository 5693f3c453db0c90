"""Word lists of a user's own in the plan: what is read of them, for whom, and what is said before the first job."""

import pytest

from biasflow.plan.own_words import warnings
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.plan.configs import SCHEMA, asking, planned, resolve, setup_of

ALL = ("weat", "seat", "ceat")
SETS = ["role,set_name,word", *(f"{role},{role.lower()},{role}{number}" for role in "XYAB" for number in (1, 2))]


@pytest.fixture
def lists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sets.csv").write_text("\n".join(SETS))
    (tmp_path / "pairs.csv").write_text("Christianity,Islam\nchurch,mosque\nbible,quran\n")
    word_tokenizer(["x1", "x2", "y1", "a1", "a2", "b1", "b2", "church", "mosque", "bible"]).save_pretrained("somewhere")


def own(*changes, **keys) -> dict:
    tests = [(f"metrics.{metric}.own.race", {"file": "sets.csv", **keys}) for metric in ALL]
    block = {"encoders": ["own", "real"], "methods": ["none", "leace"], "metrics": [*ALL, "gender_share"]}
    return asking(block, *tests, *changes)


PAIRS = ("fitting.words", {"name": "religion", "file": "pairs.csv"})


def read(plan, encoder="real") -> dict[tuple[str, str], dict]:
    """Of an encoder, readout and dataset -> files."""
    readings = (reading for reading in plan.readings.values() if reading.model.encoder == encoder)
    return {(each.readout, each.dataset.label): dict(each.dataset.files) for each in readings}


def test_own_tests_are_read_beside_the_others():
    found = read(planned(own()))
    assert found["vectors", "race"] == found["vectors", "sent-race"] == {"own": ("sets.csv",)}
    contexts = "results/test/data/contexts/real/race.parquet"
    assert found["associations", "race"] == {"contexts": (contexts,), "own": ("sets.csv",)}
    assert {("vectors", "C6"), ("vectors", "sent-weat6"), ("associations", "C6")} <= set(found)
    assert ("associations", "race") in read(planned(own()), "own")


def test_contexts_of_own_words_are_not_those_of_others():
    """So that an edited list looks for its own contexts anew, and scores its own test."""
    found = read(planned(own()))
    assert found["associations", "C6"]["contexts"] != found["associations", "race"]["contexts"]


def test_words_that_a_local_vocabulary_splits_are_said_with_their_number(lists):
    config = resolve(own(PAIRS), SCHEMA)
    said = warnings(setup_of(config), planned(config))
    assert said == [
        "sets.csv: the vocabulary of real splits 1 of 8 words (Y2); WEAT takes the mean of the pieces, CEAT the last "
        "one",
        "pairs.csv: the vocabulary of real splits 1 of 4 words (quran); erasers are not fitted to these",
    ]
