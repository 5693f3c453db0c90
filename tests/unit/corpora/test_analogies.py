"""The reader of the Google analogy test set: pairs, their order, and files that are wrong."""

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.word_sets import read_family_pairs

TEXT = """: capitals
Paris France Rome Italy
: family
boy girl Uncle aunt
uncle aunt boy girl

king queen his her
: plural
car cars dog dogs
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "analogies.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_family_pairs(path)

    return read


def test_each_pair_once_in_the_order_of_first_appearance(read):
    expected = (("boy", "girl"), ("uncle", "aunt"), ("king", "queen"), ("his", "her"))
    assert read(TEXT) == expected
    assert read(TEXT.replace("\n", "\r\n")) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TEXT.replace("king queen his her", "king queen his"), "line 7"),
        (TEXT.replace("king queen his her", "king queen his her hers"), "line 7"),
        (TEXT.replace("king queen", "girl queen"), "line 7"),
        (TEXT.replace(": family", ": families"), "family"),
        (": family\n: plural\ncar cars dog dogs\n", "family"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(read, text, line):
    with pytest.raises(BiasflowError, match=rf"analogies\.txt.*{line}"):
        read(text)
