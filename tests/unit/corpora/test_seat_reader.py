"""The reader of WEAT and SEAT files, and the roles of paper A's tests, on made-up files."""

import json

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora import seat

KEYS = {
    "targ1": {"category": "Fruit", "examples": ["Apple", "pear"]},
    "targ2": {"category": "Tools", "examples": ["saw", "hammer", "drill"]},
    "attr1": {"category": "Sweet", "examples": ["honey", "jam"]},
    "attr2": {"category": "Hard", "examples": ["steel", "oak"]},
}


@pytest.fixture
def write(tmp_path):
    def write(text, name="fruit.jsonl"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


@pytest.fixture
def fruit(write):
    return seat.read_association_test(write(json.dumps(KEYS, indent=2)))


def test_the_sets_are_read_as_they_are(fruit):
    assert fruit.name == "fruit"
    assert (fruit.X.category, fruit.Y.category, fruit.A.category, fruit.B.category) == (
        "Fruit",
        "Tools",
        "Sweet",
        "Hard",
    )
    assert fruit.X.examples == ("Apple", "pear")
    assert fruit.Y.examples == ("saw", "hammer", "drill")


def test_roles_exchanged_twice_are_as_before(fruit):
    other = seat.exchange_roles(fruit)
    assert (other.X, other.Y, other.A, other.B) == (fruit.A, fruit.B, fruit.X, fruit.Y)
    assert seat.exchange_roles(other) == fruit


def test_paper_a_exchanges_the_roles_and_lower_cases(write):
    files = {name: seat.read_association_test(write(json.dumps(KEYS)), name) for name in seat.WORD_TESTS}
    found = seat.densray_tests(files)
    assert list(found) == ["C6", "C7", "C8"] and seat.DENSRAY_TESTS["C7"] == "weat7"
    assert found["C6"].name == "C6"
    assert found["C6"].X.examples == ("honey", "jam") and found["C6"].A.examples == ("apple", "pear")
    del files["weat8"]
    with pytest.raises(BiasflowError, match="weat8"):
        seat.densray_tests(files)


def changed(key, **values):
    return json.dumps(KEYS | {key: KEYS[key] | values})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (json.dumps(KEYS)[:-9], "line 1, column .*JSON"),
        ("[1]", "targ1"),
        (json.dumps({key: KEYS[key] for key in ("targ1", "targ2", "attr2")}), "key attr1"),
        (json.dumps(KEYS | {"attr1": "honey"}), "key attr1"),
        (changed("attr2", category=" "), "key attr2"),
        (changed("targ2", examples=[]), "key targ2"),
        (changed("targ2", examples="saw"), "key targ2"),
        (changed("attr1", examples=["honey", "  "]), "key attr1: example 2"),
        (changed("attr1", examples=["honey", 7]), "key attr1: example 2, 7"),
        (json.dumps(KEYS).replace('"attr2"', '"attr1"'), "'attr1' appears twice"),
        (json.dumps(KEYS).replace('"Hard",', '"Hard", "category": "Old",'), "'category' appears twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(write, text, named):
    path = write(text)
    with pytest.raises(BiasflowError, match=f"{path}: .*{named}"):
        seat.read_association_test(path)
