"""Swapping tokens one for one: tags decide on her, names stay or go, and the number of tokens never changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.text.gender_lexicon import default_lexicon
from biasflow.text.gender_swap import swap_tokens

TOKENS = st.one_of(
    st.sampled_from(sorted(default_lexicon().heads)),
    st.sampled_from(["her", "Her", "his", "his/her", "step-mother-in-law", "-", "of", "honor", "'s", "best man", "."]),
    st.text(st.characters(codec="utf-8", exclude_characters="\t"), min_size=1, max_size=4),
)


def swap(text: str, tags: str = "", **options) -> tuple[str, int]:
    tokens = text.split()
    (swapped,), left = swap_tokens([tokens], [tags.split() or ["-"] * len(tokens)], **options)
    return " ".join(swapped), left


@pytest.mark.parametrize(
    ("text", "tags", "expected"),
    [
        ("saw her dog", "VBD PRP NN", "saw him dog"),
        ("HER saw Her", "PRP$ VBD PRP$", "HIS saw His"),
        ("saw her dog", "- - -", "saw his dog"),
        ("saw her .", "- - -", "saw him ."),
        ("his dog is his .", "PRP$ NN VBZ PRP$ .", "her dog is hers ."),
        (
            "In his My Linguistic Autobiography , he",
            "IN PRP$ PRP$ JJ NN , PRP",
            "In her My Linguistic Autobiography , she",
        ),
        ('About his " protégé " he', "IN PRP$ `` NN '' PRP", 'About her " protégée " she'),
        ("with his concerning symptoms", "IN PRP$ VBG NNS", "with her concerning symptoms"),
        ("using his @POTUS account :", "VBG PRP$ NNP NN :", "using her @POTUS account :"),
        ("got his — the guy", "VBD PRP$ : DT NN", "got her — the gal"),
        ("like his old ones", "IN PRP JJ NNS", "like hers old ones"),
        ("the step-mother-in-law 's he/she", "", "the step-father-in-law 's she/he"),
        ("Mr. Smith , I groom the groom", "", "Mrs. Smith , I groom the bride"),
        ("her mother tongue", "", "his mother tongue"),
    ],
)
def test_tokens_are_swapped_one_for_one(text, tags, expected):
    assert swap(text, tags) == (expected, 0)


def test_first_names_stay_or_are_swapped_in_all_sentences_alike():
    assert swap("James met his aunt Mary") == ("James met her uncle Mary", 0)
    sentences, tags = [["Grace", "my", "love"], ["I", "saw", "Grace"]], [["-"] * 3] * 2
    (first, second), _ = swap_tokens(sentences, tags, names="swap")
    assert first[0] == second[2] == "Mark"
    with pytest.raises(BiasflowError, match="names"):
        swap_tokens(sentences, tags, names="some")


@given(st.lists(st.lists(TOKENS, max_size=7), max_size=3), st.sampled_from(["keep", "swap"]))
def test_there_are_as_many_tokens_as_before(sentences, names):
    swapped, _ = swap_tokens(sentences, [["-"] * len(tokens) for tokens in sentences], names=names)
    assert [len(tokens) for tokens in swapped] == [len(tokens) for tokens in sentences]
    for tokens, new in zip(sentences, swapped, strict=True):
        assert ["".join(filter(str.isspace, token)) for token in tokens] == [
            "".join(filter(str.isspace, token)) for token in new
        ]
