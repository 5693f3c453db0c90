"""GEST's sentences, and the pairs that are made of them."""

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.gest import TEMPLATES, items


@pytest.fixture
def file(tmp_path):
    def written(text: str):
        path = tmp_path / "gest.csv"
        path.write_text(text)
        return path

    return written


def test_every_sentence_in_every_template(file):
    path = file('sentence,stereotype\n"I cook, often.",4\nI won.,10\n')
    table = items(path)
    assert table["item"].tolist() == [0, 1] * 4 and table["stereotype"].tolist() == [4, 10] * 4
    assert table["template"].drop_duplicates().tolist() == list(TEMPLATES)
    pairs = list(zip(table["first"], table["second"], strict=True))
    assert pairs[0] == ('He said: "I cook, often."', 'She said: "I cook, often."')
    assert pairs[2] == ('The man said: "I cook, often."', 'The woman said: "I cook, often."')
    assert pairs[5] == ('"I won.", he said.', '"I won.", she said.')
    assert pairs[7] == ('"I won.", the man said.', '"I won.", the woman said.')


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("sentence,kind\nI won.,3\n", "stereotype"),
        ("sentence,stereotype\n", "no row"),
        ("sentence,stereotype\nI lost.,17\n", "line 2: column stereotype: '17'"),
        ("sentence,stereotype\n ,3\n", "line 2: column sentence"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(file, text, named):
    with pytest.raises(BiasflowError, match=named):
        items(file(text))
