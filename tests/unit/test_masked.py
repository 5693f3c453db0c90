"""What a masked-LM head expects at [MASK]."""

import numpy as np
import pytest
import torch

from scripts.biasflow.encoders.masked import she_he_log_odds, word_log_probabilities
from scripts.biasflow.errors import BiasflowError
from tests.unit.conftest import MODELS
from tests.unit.fake_tokenizer import word_tokenizer

WORDS = "the nurse baker said that was late he she .".split()


@pytest.fixture(params=["bert-pretraining"])
def encoder(request):
    torch.manual_seed(0)
    return MODELS[request.param]().eval(), word_tokenizer(WORDS)


def test_they_are_the_models_own_for_any_batch_size(encoder):
    model, tokenizer = encoder
    sentences = ["[MASK] said that the nurse was late .", "the baker said [MASK] ."]
    found = word_log_probabilities(model, tokenizer, sentences, ["he", "she"])
    assert np.allclose(
        found, word_log_probabilities(model, tokenizer, sentences, ["he", "she"], batch_size=1), atol=1e-5
    )
    for sentence, row in zip(sentences, found, strict=True):
        batch = tokenizer(sentence, return_tensors="pt")
        at = (batch["input_ids"][0] == tokenizer.mask_token_id).nonzero().item()
        with torch.inference_mode():
            expected = model(**batch).prediction_logits[0, at].log_softmax(-1)
        ids = tokenizer.convert_tokens_to_ids(["he", "she"])
        assert np.allclose(row, expected[ids].numpy(), atol=1e-5)


def test_they_are_log_probabilities(encoder):
    model, tokenizer = encoder
    found = word_log_probabilities(model, tokenizer, ["[MASK] said ."], WORDS)
    assert (found < 0).all()
    assert np.exp(found).sum() <= 1


def test_log_odds_by_occupation(encoder):
    model, tokenizer = encoder
    table = she_he_log_odds(
        model, tokenizer, ["nurse", "baker"], template="the {occupation} said that [MASK] was late ."
    )
    he, she = word_log_probabilities(model, tokenizer, ["the nurse said that [MASK] was late ."], ["he", "she"])[0]
    assert table["occupation"].tolist() == ["nurse", "baker"]
    assert np.isclose(table["log_odds"][0], she - he, atol=1e-5)


def test_words_and_sentences_that_cannot_be_scored(encoder):
    model, tokenizer = encoder
    with pytest.raises(BiasflowError, match="grandmother"):
        word_log_probabilities(model, tokenizer, ["[MASK] said ."], ["grandmother"])
    for sentence in ("he said .", "[MASK] [MASK] ."):
        with pytest.raises(BiasflowError):
            word_log_probabilities(model, tokenizer, [sentence], ["he"])
