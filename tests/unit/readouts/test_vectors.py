"""Embeddings of sentences and of words in them, against plain forward passes of one sentence at a time."""

from typing import get_args

import numpy as np
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.corpora.seat import AssociationTest, ExampleSet
from biasflow.readouts.vectors import Pooling, embed, embed_test
from tests.unit.conftest import HIDDEN, MODELS
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.readouts.conftest import reader

WORDS = "the nurse ##s ##ry baker said that was late is mask he she . john".split()
SENTENCES = ["the nurse was late .", "The bakers said that he was late.", "She is [MASK].", "nursery."]
TARGETS = ["nurse", "bakers", "she", "nursery"]
PLACES = [[2], [2, 3], [1], [1, 2]]  # of the targets, counting the first special token


@pytest.fixture(params=["bert-next-sentence", "bert-pretraining", "roberta", "distilbert"])
def encoder(request):
    torch.manual_seed(0)
    tokenizer = word_tokenizer(WORDS)
    if request.param == "distilbert":
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
    return MODELS[request.param]().eval(), tokenizer


@pytest.fixture
def bert_encoder(bert):
    return bert, word_tokenizer(WORDS)


@torch.inference_mode()
def last_layer(model, tokenizer, sentence, **options):
    batch = tokenizer(sentence, return_tensors="pt", **options)
    return model(**batch, output_hidden_states=True).hidden_states[-1][0].numpy()


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_each_pooling_takes_its_tokens(encoder, batch_size):
    model, tokenizer = encoder
    whole = [last_layer(model, tokenizer, sentence) for sentence in SENTENCES]
    bare = [last_layer(model, tokenizer, sentence, add_special_tokens=False) for sentence in SENTENCES]
    expected = {
        "cls": [states[0] for states in whole],
        "mean": [states.mean(axis=0) for states in whole],
        "first-piece": [states[0] for states in bare],
        "target": [states[places].mean(axis=0) for states, places in zip(whole, PLACES, strict=True)],
    }
    assert set(expected) == set(get_args(Pooling))
    found = embed(reader(model, tokenizer, batch_size=batch_size), SENTENCES, list(expected), TARGETS)
    for pooling, vectors in expected.items():
        assert found[pooling].shape == (1, len(SENTENCES), HIDDEN) and found[pooling].dtype == np.float32
        assert np.allclose(found[pooling][0], vectors, atol=1e-5), pooling


@pytest.mark.parametrize(
    ("sentence", "target"),
    [
        ("the nurses was late .", "nurse"),  # a part of another word
        ("the nurse was late .", "baker"),
        ("[MASK] is late .", "mask"),
        ("the plumber was late .", "plumber"),  # not in the vocabulary
        ("the nurse was late .", ""),
    ],
)
def test_a_target_that_cannot_be_found_is_named_with_its_sentence(bert_encoder, sentence, target):
    with pytest.raises(BiasflowError, match=f"(?s){sentence[-9:]}.*{target}"):
        embed(reader(*bert_encoder), ["nurse .", sentence], ["target"], ["nurse", target])


def association_test(**sets):
    return AssociationTest("test", **{role: ExampleSet(role, tuple(examples)) for role, examples in sets.items()})


def test_sets_share_their_sentences(bert_encoder):
    model, tokenizer = bert_encoder
    sets = {
        "X": SENTENCES,
        "Y": SENTENCES[::-1],
        "A": [SENTENCES[1], "john is late .", SENTENCES[1]],
        "B": SENTENCES[:1],
    }
    rows = []
    with torch.inference_mode():
        handle = model.base_model.register_forward_hook(lambda module, args, output: rows.append(len(output[0])))
        found = embed_test(reader(model, tokenizer, batch_size=2), association_test(**sets), pooling="mean")
        handle.remove()
    assert sum(rows) == 5  # distinct sentences
    assert list(found) == list(sets)
    for role, sentences in sets.items():
        assert np.allclose(found[role], embed(reader(model, tokenizer), sentences, ["mean"])["mean"], atol=1e-5)
