"""The occupations and tests of paper A by name."""

import json

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.planted.world import load_world
from biasflow.stimuli.densray_sets import OccupationSet, read_occupation_set, read_test
from biasflow.stimuli.gendered_words import planted_pairs, read_gendered_words


def association_file(path):
    sets = {key: {"category": key, "examples": ["a", "B"]} for key in ("targ1", "targ2", "attr1", "attr2")}
    path.write_text(json.dumps(sets))
    return path


FRENCH = {"file": "f.txt", "template": "[MASK] est {occupation}.", "pronouns": ["il", "elle"], "encoders": ["m"]}


def test_occupations_and_their_templates(tmp_path):
    (tmp_path / "p.json").write_text('[["nurse", 0, 0], ["air_marshal", 0, 0]]')
    (tmp_path / "f.txt").write_text("infirmier\n\nchef\n")
    professions = read_occupation_set("professions", tmp_path / "p.json")
    assert professions.occupations == ["nurse", "air marshal"]
    assert professions.sentences == ["[MASK] is a nurse .", "[MASK] is a air marshal ."]
    assert professions.pronouns == ("he", "she") and not professions.pieces
    article = read_occupation_set("professions-article", tmp_path / "p.json")
    assert article.sentences[1] == "[MASK] is an air marshal ."
    own = {key: FRENCH[key] for key in ("template", "pronouns")}
    assert read_occupation_set("french", tmp_path / "f.txt", **own) == OccupationSet(
        ["infirmier", "chef"], ["[MASK] est infirmier.", "[MASK] est chef."], ("il", "elle"), pieces=True
    )


@pytest.mark.parametrize(
    ("name", "first"), [("planted", "[MASK] is a {} ."), ("planted-occupations", "The {} said that [MASK] was late.")]
)
def test_planted_occupations_need_no_file(name, first):
    found = read_occupation_set(name)
    assert found.occupations == list(load_world().occupations)
    assert found.sentences[0] == first.format(found.occupations[0]) and found.pronouns == ("he", "she")


@pytest.mark.parametrize("template", ["{occupation}", "[MASK] est chef", "[MASK] [MASK] {occupation}"])
def test_a_template_needs_a_mask_and_an_occupation(tmp_path, template):
    (tmp_path / "f.txt").write_text("chef\n")
    with pytest.raises(BiasflowError, match="french"):
        read_occupation_set("french", tmp_path / "f.txt", template=template, pronouns=["il", "elle"])


def test_an_unknown_set_and_an_empty_file_are_named(tmp_path):
    with pytest.raises(BiasflowError, match="french"):
        read_occupation_set("french", tmp_path / "f.txt")
    (tmp_path / "f.txt").write_text("\n")
    with pytest.raises(BiasflowError, match=r"f\.txt"):
        read_occupation_set("french", tmp_path / "f.txt", template=FRENCH["template"], pronouns=["il", "elle"])


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


@pytest.mark.parametrize("side", [0, 1])
def test_planted_words_are_single_words_that_differ_in_gender(side):
    words = read_gendered_words("planted", [])
    assert len(words[side]) == len(set(words[side])) == len(planted_pairs(load_world()))
    assert not set(words[0]) & set(words[1])
    assert all(" " not in word for word in words[side])
    assert {("he", "she"), ("man", "woman")} <= set(zip(*words, strict=True))
