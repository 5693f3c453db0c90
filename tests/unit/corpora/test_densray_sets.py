"""The occupations and tests of paper A by name."""

import json

import pytest

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.corpora.densray_sets import (
    OccupationSet,
    occupation_files,
    occupation_sets,
    read_occupation_sets,
    read_tests,
    test_files,
)
from scripts.biasflow.planted.world import load_world
from scripts.biasflow.text.gendered_words import planted_pairs, read_gendered_words

test_files.__test__ = False


def association_file(path):
    sets = {key: {"category": key, "examples": ["a", "B"]} for key in ("targ1", "targ2", "attr1", "attr2")}
    path.write_text(json.dumps(sets))
    return path


FRENCH = {"file": "f.txt", "template": "[MASK] est {occupation}.", "pronouns": ["il", "elle"], "encoders": ["m"]}
OWN = {"french": FRENCH}


def test_files_are_asked_for_where_they_are_needed():
    assert occupation_files(["planted", "professions", "professions-article", "french"], OWN) == {
        "professions": "professions", "professions-article": "professions", "french": "f.txt"
    }  # fmt: skip
    assert test_files(["planted", "C7", "sent-weat6b"]) == {"C7": "weat7", "sent-weat6b": "sent-weat6b"}


def test_occupations_and_their_templates(tmp_path):
    (tmp_path / "p.json").write_text('[["nurse", 0, 0], ["air_marshal", 0, 0]]')
    (tmp_path / "f.txt").write_text("infirmier\n\nchef\n")
    english = dict.fromkeys(["professions", "professions-article"], tmp_path / "p.json")
    paths = {**english, "french": tmp_path / "f.txt"}
    sets = read_occupation_sets(["professions", "professions-article", "planted", "french"], paths, OWN)
    assert sets["professions"].sentences == ["[MASK] is a nurse .", "[MASK] is a air marshal ."]
    assert sets["professions-article"].sentences[1] == "[MASK] is an air marshal ."
    assert len(sets["planted"].sentences) == len(load_world().occupations)
    assert sets["french"] == OccupationSet(["[MASK] est infirmier.", "[MASK] est chef."], ("il", "elle"), pieces=True)
    assert sets["professions"].pronouns == ("he", "she") and not sets["professions"].pieces


@pytest.mark.parametrize("template", ["{occupation}", "[MASK] est chef", "[MASK] [MASK] {occupation}"])
def test_a_template_needs_a_mask_and_an_occupation(tmp_path, template):
    (tmp_path / "f.txt").write_text("chef\n")
    own = {"french": {**FRENCH, "template": template}}
    with pytest.raises(BiasflowError, match="french"):
        read_occupation_sets(["french"], {"french": tmp_path / "f.txt"}, own)


def test_words_and_sentences_are_told_apart(tmp_path):
    path = association_file(tmp_path / "file")
    words, sentences = read_tests(["C6", "planted", "sent-weat8"], {"C6": path, "sent-weat8": path})
    assert list(words) == ["C6", "planted"] and list(sentences) == ["sent-weat8"]
    assert words["C6"].X.category == "attr1"  # paper A exchanges targets and attributes
    assert words["C6"].X.examples == ("a", "b")  # and takes lower case
    assert sentences["sent-weat8"].X.examples == ("a", "B")


@pytest.mark.parametrize("side", [0, 1])
def test_planted_words_are_single_words_that_differ_in_gender(side):
    words = read_gendered_words("planted", [])
    assert len(words[side]) == len(set(words[side])) == len(planted_pairs(load_world()))
    assert not set(words[0]) & set(words[1])
    assert all(" " not in word for word in words[side])
    assert {("he", "she"), ("man", "woman")} <= set(zip(*words, strict=True))


def test_chinese_occupations_are_for_encoders_that_know_chinese():
    densray = {"occtmp": ["professions"], "chinese": ["mbert"], "own_occupations": {}}
    assert occupation_sets(densray, "mbert") == ["professions", "chinese-professions"]
    assert occupation_sets(densray, "bert") == ["professions"]
    assert occupation_sets(densray) == ["professions", "chinese-professions"]
