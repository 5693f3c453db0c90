"""Texts as tokens: what the tokenizer itself says of them, also after a file, which is used for nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.encoders import tokens as module
from biasflow.encoders.tokens import load_tokens, save_tokens, tokenise
from tests.unit.fake_tokenizer import word_tokenizer

WORDS = ["red", "blue", "green", "one", "two"]
TOKENIZER = word_tokenizer(WORDS)
TEXTS = [" ".join(WORDS[:n]) for n in (1, 5, 0, 3, 4, 2)]
TEXT = st.lists(st.sampled_from([*WORDS, "pink"]), max_size=12).map(" ".join)


@settings(deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=9), st.booleans(), st.integers(5, 20), st.integers(1, 10))
def test_tokens_are_those_of_the_tokenizer_one_text_at_a_time(pairs, both, max_length, together):
    texts = list(zip(*pairs, strict=True))[: 1 + both]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TOGETHER", together)
        tokens = tokenise(TOKENIZER, *texts, max_length=max_length)
    alone = [[[text] for text in row] for row in zip(*texts, strict=True)]
    found = [TOKENIZER(*row, truncation=True, max_length=max_length) for row in alone]
    expected = [{name: column[0] for name, column in encoded.items()} for encoded in found]
    assert [tokens.of(row) for row in range(len(tokens))] == expected
    assert tokens.of_all(range(len(tokens))) == {name: [each[name] for each in expected] for name in expected[0]}
    whole = [len(TOKENIZER(*row)["input_ids"][0]) for row in alone]
    assert tokens.cut.tolist() == [length > max_length for length in whole]
    assert tokens.lengths.tolist() == [min(length, max_length) for length in whole]


def test_a_file_holds_the_same_tokens(tmp_path):
    path = tmp_path / "tokens.safetensors"
    save_tokens(path, TOKENIZER, TEXTS, max_length=5)
    made, found = tokenise(TOKENIZER, TEXTS, max_length=5), load_tokens(path, TOKENIZER, TEXTS, max_length=5)
    assert found.of_all(range(len(TEXTS))) == made.of_all(range(len(TEXTS)))
    for one, other in ((made.cut, found.cut), (made.bounds, found.bounds), (made.lengths, found.lengths)):
        np.testing.assert_array_equal(one, other)
    assert 0 < found.cut.sum() < len(TEXTS)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"texts": TEXTS[::-1]}, "text"),
        ({"texts": TEXTS[:-1]}, "text"),
        ({"texts": [TEXTS[0] + TEXTS[1], "", *TEXTS[2:]]}, "text"),
        ({"max_length": 6}, "max_length"),
        ({"tokenizer": word_tokenizer(WORDS[::-1])}, "tokenizer"),
        ({"tokenizer": word_tokenizer([*WORDS, "pink"])}, "tokenizer"),
    ],
)
def test_tokens_of_anything_else_are_refused(tmp_path, change, named):
    path = tmp_path / "tokens.safetensors"
    save_tokens(path, TOKENIZER, TEXTS, max_length=5)
    asked = {"tokenizer": TOKENIZER, "texts": TEXTS, "max_length": 5} | change
    with pytest.raises(BiasflowError, match=rf"tokens\.safetensors.*another {named}"):
        load_tokens(path, **asked)
