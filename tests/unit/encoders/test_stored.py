"""Folders of encoders that are refused before the first job: one line with the file, without torch, without waiting."""

import json
import os
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from biasflow.base.errors import BiasflowError
from biasflow.encoders import stored
from biasflow.encoders.families import FAMILIES
from biasflow.encoders.load import load_encoder
from biasflow.encoders.stored import check_stored
from biasflow.plan.facts import gather
from tests.unit.conftest import MODELS, SIZES
from tests.unit.encoders.families import model_of
from tests.unit.fake_tokenizer import word_tokenizer


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored") / "encoder"
    torch.manual_seed(0)
    MODELS["bert-pretraining"]().save_pretrained(folder)
    word_tokenizer(["he", "she", "nurse"]).save_pretrained(folder)
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "encoder")


def keys(file="config.json", **changed):
    def change(folder):
        path = folder / file
        path.write_text(json.dumps(json.loads(path.read_text()) | changed))

    return change


def written(file, text):
    return lambda folder: (folder / file).write_text(text)


def pipe(file):
    def change(folder):
        (folder / file).unlink(missing_ok=True)
        os.mkfifo(folder / file)

    return change


def without_a_layer(folder):
    path = folder / "model.safetensors"
    save_file({name: part for name, part in load_file(path).items() if ".layer.1." not in name}, path)


def mask_elsewhere(folder):
    keys("tokenizer_config.json", mask_token=None)(folder)
    (folder / "special_tokens_map.json").write_text('{"mask_token": "[UNK]", "unk_token": "[UNK]"}')


DEEP = 100_000
HOSTILE = {
    "code": (keys(auto_map={"AutoModel": "own.Model"}), "auto_map"),
    "a kernel": (keys(attn_implementation="somebody/kernel"), "attn_implementation"),
    "a kernel, as it is saved": (keys(_attn_implementation="somebody/kernel"), "_attn_implementation"),
    "a kernel, inside": (keys(_attn_implementation_internal="somebody/kernel"), "_attn_implementation_internal"),
    "quantised": (keys(quantization_config={"quant_method": "bitsandbytes"}), "quantization_config"),
    "eight bits": (keys(load_in_8bit=True), "load_in_8bit"),
    "an unknown type": (keys(model_type="bert-of-2030"), "install a newer transformers"),
    "a decoder": (keys(is_decoder=True), "is_decoder"),
    "3,000 layers": (keys(num_hidden_layers=3000), "3000 layers"),
    "fewer layers": (keys(num_hidden_layers=2), "bert.encoder.layer.2."),
    "a layer missing": (without_a_layer, "no weights of layer 1"),
    "no layer": (keys(num_hidden_layers=0), "num_hidden_layers"),
    "50 million labels": (keys(num_labels=50_000_000), "num_labels"),
    "labels in words": (keys(num_labels="two"), "num_labels"),
    "another width": (keys(hidden_size=2 * SIZES["hidden_size"]), "hidden_size"),
    "another vocabulary": (keys(vocab_size=30522), "vocab_size"),
    "other positions": (keys(max_position_embeddings=4096), "max_position_embeddings"),
    "another inner size": (keys(intermediate_size=3), "intermediate_size"),
    "a width in words": (keys(hidden_size="16"), "hidden_size"),
    "a width that is true": (keys(hidden_size=True), "hidden_size"),
    "a width below 0": (keys(hidden_size=-16), "hidden_size"),
    "heads that do not divide": (keys(num_attention_heads=5), "5 attention heads"),
    "an unknown activation": (keys(hidden_act="evil"), "activation 'evil'"),
    "an activation that is a list": (keys(hidden_act=["gelu"]), "activation"),
    "an architecture that is a number": (keys(architectures=[3]), "architectures"),
    "masked by padding": (keys("tokenizer_config.json", mask_token="[PAD]"), "mask_token and pad_token"),
    "the same, as an object": (
        keys("tokenizer_config.json", mask_token={"content": "[CLS]", "special": True}),
        "mask_token and cls_token",
    ),
    "masked by padding, nothing else named": (
        written("tokenizer_config.json", '{"mask_token": "[PAD]"}'),
        "mask_token and pad_token",
    ),
    "masked by padding, elsewhere": (mask_elsewhere, "mask_token and unk_token"),
    "a nested list": (written("config.json", "[" * DEEP + "]" * DEEP), "nested too deeply"),
    "a nested object": (written("tokenizer_config.json", '{"a":' * DEEP + "1" + "}" * DEEP), "nested too deeply"),
    "a list": (written("config.json", "[]"), "JSON object"),
    "ten megabytes": (written("config.json", " " * 10**7), "10000000 bytes"),
    "a pipe for config.json": (pipe("config.json"), "no regular file"),
    "a pipe for the weights": (pipe("model.safetensors"), "no regular file"),
    "a pipe for the vocabulary": (pipe("vocab.txt"), "no regular file"),
    "a pipe beside them": (pipe("more.json"), "no regular file"),
    "a folder for a file": (lambda folder: (folder / "added_tokens.json").mkdir(), "no regular file"),
    "a link to nothing": (lambda folder: (folder / "vocab.txt").symlink_to(folder / "nowhere.txt"), "cannot be read"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_folder_is_one_line_before_the_first_job(folder, name, monkeypatch):
    change, named = HOSTILE[name]
    change(folder)
    monkeypatch.setattr(torch.nn.Module, "__init__", None)  # no model is made to find it out
    local = {"source": "local", "path": str(folder), "optional": False}
    with pytest.raises(BiasflowError) as caught:
        gather({"encoders": {"mine": local}, "tasks": {}, "mirror": None, "papers": {}})
    line = str(caught.value)
    assert line.startswith(f"config: key 'encoders.mine.path': {folder}") and named in line
    assert "\n" not in line and len(line) < 500


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_family_is_accepted_as_transformers_saves_it(kind, tmp_path):
    model_of(kind, "MaskedLM").save_pretrained(tmp_path)
    check_stored(tmp_path)
    path = tmp_path / "config.json"
    about = json.loads(path.read_text())
    wrong = [next(key for key in names if key in about) for names in (stored.HIDDEN, stored.VOCABULARY, stored.INNER)]
    if kind != "albert":  # all its layers have the same weights
        wrong.append(next(key for key in stored.DEPTH if key in about))
    for key in wrong:
        path.write_text(json.dumps(about | {key: 2 * about[key]}))
        with pytest.raises(BiasflowError, match=str(tmp_path)):
            check_stored(tmp_path)


def test_weights_that_are_all_the_same_are_named_by_the_first_job(folder):
    path = folder / "model.safetensors"
    name = "bert.encoder.layer.1.attention.self.query.weight"
    tensors = load_file(path)
    tensors[name] = torch.full_like(tensors[name], 0.25)
    save_file(tensors, path)
    check_stored(folder)  # the header does not say it
    with pytest.raises(BiasflowError, match=f"{folder}: the weights are all 0.25 in .*layer.1.attention.self.query"):
        load_encoder(folder, head="none")


def test_a_mask_token_of_tokenizer_json_alone_is_named_by_the_first_job(folder):
    (folder / "tokenizer_config.json").write_text(json.dumps({"mask_token": "[PAD]", "model_max_length": 16}))
    (folder / "special_tokens_map.json").unlink(missing_ok=True)
    tokens = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "mask_token": "[PAD]"}
    tokens |= {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens))
    with pytest.raises(BiasflowError, match="mask_token and pad_token are both"):
        load_encoder(folder, head="none")
