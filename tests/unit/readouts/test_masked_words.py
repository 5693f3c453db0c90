"""What a masked-LM head expects at [MASK]."""

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from biasflow.base.errors import AbsentError
from tests.unit.conftest import MODELS, SIZES
from tests.unit.fake_tokenizer import byte_tokenizer, word_tokenizer
from tests.unit.readouts.conftest import log_probabilities, reader

WORDS = "the nurse baker said that was late he she .".split()


@pytest.fixture(params=["bert-pretraining"])
def encoder(request):
    torch.manual_seed(0)
    return MODELS[request.param]().eval(), word_tokenizer(WORDS)


def log_p(model, tokenizer, tokens, at, piece):
    """The model's own log p(piece) at a position of a sequence of tokens."""
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(tokens)])
    with torch.inference_mode():
        output = model(input_ids=ids)
        logits = (output.prediction_logits if "prediction_logits" in output else output.logits)[0, at]
    return float(logits.log_softmax(-1)[tokenizer.convert_tokens_to_ids(piece)])


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


def test_a_sentence_in_which_a_word_is_several_tokens_is_left_out_and_named():
    tokenizer = word_tokenizer([*PIECES[:-2], "H", "##e", "She"], cased=True)
    model = BertForMaskedLM(BertConfig(**SIZES)).eval()
    one, both = reader(model, tokenizer), log_probabilities(reader(model, tokenizer), ASKED, ["he", "she"], pieces=True)
    assert log_probabilities(one, ASKED, ["he", "she"])[0] == pytest.approx(both[0, 1:], abs=1e-5)
    assert one.left_out.reasons == {"0": "a word that is no single token"}
    with pytest.raises(AbsentError, match=r"no single token: 'he' in '\[MASK\] is a"):
        log_probabilities(reader(model, tokenizer), ASKED[:1], ["he", "she"])
