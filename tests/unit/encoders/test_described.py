"""What an encoder's files say of it, without torch's loading of them."""

import pytest
import torch
from transformers import BertForMaskedLM, BertForPreTraining, BertModel, DistilBertConfig, DistilBertForMaskedLM

from biasflow.base.files import sha256
from biasflow.encoders.described import COLUMNS, table_row
from tests.unit.conftest import HIDDEN


@pytest.mark.parametrize(
    ("kind", "masked", "next_sentence"),
    [(BertForPreTraining, "yes", "yes"), (BertForMaskedLM, "yes", "no"), (BertModel, "no", "no")],
)
def test_heads_are_those_of_the_weights(bert, tmp_path, kind, masked, next_sentence):
    model = kind(bert.config)
    model.save_pretrained(tmp_path)
    found = table_row(tmp_path)
    assert ["encoder", *found] == COLUMNS
    assert (found["architecture"], found["width"]) == (kind.__name__, HIDDEN)
    assert found["layers"] == bert.config.num_hidden_layers
    assert (found["masked_lm_head"], found["next_sentence_head"]) == (masked, next_sentence)
    assert found["sha256"] == sha256(tmp_path / "model.safetensors")
    assert found["parameters"] == sum(p.numel() for p in dict(model.named_parameters()).values())


def test_another_family_and_a_config_that_says_little(tmp_path):
    config = DistilBertConfig(dim=8, n_layers=1, n_heads=2, hidden_dim=8, vocab_size=20)
    torch.manual_seed(0)
    DistilBertForMaskedLM(config).save_pretrained(tmp_path)
    found = table_row(tmp_path)
    assert (found["layers"], found["width"], found["masked_lm_head"]) == (1, 8, "yes")
    (tmp_path / "config.json").write_text('{"model_type": "distilbert"}')
    assert (table_row(tmp_path)["architecture"], table_row(tmp_path)["layers"]) == ("distilbert", "")
