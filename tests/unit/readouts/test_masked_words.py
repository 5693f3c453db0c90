"""What a masked-LM head expects at [MASK]."""

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.readouts import masked_words
from biasflow.readouts.masked_words import log_probabilities, piece_log_probabilities, put_in
from tests.unit.conftest import HIDDEN, MODELS, SIZES, VOCABULARY, random_eraser
from tests.unit.fake_tokenizer import byte_tokenizer, word_tokenizer
from tests.unit.readouts.conftest import reader

WORDS = "the nurse baker said that was late he she .".split()


@pytest.fixture(params=["bert-pretraining"])
def encoder(request):
    torch.manual_seed(0)
    return MODELS[request.param]().eval(), word_tokenizer(WORDS)


def test_they_are_the_models_own_for_any_batch_size(encoder):
    model, tokenizer = encoder
    sentences = ["[MASK] said that the nurse was late .", "the baker said [MASK] ."]
    found = log_probabilities(reader(model, tokenizer), sentences, ["he", "she"])
    alone = log_probabilities(reader(model, tokenizer, batch_size=1), sentences, ["he", "she"])
    assert found.shape == (1, 2, 2) and np.allclose(found, alone, atol=1e-5)
    for sentence, row in zip(sentences, found[0], strict=True):
        batch = tokenizer(sentence, return_tensors="pt")
        at = (batch["input_ids"][0] == tokenizer.mask_token_id).nonzero().item()
        with torch.inference_mode():
            expected = model(**batch).prediction_logits[0, at].log_softmax(-1)
        ids = tokenizer.convert_tokens_to_ids(["he", "she"])
        assert np.allclose(row, expected[ids].numpy(), atol=1e-5)


def test_they_are_log_probabilities(encoder):
    found = log_probabilities(reader(*encoder), ["[MASK] said ."], WORDS)
    assert (found < 0).all()
    assert np.exp(found).sum() <= 1


def test_words_and_sentences_that_cannot_be_scored(encoder):
    for word in ("grandmother", "the nurse"):
        with pytest.raises(BiasflowError, match=f"(?i){word}"):
            log_probabilities(reader(*encoder), ["[MASK] said ."], [word])
    for sentence in ("he said .", "[MASK] [MASK] ."):
        with pytest.raises(BiasflowError):
            log_probabilities(reader(*encoder), [sentence], ["he"])


def log_p(model, tokenizer, tokens, at, piece):
    """The model's own log p(piece) at a position of a sequence of tokens."""
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(tokens)])
    with torch.inference_mode():
        logits = model(input_ids=ids).prediction_logits[0, at]
    return float(logits.log_softmax(-1)[tokenizer.convert_tokens_to_ids(piece)])


def test_a_phrase_of_one_piece_is_a_word(encoder):
    sentences = ["[MASK] said that the nurse was late .", "the baker said [MASK] ."]
    words = log_probabilities(reader(*encoder), sentences, ["he", "she"])
    assert np.array_equal(log_probabilities(reader(*encoder), sentences, ["he", "she"], pieces=True), words)


@pytest.mark.parametrize("batch_size", [1, 64])
def test_a_phrase_of_two_pieces_gets_two_masks(encoder, batch_size):
    model, tokenizer = encoder
    sentences, phrases = (
        ["[MASK] was late .", "the baker said that [MASK] was late ."],
        ["the nurse", "he", "the baker"],
    )
    (found,) = log_probabilities(reader(*encoder, batch_size=batch_size), sentences, phrases, pieces=True)
    for sentence, row in zip(sentences, found, strict=True):
        before, after = (part.split() for part in sentence.split("[MASK]"))
        at = len(before) + 1

        def filled(*pieces, before=before, after=after):
            return ["[CLS]", *before, *pieces, *after, "[SEP]"]

        first = log_p(model, tokenizer, filled("[MASK]", "[MASK]"), at, "the")
        for noun, value in zip(("nurse", "baker"), row[[0, 2]], strict=True):
            second = log_p(model, tokenizer, filled("the", "[MASK]"), at + 1, noun)
            assert value == pytest.approx(first + second, abs=1e-4)
        assert row[1] == pytest.approx(log_p(model, tokenizer, filled("[MASK]"), at, "he"), abs=1e-5)


def test_words_share_their_passes(encoder):
    model, tokenizer = encoder
    rows = []
    handle = model.base_model.register_forward_hook(lambda module, args, output: rows.append(len(output[0])))
    log_probabilities(reader(model, tokenizer), ["[MASK] ."], ["he", "she", "the nurse", "the baker"], pieces=True)
    handle.remove()
    assert sum(rows) == 3  # one mask; two masks; "the" and a mask


def test_the_pieces_have_probabilities_that_sum_to_one(encoder):
    model, tokenizer = encoder
    others = np.setdiff1d(range(VOCABULARY), tokenizer.convert_tokens_to_ids(WORDS))
    with torch.no_grad():  # no probability for special tokens, nor for rows that stand for no piece
        model.cls.predictions.decoder.bias[torch.from_numpy(others)] = -1e4
    pairs = [f"{first} {second}" for first in WORDS for second in WORDS]
    found = log_probabilities(reader(model, tokenizer), ["[MASK] ."], pairs, pieces=True)
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-5)


