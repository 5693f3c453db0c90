"""Pre-training on real text of long documents: the loss falls, and what is saved loads."""

import math

import pytest

from biasflow.encoders.load import load_encoder
from biasflow.training.pretrain import pretrain
from tests.real.files import DATA, needs_data, read_wikitext

pytestmark = needs_data


@pytest.fixture(scope="module")
def documents():
    return read_wikitext(DATA / "wikitext-2/wiki.valid.tokens")


def test_a_few_steps_beat_the_uniform_guess(documents, tmp_path):
    metrics = pretrain(
        documents, tmp_path, seed=0, vocab_size=2000, layers=2, hidden=64, heads=2, intermediate=128, max_length=64,
        steps=60, batch_size=16, threads=1,
    )  # fmt: skip
    assert metrics["masked_lm_loss"] < math.log(metrics["vocabulary"]) - 0.5
    model, tokenizer = load_encoder(tmp_path, head="pretraining")
    assert len(tokenizer) == metrics["vocabulary"] == model.config.vocab_size
