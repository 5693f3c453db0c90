"""The readout of gender shares: places, heads, methods, and the file."""

import pandas as pd
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.erasers import densray
from biasflow.methods.fitted import Active, Fitted, save
from biasflow.methods.states import word_states
from biasflow.readouts.gender_shares import gender_places, gender_shares, read
from biasflow.readouts.source import Source
from biasflow.stimuli.gendered_words import PLANTED, read_gendered_words
from tests.unit.conftest import HEADS, HIDDEN, MODELS, random_eraser
from tests.unit.fake_tokenizer import word_tokenizer

WORDS = ("he", "man"), ("she", "woman")
SENTENCES = ["he saw the man", "she saw the woman", "the woman saw rain", "he saw him"] * 2


@pytest.fixture
def tokenizer():
    return word_tokenizer("he she man woman saw the rain him".split())


@pytest.fixture
def states(bert, tokenizer):
    options = {"n": 8, "cap_per_word": None, "max_length": 32, "batch_size": 3}
    return word_states(bert, tokenizer, SENTENCES, WORDS, **options)


def test_shares_of_layers_and_heads(bert, states):
    where = gender_places(bert)
    assert where == [*(f"layer[{i}]" for i in range(3)), *(f"layer[{i}].attention.value" for i in range(3))]
    shares = gender_shares(states, where)
    assert list(shares["place"]) == where[:3] + [place for place in where[3:] for _ in range(HEADS)]
    assert list(shares["head"]) == [""] * 3 + [str(head) for head in range(HEADS)] * 3
    assert shares["share"].between(0, 1).all()
    X = states.at(["layer[1]"])["layer[1]"]
    z = states.labels(X)["z"]
    assert shares["share"][1] == pytest.approx(densray.gender_share(X, z), abs=1e-4)


def test_the_file_has_a_row_for_every_method_place_and_head(tmp_path):
    masculine, feminine = read_gendered_words(PLANTED, ())
    text = [f"the {word} saw rain" for word in (*masculine, *feminine)]
    (tmp_path / "text.txt").write_text("\n".join(text), encoding="utf-8")
    torch.manual_seed(0)
    MODELS["bert-next-sentence"]().save_pretrained(tmp_path / "model")
    word_tokenizer([*masculine, *feminine, "saw", "the", "rain"]).save_pretrained(tmp_path / "model")
    edits = (("layer[1]", random_eraser(1, HIDDEN)),)
    save(Fitted({"some": (Active("some", "-", edits),)}, {"some": []}), tmp_path / "methods.safetensors")
    source = Source(
        tmp_path / "model",
        ("none", "some"),
        "words",
        {"text": (tmp_path / "text.txt",)},
        methods_file=tmp_path / "methods.safetensors",
    )
    facts = read(source, tmp_path / "shares.parquet", n=8)
    table = pd.read_parquet(tmp_path / "shares.parquet")
    assert list(table) == ["method", "setting", "place", "head", "share"]
    assert list(table["method"].unique()) == ["none", "some"] and set(table["setting"]) == {"-"}
    assert len(table) == 2 * 3 * (1 + HEADS)
    none, some = (table[table["method"] == name].set_index(["place", "head"])["share"] for name in ("none", "some"))
    assert none["layer[0]", ""] == some["layer[0]", ""] and none["layer[1]", ""] != some["layer[1]", ""]
    assert facts["words_left_out"] == [] and facts["sentences_read"] <= len(text)
    with pytest.raises(BiasflowError, match="1000"):
        read(source, tmp_path / "shares.parquet", n=2000)