def test_interventions_are_active(encoder):
    edits = {"none": (), "edit": [("layer[0]", random_eraser(1, HIDDEN))]}
    plain, edited = log_probabilities(reader(*encoder, **edits), ["[MASK] was late ."], ["he", "she"])
    assert not np.allclose(plain, edited)
    assert np.array_equal(log_probabilities(reader(*encoder), ["[MASK] was late ."], ["he", "she"])[0], plain)


@pytest.mark.parametrize(
    ("sentence", "phrase", "named"),
    [
        ("[MASK] said .", "grandmother", "grandmother"),
        ("[MASK] said .", "", "''"),
        ("[MASK] said .", "he [MASK]", "he "),
        ("he said .", "he", "he said"),
    ],
)
def test_phrases_that_cannot_be_scored(encoder, sentence, phrase, named):
    with pytest.raises(BiasflowError, match=f"(?i){named}"):
        log_probabilities(reader(*encoder), [sentence], [phrase], pieces=True)


# Vocabularies in which a word is another token at the beginning of a sentence

TEXTS = [
    "He is a nurse .",
    "She is a nurse .",
    "the nurse said that he was late .",
    "the nurse said that she was late .",
]
ASKED = ["[MASK] is a nurse .", "the nurse said that [MASK] was late ."]
PIECES = "is a nurse . the said that was late he she He She".split()


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        (word_tokenizer(PIECES, cased=True), [["He", "She"], ["he", "she"]]),
        (word_tokenizer(PIECES), [["he", "she"], ["he", "she"]]),
        (byte_tokenizer(TEXTS), [["He", "She"], ["Ġhe", "Ġshe"]]),
    ],
    ids=["cased", "lower-cased", "spaces marked"],
)
def test_the_token_is_the_one_that_stands_in_the_sentence(tokenizer, expected):
    torch.manual_seed(0)
    model = BertForMaskedLM(BertConfig(**{**SIZES, "vocab_size": len(tokenizer)})).eval()
    (found,) = log_probabilities(reader(model, tokenizer), ASKED, ["he", "she"])
    for row, (text, tokens) in enumerate(zip(TEXTS[::2], expected, strict=True)):
        ids = tokenizer(text)["input_ids"]
        at = ids.index(tokenizer.convert_tokens_to_ids(tokens[0]))
        ids[at] = tokenizer.mask_token_id
        with torch.inference_mode():
            own = model(input_ids=torch.tensor([ids])).logits[0, at].log_softmax(-1)
        assert found[row] == pytest.approx(own[tokenizer.convert_tokens_to_ids(tokens)].numpy(), abs=1e-5)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("[MASK] is late .", "He is late ."),
        ("She was late . [MASK] is a nurse .", "She was late . He is a nurse ."),
        ('"[MASK] is late"', '"He is late"'),
        ("the nurse said that [MASK] is late .", "the nurse said that he is late ."),
        ("the nurse , [MASK] said .", "the nurse , he said ."),
        ("[MASK]是一个会计。", "He是一个会计。"),
    ],
)
def test_a_word_that_begins_a_sentence_is_capitalised(sentence, text):
    found = put_in("he", sentence)
    assert found["text"] == text and text[found["start"] : found["end"]].lower() == "he"


def test_a_word_that_is_several_tokens_in_some_sentences_is_counted_and_named():
    tokenizer = word_tokenizer([*PIECES[:-2], "H", "##e", "She"], cased=True)
    model = BertForMaskedLM(BertConfig(**SIZES)).eval()
    with pytest.raises(AbsentError, match=r"'he' is not a single token .* 1 of 2 sentences, such as '\[MASK\] is a"):
        log_probabilities(reader(model, tokenizer), ASKED, ["he", "she"])
    assert log_probabilities(reader(model, tokenizer), ASKED, ["he", "she"], pieces=True).shape == (1, 2, 2)


def test_two_words_that_become_one_are_named(encoder):
    with pytest.raises(AbsentError, match=r"'he' and 'hé' are the same tokens in '\[MASK\] was late"):
        log_probabilities(reader(*encoder), ["[MASK] was late ."], ["he", "hé"], pieces=True)


def test_the_key_of_pronouns_that_become_one_is_named(source, tmp_path):
    one = source("mine", occupations="occupations.txt")
    own = {"template": "[MASK] is a {occupation} .", "pronouns": ["he", "hé"]}
    with pytest.raises(AbsentError, match=r"metrics\.occtmp\.own\.mine\.pronouns: .*'hé'"):
        masked_words.read(one, tmp_path / "p.parquet", **own)
    with pytest.raises(BiasflowError, match="'he' and 'He' are one word"):
        masked_words.read(one, tmp_path / "p.parquet", **{**own, "pronouns": ["he", "He"]})


def test_a_word_that_is_part_of_a_token_is_named():
    tokenizer = word_tokenizer(["the", "king", "protected", "protect"])
    model = BertForMaskedLM(BertConfig(**SIZES)).eval()
    words = pd.DataFrame({"text": ["the king protected"], "start": 9, "end": 16, "also_start": -1, "also_end": -1})
    with pytest.raises(AbsentError, match="'protect' holds more, 'protected'"):
        piece_log_probabilities(reader(model, tokenizer), words.assign(filling="together"))
