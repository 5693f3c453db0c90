"""Gendered words in context: where they are found, and their states."""

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.methods.occurrences import find_occurrences
from biasflow.methods.states import WordStates
from tests.unit.conftest import HEADS, HIDDEN
from tests.unit.fake_tokenizer import byte_tokenizer, word_tokenizer

MASCULINE, FEMININE = ("he", "king", "grandson"), ("she", "queen", "granddaughter")
SENTENCES = [
    "he saw the king",
    "rain fell on the town",
    "she saw him , and he saw the queen",
    "the kingfisher saw the king",
    "he he he he",
    "she went home",
    "the queen saw rain",
    "he saw the queen",
]
PLACES = ["layer[0]", "layer[1].attention.value", "layer[2]"]


@pytest.fixture(scope="module")
def tokenizer():
    words = "he she king queen ##fisher saw the rain fell on town him , and went home grand ##son".split()
    return word_tokenizer(words)


@pytest.fixture
def find(tokenizer):
    def find(sentences=SENTENCES, masculine=MASCULINE, feminine=FEMININE, **options):
        return find_occurrences(tokenizer, sentences, masculine, feminine, **{"n": 4, "max_length": 32} | options)

    return find


def test_both_genders_come_from_the_same_leading_sentences(find):
    found = find(n=4)  # the second feminine word is in sentence 2: masculine words there and before: he, king, he
    assert found.sentences_read == 3
    assert list(found.table.itertuples(index=False, name=None)) == [
        (0, 1, 5, "he", "masculine"),  # numbers 0 and 1 of 3: floor(i 3 / 2)
        (0, 4, 7, "king", "masculine"),
        (2, 1, 6, "she", "feminine"),
        (2, 9, 8, "queen", "feminine"),
    ]
    counts = found.counts.set_index("word")
    assert counts["found"].to_dict() == {"he": 2, "king": 1, "she": 1, "queen": 1}
    assert counts["used"].to_dict() == {"he": 1, "king": 1, "she": 1, "queen": 1}
    assert found.left_out == ("grandson", "granddaughter")


def test_the_commoner_gender_is_thinned_over_the_whole_range(find):
    """Five men before the second woman: numbers floor(i 5 / 2) are 0 and 2. "king" within "kingfisher" is no man."""
    found = find(["he saw the kingfisher , the king , he , him and she", "he went home", "rain", "King saw her queen"])
    men = found.table[found.table["gender"] == "masculine"]
    assert found.counts.set_index("word")["found"].to_dict() == {"he": 3, "king": 2, "she": 1, "queen": 1}
    assert men[["sentence", "word"]].values.tolist() == [[0, "he"], [0, "he"]]
    assert found.sentences_read == 4


def test_a_word_has_a_piece_for_each_way_to_begin_it():
    """In a vocabulary of bytes: at the beginning of a text or after a space, with a capital or without."""
    sentences = ["He saw her", "she saw him", "so He and She left", "so he and she left", "She saw him"]
    found = find_occurrences(byte_tokenizer(sentences), sentences, ["he"], ["she"], n=6, max_length=32)
    places = zip(found.table["sentence"], found.table["word"], strict=True)
    assert [*places] == [(0, "he"), (1, "she"), (2, "he"), (2, "she"), (3, "he"), (3, "she")]


@example(text=[["he", "he", "she"], ["queen"]], half=1)
@given(
    text=st.lists(st.lists(st.sampled_from("he king she queen saw rain".split()), max_size=8), max_size=30),
    half=st.integers(1, 5),
)
def test_properties_of_the_occurrences(text, half, tokenizer):
    sentences = [" ".join(words) for words in text]
    available = {word: sum(words.count(word) for words in text) for word in ("he", "king", "she", "queen")}
    options = {"n": 2 * half, "max_length": 64}
    if min(available["he"] + available["king"], available["she"] + available["queen"]) < half:
        with pytest.raises(BiasflowError):
            find_occurrences(tokenizer, sentences, MASCULINE, FEMININE, **options)
        return
    found = find_occurrences(tokenizer, sentences, MASCULINE, FEMININE, **options)
    table, counts = found.table, found.counts
    assert table["gender"].value_counts().to_dict() == {"masculine": half, "feminine": half}
    assert all(text[row.sentence][row.position - 1] == row.word for row in table.itertuples())
    assert list(zip(table["sentence"], table["position"], strict=True)) == sorted(
        set(zip(table["sentence"], table["position"], strict=True))
    )
    assert (counts["used"] <= counts["found"]).all() and counts["used"].sum() == 2 * half
    # Nothing after the range plays a part, and nothing less would do.
    read = sentences[: found.sentences_read]
    assert find_occurrences(tokenizer, read, MASCULINE, FEMININE, **options).table.equals(table)
    with pytest.raises(BiasflowError):
        find_occurrences(tokenizer, read[:-1], MASCULINE, FEMININE, **options)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n": 3}, "3"),
        ({"n": 0}, "0"),
        ({"n": 40}, r"9 masculine, 5 feminine"),
        ({"masculine": ("grandson",)}, "grandson"),
        ({"feminine": ("zebra",)}, "zebra"),
        ({"feminine": ("he", "she")}, "he"),
    ],
)
def test_what_is_wrong_is_named(find, options, named):
    with pytest.raises(BiasflowError, match=named):
        find(**options)


def hidden_states(model, tokenizer, sentences, occurrences, *, places=PLACES, batch_size=2):
    return WordStates(model, tokenizer, batch_size, sentences, occurrences).at(places)


def expected_states(bert, tokenizer, occurrences, place_output):
    rows = []
    for row in occurrences.table.itertuples():
        with torch.inference_mode():
            output = bert.base_model(
                **tokenizer(SENTENCES[row.sentence], return_tensors="pt"), output_hidden_states=True
            )
        rows.append(place_output(output)[0, row.position])
    return torch.stack(rows)


@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_states_are_those_of_each_sentence_alone(bert, tokenizer, find, batch_size):
    occurrences = find(n=8)
    states = hidden_states(bert, tokenizer, SENTENCES, occurrences, places=PLACES, batch_size=batch_size)
    assert list(states) == PLACES
    assert states["layer[1].attention.value"].shape == (8, HEADS, HIDDEN // HEADS)
    for layer in (0, 2):
        expected = expected_states(bert, tokenizer, occurrences, lambda output, i=layer: output.hidden_states[i + 1])
        assert torch.allclose(states[f"layer[{layer}]"], expected, atol=1e-5)
    before = expected_states(bert, tokenizer, occurrences, lambda output: output.hidden_states[1])
    value = bert.bert.encoder.layer[1].attention.self.value(before).detach().unflatten(-1, (HEADS, -1))
    assert torch.allclose(states["layer[1].attention.value"], value, atol=1e-5)
