"""Sets of words by name: those of CEAT with files of one's own, and paper A's occupations and tests."""

import json

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.planted.association import planted_test
from biasflow.planted.world import load_world
from biasflow.stimuli.ceat_sets import ceat_tests, read_ceat_sets, sets_of_vectors, words_of
from biasflow.stimuli.densray_sets import read_occupation_set, read_test

HEADER = "test,role,set_name,word\n"
ROWS = [f"T,{role},{role.lower()},{role.lower()}{i}" for role in "XYAB" for i in range(3)]


def own_file(tmp_path, rows, header=HEADER):
    path = tmp_path / "words.csv"
    path.write_text(header + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def own(tmp_path):
    return read_ceat_sets(own_file(tmp_path, ROWS))["T"]


def test_the_three_tests_of_weat_have_concepts_as_targets_and_gendered_words_as_attributes():
    tests = ceat_tests(["C6", "C7", "C8"])
    sets = {name: [getattr(test, role) for role in "XYAB"] for name, test in tests.items()}
    assert all(len(words.examples) == 8 for roles in sets.values() for words in roles)
    assert [words.category for words in sets["C6"]] == ["career", "family", "male names", "female names"]
    assert [words.category for words in sets["C7"]] == ["math", "arts", "male terms", "female terms"]
    assert [words.category for words in sets["C8"]] == ["science", "arts", "male terms", "female terms"]
    assert "Bill" in tests["C6"].A.examples and "relatives" in tests["C6"].Y.examples
    assert {"Einstein", "NASA"} < set(tests["C8"].X.examples) and "Shakespeare" in tests["C8"].Y.examples


def test_the_planted_test_has_single_words_of_its_world():
    test = ceat_tests(["planted"])["planted"]
    assert test == planted_test()
    assert all(word.isalpha() for word in words_of([test]))
    of_women, of_men = ([load_world().shares[name] for name in role.examples] for role in (test.X, test.Y))
    assert min(of_women) > 0.5 > max(of_men) and set(test.X.examples) < set(load_world().occupations)


def test_vectors_by_role(own):
    vectors = {word: np.full((2, 3), i) for i, word in enumerate(words_of([own]))}
    sets = sets_of_vectors(own, vectors)
    assert list(sets) == list("XYAB")
    assert sets["Y"][1] is vectors["y1"] and sets["B"][2] is vectors["b2"]


def test_words_without_vectors_are_errors_or_left_out(own):
    vectors = {word: np.ones((2, 3)) for word in words_of([own])}
    del vectors["a0"]
    with pytest.raises(BiasflowError, match=r"T, set A .*a0"):
        sets_of_vectors(own, vectors)
    assert [len(words) for words in sets_of_vectors(own, vectors, missing="drop").values()] == [3, 3, 2, 3]
    vectors["a1"] = np.empty((0, 3))
    with pytest.raises(BiasflowError, match="a0, a1"):
        sets_of_vectors(own, vectors, missing="drop")


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


@pytest.mark.parametrize("kind", ["csv", "txt", "jsonl", "parquet"])
def test_own_occupations_are_the_column_of_any_table_or_the_lines_of_a_text(tmp_path, kind):
    names, path = ["nurse", "chief of staff"], tmp_path / f"jobs.{kind}"
    table = pd.DataFrame({"occupation": names, "share": [0.9, 0.4]})
    write = {"csv": table.to_csv, "jsonl": lambda p: table.to_json(p, orient="records", lines=True)}
    write |= {"parquet": table.to_parquet, "txt": lambda p: p.write_text("\n".join(names))}
    write[kind](path)
    found = read_occupation_set("mine", path, templates=["[MASK] is a {occupation} ."], pronouns=["he", "she"])
    assert found.occupations == names
