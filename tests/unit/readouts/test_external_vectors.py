"""WEAT and SEAT from vectors that somebody gives: the effect sizes are those of the vectors, by both deviations."""

import json
from itertools import chain

import numpy as np
import pytest

from biasflow.corpora.seat import ROLES
from biasflow.metrics.association import score, weat
from biasflow.readouts.external_vectors import read

SETS = {
    "X": ["Career", "salary", "office", "business"],
    "Y": ["home", "family", "children", "wedding"],
    "A": ["John", "Paul", "Mike"],
    "B": ["Amy", "Lisa", "Sarah"],
}


@pytest.fixture
def vectors():
    rng = np.random.default_rng(0)
    return {text: rng.normal(size=5) for text in chain(*SETS.values())}


@pytest.fixture
def rows(tmp_path, vectors):
    """A function of the texts that have a vector -> metric and part -> value, of a test of words or sentences."""

    def rows(name="sent-weat6", without=()):
        test = {key: {"category": role, "examples": SETS[role]} for role, key in ROLES.items()}
        (tmp_path / "test.jsonl").write_text(json.dumps(test))
        np.savez(tmp_path / "theirs.npz", **{text: one for text, one in vectors.items() if text not in without})
        facts = read([tmp_path / "theirs.npz"], {"test": (tmp_path / "test.jsonl",)}, tmp_path / "out", dataset=name)
        left_out = {"of": 14, "items": dict.fromkeys(without, "no vector in the files")}
        assert facts == {"words": 14, **({"left_out": left_out} if without else {})}
        found = score(tmp_path / "out")
        assert set(found["variant"]) == {"given"} and set(found["method"]) == {"none"}
        return found.set_index(["metric", "part"])["value"]

    return rows


def expected(vectors, sets=SETS, ddof=0):
    return weat(*(np.stack([vectors[text] for text in sets[role]]) for role in "XYAB"), ddof=ddof)


def test_seat_has_the_sample_deviation_and_the_other_one_beside_it(rows, vectors):
    found = rows()
    assert found["seat_effect_size", "-"] == pytest.approx(expected(vectors, ddof=1).effect_size, rel=1e-12)
    assert found["seat_effect_size", "population"] == pytest.approx(expected(vectors, ddof=0).effect_size, rel=1e-12)
    assert found["seat_effect_size", "population"] / found["seat_effect_size", "-"] == pytest.approx(np.sqrt(8 / 7))
    assert found["seat_missing_words", "-"] == 0


def test_the_words_of_paper_a_are_looked_for_in_any_case_with_its_roles(rows, vectors):
    found = rows("C6")  # lower-cased; targets and attributes are exchanged
    exchanged = {"X": SETS["A"], "Y": SETS["B"], "A": SETS["X"], "B": SETS["Y"]}
    assert found["weat_effect_size", "-"] == pytest.approx(expected(vectors, exchanged).effect_size, rel=1e-12)
    assert found["weat_effect_size", "sample"] / found["weat_effect_size", "-"] == pytest.approx(np.sqrt(5 / 6))


def test_missing_words_are_left_out_named_and_counted(rows, vectors):
    found = rows(without=("Career", "Amy"))
    kept = {role: [text for text in texts if text not in ("Career", "Amy")] for role, texts in SETS.items()}
    assert found["seat_missing_words", "-"] == 2
    assert found["seat_effect_size", "-"] == pytest.approx(expected(vectors, kept, 1).effect_size, rel=1e-12)
