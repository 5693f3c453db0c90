"""No readout depends on which texts are read together, in which order, or on which side a tokenizer would pad."""

import json
import shutil

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.encoders.load import load_encoder
from biasflow.readouts.likelihoods import pseudo_log_likelihoods
from biasflow.readouts.reader import Reader
from biasflow.readouts.vectors import embed
from tests.unit.conftest import save_random
from tests.unit.encoders.families import SIZES, model_of
from tests.unit.fake_tokenizer import word_tokenizer

WORDS = "the a nurse chef was late here and he she now . very kind".split()
SENTENCES = [
    "she was here .",
    "the nurse was very kind and late .",
    "he was late now .",
    "a chef .",
    "The chef is [MASK] .",
]
TOLERANCE = 1e-5
# Of no listed family: both read padding as if it were text, the first in spite of its attention mask.
OTHERS = {"nystromformer": transformers.NystromformerForMaskedLM, "fnet": transformers.FNetForMaskedLM}
FAMILIES = ("bert", "roberta", "distilbert", "albert", *OTHERS)
FIXED = {"strategy": {"Fixed": 16}, "direction": "Left", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0}
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "padding_side": st.sampled_from(["left", "right"]),
        "truncation_side": st.sampled_from(["left", "right"]),
        "model_input_names": st.sampled_from([["input_ids"], ["attention_mask", "input_ids"]]),
        "split_special_tokens": st.booleans(),
        "tokenizer_class": st.just("PreTrainedTokenizerFast"),
    },
)


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request, tmp_path_factory):
    return save_random(
        tmp_path_factory.mktemp("any") / request.param, lambda: model(request.param), word_tokenizer(WORDS)
    )


def model(kind):
    torch.manual_seed(0)
    if kind not in OTHERS:
        return model_of(kind, "MaskedLM")
    return OTHERS[kind](OTHERS[kind].config_class(**SIZES))


def read(folder, order, batch_size):
    """Everything that is read of the sentences in this order, as it was read: [sentences, numbers]."""
    model, tokenizer = load_encoder(folder, head="masked_lm")
    reader = Reader(model, tokenizer, batch_size=batch_size)
    sentences = [SENTENCES[number] for number in order]
    vectors = embed(reader, sentences, ["cls", "mean"])
    likelihoods = pseudo_log_likelihoods(reader, sentences)[0]
    return np.column_stack([vectors["cls"][0], vectors["mean"][0], likelihoods[0]])


@pytest.fixture(scope="module")
def alone(folder):
    return np.concatenate([read(folder, [number], 1) for number in range(len(SENTENCES))])


@settings(max_examples=5, deadline=None)
@given(
    about=SETTINGS,
    padding=st.sampled_from([None, FIXED | {"pad_token": "[PAD]"}]),
    order=st.permutations(range(len(SENTENCES))),
    size=st.integers(1, 6),
)
def test_a_text_is_read_as_if_it_were_alone(folder, alone, about, padding, order, size):
    other = folder.parent / "other"
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(folder, other)
    for name, keys in (("tokenizer_config.json", about), ("tokenizer.json", {"padding": padding})):
        (other / name).write_text(json.dumps(json.loads((other / name).read_text()) | keys))
    assert np.abs(read(other, order, size) - alone[list(order)]).max() < TOLERANCE
    assert alone.std(axis=0).max() > 100 * TOLERANCE
