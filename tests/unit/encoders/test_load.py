"""Encoders from folders: what is refused, and why."""

import json

import pytest
import torch
from transformers import RobertaConfig, RobertaForMaskedLM

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders.device import resolve_device
from scripts.biasflow.encoders.load import load_encoder
from tests.unit.conftest import MODELS, SIZES, VOCABULARY
from tests.unit.fake_tokenizer import word_tokenizer


@pytest.fixture
def folder(tmp_path):
    """A BERT with both heads and a tokenizer, saved as transformers saves them."""
    torch.manual_seed(0)
    MODELS["bert-pretraining"]().save_pretrained(tmp_path / "encoder")
    word_tokenizer(["he", "she", "nurse"]).save_pretrained(tmp_path / "encoder")
    return tmp_path / "encoder"


@pytest.mark.parametrize("head", ["pretraining", "next_sentence", "masked_lm", "none"])
def test_every_head_of_a_whole_encoder(folder, head):
    model, tokenizer = load_encoder(folder, head=head)
    assert not model.training
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert len(tokenizer) == 8


def test_half_precision_weights_become_float32(folder):
    model, _ = load_encoder(folder, head="pretraining")
    model.half().save_pretrained(folder)
    assert next(load_encoder(folder, head="none")[0].parameters()).dtype == torch.float32


def test_a_head_that_was_not_trained_is_an_error(folder):
    model, _ = load_encoder(folder, head="none")
    model.save_pretrained(folder)
    with pytest.raises(BiasflowError, match=f"{folder}.*next_sentence"):
        load_encoder(folder, head="next_sentence")


def test_a_family_without_the_head_is_an_error(tmp_path):
    RobertaForMaskedLM(RobertaConfig(**SIZES)).save_pretrained(tmp_path)
    word_tokenizer(["he"]).save_pretrained(tmp_path)
    with pytest.raises(BiasflowError, match=f"{tmp_path}.*roberta.*next_sentence"):
        load_encoder(tmp_path, head="next_sentence")


def test_an_encoder_saved_without_a_pooler_is_loaded_without_one(tmp_path):
    RobertaForMaskedLM(RobertaConfig(**SIZES)).save_pretrained(tmp_path)
    word_tokenizer(["he"]).save_pretrained(tmp_path)
    assert load_encoder(tmp_path, head="none")[0].pooler is None


def no_config(folder):
    (folder / "config.json").unlink()


def truncated(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def not_a_number(folder):
    model, _ = load_encoder(folder, head="pretraining")
    with torch.no_grad():
        model.base_model.encoder.layer[1].output.dense.bias[3] = float("nan")
    model.save_pretrained(folder)


def pickled(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def too_many_pieces(folder):
    word_tokenizer([f"w{i}" for i in range(VOCABULARY)]).save_pretrained(folder)


def unknown_family(folder):
    (folder / "config.json").write_text(json.dumps({"model_type": "no-such-family"}))


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (no_config, "config.json"),
        (truncated, "weights"),
        (not_a_number, "layer.1.output.dense.bias"),
        (pickled, "safetensors"),
        (too_many_pieces, "tokenizer"),
        (unknown_family, "config.json"),
    ],
)
def test_damage_is_one_line_that_names_the_folder(folder, damage, named):
    damage(folder)
    with pytest.raises(BiasflowError) as caught:
        load_encoder(folder, head="next_sentence")
    message = str(caught.value)
    assert str(folder) in message and named in message and "\n" not in message


@pytest.mark.parametrize("known", [True, False])
def test_code_in_the_folder_of_an_encoder_is_never_run(folder, tmp_path, known):
    """Of a family that the library knows its own class is taken; another cannot be loaded."""
    (folder / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoConfig": "code.Config", "AutoModel": "code.Model", "AutoTokenizer": ["code.T", "code.T"]}
    if not known:
        config["model_type"] = "no-such-family"
    (folder / "config.json").write_text(json.dumps(config))
    if known:
        assert load_encoder(folder, head="masked_lm")[0].config.model_type == "bert"
    else:
        with pytest.raises(BiasflowError, match=str(folder)):
            load_encoder(folder, head="masked_lm")
    assert not (tmp_path / "ran").exists()


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(BiasflowError, match="nowhere"):
        load_encoder(tmp_path / "nowhere", head="none")


def test_devices(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == resolve_device("cpu") == torch.device("cpu")
    for wrong in ("cuda", "gpu"):
        with pytest.raises(BiasflowError, match=wrong):
            resolve_device(wrong)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == resolve_device("cuda") == torch.device("cuda")
