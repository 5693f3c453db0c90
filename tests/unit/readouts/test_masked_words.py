"""What a masked-LM head expects at [MASK]."""

import numpy as np
import pytest
import torch

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.readouts.masked_words import phrase_log_probabilities, she_he_log_odds, word_log_probabilities
from tests.unit.conftest import HIDDEN, MODELS, VOCABULARY, random_eraser
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


def log_p(model, tokenizer, tokens, at, piece):
    """The model's own log p(piece) at a position of a sequence of tokens."""
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(tokens)])
    with torch.inference_mode():
        logits = model(input_ids=ids).prediction_logits[0, at]
    return float(logits.log_softmax(-1)[tokenizer.convert_tokens_to_ids(piece)])


def test_a_phrase_of_one_piece_is_a_word_in_either_order(encoder):
    sentences = ["[MASK] said that the nurse was late .", "the baker said [MASK] ."]
    expected = word_log_probabilities(*encoder, sentences, ["he", "she"])
    for order in ("left_to_right", "at_once"):
        assert np.allclose(phrase_log_probabilities(*encoder, sentences, ["he", "she"], order=order), expected)


@pytest.mark.parametrize("batch_size", [1, 64])
def test_a_phrase_of_two_pieces_gets_two_masks(encoder, batch_size):
    model, tokenizer = encoder
    sentences = ["[MASK] was late .", "the baker said that [MASK] was late ."]
    masks = ["[MASK]"] * 2
    for order in ("left_to_right", "at_once"):
        found = phrase_log_probabilities(
            model, tokenizer, sentences, ["the nurse", "he"], order=order, batch_size=batch_size
        )
        for sentence, value in zip(sentences, found[:, 0], strict=True):
            before, after = (part.split() for part in sentence.split("[MASK]"))
            at = len(before) + 1
            first = log_p(model, tokenizer, ["[CLS]", *before, *masks, *after, "[SEP]"], at, "the")
            seen = masks if order == "at_once" else ["the", "[MASK]"]
            second = log_p(model, tokenizer, ["[CLS]", *before, *seen, *after, "[SEP]"], at + 1, "nurse")
            assert value == pytest.approx(first + second, abs=1e-4)
        assert np.allclose(found[:, 1], word_log_probabilities(model, tokenizer, sentences, ["he"])[:, 0], atol=1e-5)


def test_from_left_to_right_the_pieces_have_probabilities_that_sum_to_one(encoder):
    model, tokenizer = encoder
    others = np.setdiff1d(range(VOCABULARY), tokenizer.convert_tokens_to_ids(WORDS))
    with torch.no_grad():  # no probability for special tokens, nor for rows that stand for no piece
        model.cls.predictions.decoder.bias[torch.from_numpy(others)] = -1e4
    pairs = [f"{first} {second}" for first in WORDS for second in WORDS]
    assert np.exp(phrase_log_probabilities(model, tokenizer, ["[MASK] ."], pairs)).sum() == pytest.approx(1, abs=1e-5)


def test_interventions_are_active(encoder):
    model, tokenizer = encoder
    edits = [("layer[0]", random_eraser(1, HIDDEN))]
    sentence, words = ["[MASK] was late ."], ["he", "she"]
    for measure in (word_log_probabilities, phrase_log_probabilities):
        plain, edited = (measure(model, tokenizer, sentence, words, edits=given) for given in ((), edits))
        assert not np.allclose(plain, edited)
        assert np.allclose(measure(model, tokenizer, sentence, words), plain)  # and gone again
    template = "the {occupation} said [MASK] ."
    plain, edited = (she_he_log_odds(*encoder, ["nurse"], template=template, edits=given) for given in ((), edits))
    assert edited["log_odds"][0] != plain["log_odds"][0]


@pytest.mark.parametrize(
    ("sentence", "phrase", "options", "named"),
    [
        ("[MASK] said .", "grandmother", {}, "grandmother"),
        ("[MASK] said .", "", {}, "''"),
        ("[MASK] said .", "he [MASK]", {}, "he "),
        ("he said .", "he", {}, "he said"),
        ("[MASK] said .", "he", {"order": "backwards"}, "backwards"),
    ],
)
def test_phrases_that_cannot_be_scored(encoder, sentence, phrase, options, named):
    with pytest.raises(BiasflowError, match=named):
        phrase_log_probabilities(*encoder, [sentence], [phrase], **options)
