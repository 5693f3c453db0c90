"""Templates x word pairs, and which of them an encoder's tokenizer can use."""

from pathlib import Path

import pytest
import yaml

from biasflow.base.errors import BiasflowError
from biasflow.text.sentence_pairs import TEMPLATE_SETS, check_pairs, expand, load_sentence_pairs

CONFIG = Path(__file__).parents[3] / "scripts/biasflow/data/sentence_pairs.yaml"
WORDS = {"person": [["man", "woman"], ["boy", "girl"]], "his": [["his", "her"]]}


def test_the_projects_own_pairs():
    sets = load_sentence_pairs(CONFIG)
    assert set(sets) == set(TEMPLATE_SETS)
    assert not set(sets["interventions"]["template"]) & set(sets["sentence-debias"]["template"])
    for pairs in sets.values():
        assert len(pairs) >= 40
        assert (pairs["masculine"] != pairs["feminine"]).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.pop("words"),
        lambda c: c["words"].update(person=[["man"]]),
        lambda c: c["words"].update(person=[["man", "man"]]),
        lambda c: c["words"].update(person=[]),
        lambda c: c["templates"].update(interventions=["no slot"]),
        lambda c: c["templates"].update(interventions=["the {robot}"]),
        lambda c: c["templates"].update(interventions=[]),
        lambda c: c["templates"].pop("sentence-debias"),
    ],
)
def test_a_bad_file_is_named(tmp_path, change):
    content = yaml.safe_load(CONFIG.read_text())
    change(content)
    path = tmp_path / "pairs.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(BiasflowError, match=r"pairs\.yaml"):
        load_sentence_pairs(path)


def test_pairs_that_tokenise_differently_are_dropped_with_the_reason():
    pairs = expand(
        ["{person} is here"], {"person": [["man", "woman"], ["he", "grandmother"], ["x", "y"]]}, where="here"
    )
    tokens = {"Man": [1], "Woman": [2], "He": [3], "Grandmother": [4, 5], "X": [0], "Y": [0]}

    def encode(sentences):
        return [tokens[sentence.split()[0]] for sentence in sentences]

    checked = check_pairs(pairs, encode, encoder="small")
    assert checked["kept"].tolist() == [True, False, False]
    assert checked["reason"][0] == ""
    assert all(checked["reason"][1:])
