"""Stored encoders: what their folders tell before they are loaded, and what is wrong with them."""

import json
import os
import shutil
import time

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (
    BertForMaskedLM,
    BertForPreTraining,
    BertModel,
    DistilBertConfig,
    DistilBertForMaskedLM,
    RobertaConfig,
    RobertaForMaskedLM,
)
from transformers.integrations import peft
from transformers.models.auto import auto_factory
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

from biasflow.base.errors import BiasflowError
from biasflow.base.files import sha256
from biasflow.corpora.word_sets import split_words
from biasflow.encoders import stored
from biasflow.encoders.described import COLUMNS, describe, english_split, table_row
from biasflow.encoders.families import FAMILIES
from biasflow.encoders.load import load_encoder
from biasflow.encoders.stored import check_stored, digests_of, tokenizer_of
from biasflow.plan.facts import gather
from tests.unit.conftest import HIDDEN, MODELS, SIZES, save_random
from tests.unit.encoders.families import model_of
from tests.unit.fake_tokenizer import word_tokenizer


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored") / "encoder"
    return save_random(folder, MODELS["bert-pretraining"], word_tokenizer(["he", "she", "nurse"]))


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


def index_of(name):
    """An index in place of model.safetensors, which names a file for each weight; the weights lie beside the folder."""

    def change(folder):
        weights = folder.parent / "model-1.safetensors"
        shutil.move(folder / "model.safetensors", weights)
        file = str(weights) if name == "absolute" else name
        about = {"metadata": {}, "weight_map": dict.fromkeys(load_file(weights), file)}
        (folder / "model.safetensors.index.json").write_text(json.dumps(about))

    return change


def more_pieces(number):
    def change(folder):
        path = folder / "tokenizer.json"
        about = json.loads(path.read_text())
        about["model"]["vocab"] |= {f"piece{k}": k + 100 for k in range(number)}
        path.write_text(json.dumps(about))

    return change


def longer_bias(folder):
    path = folder / "model.safetensors"
    save_file(load_file(path) | {"cls.predictions.bias": torch.zeros(12)}, path)


def whole_numbers(folder):
    path = folder / "model.safetensors"
    save_file({name: part.to(torch.int8) for name, part in load_file(path).items()}, path)


def adapted(folder):
    path, name = folder / "model.safetensors", "bert.encoder.layer.0.attention.self.query"
    tensors = load_file(path)
    tensors[f"{name}.base_layer.weight"] = tensors.pop(f"{name}.weight")
    save_file(tensors | {f"{name}.lora_A.default.weight": torch.zeros(8, 16)}, path)


def renamed(before):
    """All weights under names that begin so."""

    def change(folder):
        path = folder / "model.safetensors"
        save_file({f"{before}{name}": part for name, part in load_file(path).items()}, path, {"format": "pt"})

    return change


DEEP = 100_000
HOSTILE = {
    "weights elsewhere": (index_of("../model-1.safetensors"), "names ../model-1.safetensors, which lies elsewhere"),
    "weights elsewhere, by an absolute path": (index_of("absolute"), "which lies elsewhere"),
    "weights in a folder below": (index_of("more/model-1.safetensors"), "which lies elsewhere"),
    "weights that are not there": (index_of("model-1.safetensors"), "there is no such file"),
    "an index of nothing": (
        lambda folder: (index_of("x")(folder), written("model.safetensors.index.json", "{}")(folder)),
        "weight_map",
    ),
    "weights that a key names": (keys(transformers_weights="../model.safetensors"), "transformers_weights"),
    "a tokenizer that a key names": (
        keys("tokenizer_config.json", fast_tokenizer_files=["../tokenizer.4.0.0.json"]),
        "fast_tokenizer_files",
    ),
    "more pieces than vectors": (more_pieces(100), "tokenizer.json: has 108 pieces"),
    "more lines than vectors": (
        lambda folder: (
            (folder / "tokenizer.json").unlink(),
            written("vocab.txt", "".join(f"{k}\n" for k in range(500)))(folder),
        ),
        "vocab.txt: has 500 pieces",
    ),
    "megabytes of merges": (written("merges.txt", "a b\n" * 2_000_000), "merges.txt: has 8,000,000 bytes"),
    "an adapter that is not merged": (adapted, "merge_and_unload"),
    "a head of another vocabulary": (longer_bias, "cls.predictions.bias is 12, but"),
    "code": (keys(auto_map={"AutoModel": "own.Model"}), "auto_map"),
    "code of a tokenizer": (keys("tokenizer_config.json", auto_map={}), "tokenizer_config.json: key 'auto_map'"),
    "no weights": (written("model.safetensors", "no"), "weights cannot be read"),
    "whole numbers": (whole_numbers, "of type I8"),
    "no JSON": (written("config.json", "{"), "JSON"),
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
    "ten billion segments": (keys(type_vocab_size=10**10), "10000000000 x"),
    "ten billion segments, with a point": (keys(type_vocab_size=1e10), "'type_vocab_size' is 10000000000.0"),
    "a rate that is no number": (keys(hidden_dropout_prob=float("nan")), "'hidden_dropout_prob' is nan"),
    "a rate above 1": (keys(attention_probs_dropout_prob=2), "'attention_probs_dropout_prob' is 2"),
    "an infinite epsilon": (keys(layer_norm_eps=float("inf")), "'layer_norm_eps' is inf"),
    "an epsilon in which all states are the same": (keys(layer_norm_eps=1e30), "'layer_norm_eps' is 1e+30"),
    "any other number that is none": (keys(initializer_range=float("nan")), "'initializer_range' is nan"),
    "a padding token that is no piece": (keys(pad_token_id=10**6), "'pad_token_id' is 1000000"),
    "texts of three tokens": (keys("tokenizer_config.json", model_max_length=3), "'model_max_length' is 3"),
    "a decoder beside the class of an encoder": (
        keys(model_type="gpt2", architectures=["BertForMaskedLM"]),
        "'model_type' is gpt2",
    ),
    "an encoder-decoder beside it": (
        keys(model_type="blenderbot", architectures=["BertForMaskedLM"]),
        "'model_type' is blenderbot",
    ),
    "weights of another class": (renamed("roberta."), "begin with 'roberta.bert.'"),
    "weights of an encoder in an encoder": (renamed("encoder."), "begin with 'encoder.bert.'"),
    "weights of something around the encoder": (renamed("0.auto_model."), "begin with '0.auto_model.bert.'"),
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
    "a folder for a file": (lambda folder: (folder / "added_tokens.json").mkdir(), "no regular file"),
    "shards that would be unpickled": (lambda folder: in_shards(folder, "a.bin", "b.safetensors"), r"a.bin"),
    "a link to nothing": (lambda folder: (folder / "vocab.txt").symlink_to(folder / "nowhere.txt"), "cannot be read"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_folder_is_one_line_before_the_first_job(folder, name, monkeypatch):
    change, named = HOSTILE[name]
    change(folder)
    monkeypatch.setattr(torch.nn.Module, "__init__", None)  # no model is made to find it out
    local = {"source": "local", "path": str(folder), "optional": False}
    with pytest.raises(BiasflowError) as caught:
        gather({"encoders": {"mine": local}, "tasks": {}, "mirror": None, "papers": {}, "ask": {}})
    line = str(caught.value)
    assert line.startswith(f"config: key 'encoders.mine.path': {folder}") and named in line
    assert "\n" not in line and len(line) < 500


def test_a_tokenizer_of_millions_of_pieces_is_refused_unread(folder):
    more_pieces(400_000)(folder)
    start = time.process_time()
    with pytest.raises(BiasflowError, match=r"tokenizer\.json: has [\d,]+ bytes"):
        check_stored(folder)
    assert time.process_time() - start < 0.1


def in_shards(folder, *names):
    """The weights of a folder in files of these names, as its index says."""
    tensors = sorted(load_file(folder / "model.safetensors").items())
    (folder / "model.safetensors").unlink()
    parts = {name: dict(tensors[number :: len(names)]) for number, name in enumerate(names)}
    for name, part in parts.items():
        save_file(part, folder / name, {"format": "pt"})
    index = {"metadata": {}, "weight_map": {key: name for name, part in parts.items() for key in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return dict(tensors)


@pytest.mark.parametrize("names", [("a.safetensors", "b.part"), ("a.safetensors", "b.SAFETENSORS", "c.bin")])
def test_weights_that_are_loaded_are_recorded_however_their_files_are_called(folder, names):
    tensors = in_shards(folder, *names)
    model, _ = load_encoder(folder, head="pretraining")
    assert all(torch.equal(model.get_parameter(name), tensor) for name, tensor in tensors.items())
    recorded = digests_of(folder)
    assert {name: recorded[name] for name in names} == {name: sha256(folder / name) for name in names}


def test_every_file_of_a_tokenizer_of_transformers_is_recorded(tmp_path):
    """Of all types that have a masked-LM head, as far as their tokenizers can be imported here."""
    classes = {TOKENIZER_MAPPING_NAMES.get(kind) for kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES} - {None}
    classes |= {"BertweetTokenizer", "PhobertTokenizer"}  # which a folder may name
    names = {file for name in classes for file in getattr(transformers, name).vocab_files_names.values()}
    assert {"vocab.txt", "merges.txt", "spiece.model", "bpe.codes"} <= names
    for name in names:
        (tmp_path / name).touch()
    assert names <= set(digests_of(folder_with_weights(tmp_path)))


def folder_with_weights(folder):
    for name in ("config.json", "model.safetensors"):
        (folder / name).touch()
    return folder


def test_a_tokenizer_of_other_files_is_read_from_them(tmp_path):
    """BertweetTokenizer has its merges in bpe.codes: other merges, other pieces, another record."""
    vocabulary = [f"{piece} 1" for piece in ("he", "s@@", "he</w>", "n@@", "u@@", "r@@", "se")]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    (tmp_path / "bpe.codes").write_text("h e</w> 1\ns e</w> 1\n")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertweetTokenizer"}')
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    RobertaForMaskedLM(RobertaConfig(**sizes, vocab_size=20, pad_token_id=1)).save_pretrained(tmp_path)
    pieces = [load_encoder(tmp_path, head="masked_lm")[1].tokenize("nurse")]
    before = digests_of(tmp_path)
    (tmp_path / "bpe.codes").write_text("h e</w> 1\n")
    pieces.append(load_encoder(tmp_path, head="masked_lm")[1].tokenize("nurse"))
    assert pieces == [["n@@", "u@@", "r@@", "se"], ["n@@", "u@@", "r@@", "s@@", "e"]]
    assert [name for name, digest in digests_of(tmp_path).items() if digest != before[name]] == ["bpe.codes"]


def test_what_lies_beside_an_encoder_is_neither_read_nor_recorded(folder, tmp_path):
    before, ids = digests_of(folder), load_encoder(folder, head="none")[1]("the nurse")["input_ids"]
    for name in ("notes.txt", "README.md", "more.safetensors", "generation_config.json", "chat_template.jinja"):
        (folder / name).write_text("{")
    pipe("more.json")(folder)
    model, tokenizer = load_encoder(folder, head="none")
    assert digests_of(folder) == before and tokenizer("the nurse")["input_ids"] == ids
    tokenizer.save_pretrained(tmp_path / "saved")
    assert not (tmp_path / "saved/chat_template.jinja").exists()
    assert model.config.name_or_path == tokenizer.name_or_path == str(folder)  # what messages call it


def test_files_of_a_folder_may_be_links_and_several(folder, tmp_path):
    """As the hub's cache has them; what lies beside and is not in the index is not loaded."""
    shutil.move(folder / "model.safetensors", tmp_path / "blob")
    tensors, other = load_file(tmp_path / "blob"), {"decoy": torch.zeros(1, dtype=torch.int8)}
    parts = dict(sorted(tensors.items())[:20]), dict(sorted(tensors.items())[20:])
    for number, part in enumerate(parts):
        save_file(part, tmp_path / f"part{number}", {"format": "pt"})
        (folder / f"model-{number}.safetensors").symlink_to(tmp_path / f"part{number}")
    save_file(other, folder / "model-decoy.safetensors")
    shards = {name: f"model-{number}.safetensors" for number, part in enumerate(parts) for name in part}
    index = {"metadata": {}, "weight_map": shards}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    check_stored(folder)
    assert table_row(folder)["sha256"] == f"{sha256(tmp_path / 'part0')} {sha256(tmp_path / 'part1')}"
    model, _ = load_encoder(folder, head="pretraining")
    assert all(torch.equal(model.get_parameter(name), tensor) for name, tensor in tensors.items())


@pytest.mark.parametrize("key", ["tokenizer_file", "vocab_file"])
def test_a_tokenizer_is_read_from_the_folder_whatever_its_keys_say(folder, tmp_path, key):
    (tmp_path / "other").mkdir()
    word_tokenizer(["other"]).save_pretrained(tmp_path / "other")
    keys("tokenizer_config.json", **{key: str(tmp_path / "other/tokenizer.json")})(folder)
    assert "nurse" in load_encoder(folder, head="none")[1].get_vocab()


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


@pytest.mark.parametrize("before", ["_orig_mod.", "module.", "model.", "module._orig_mod."])
def test_weights_that_a_program_has_wrapped_are_read_under_their_own_names(folder, whole, before):
    renamed(before)(folder)
    (found, _), (expected, _) = (load_encoder(path, head="pretraining") for path in (folder, whole))
    for name, tensor in expected.state_dict().items():
        assert torch.equal(found.state_dict()[name], tensor)
    assert describe(folder).lacking == describe(whole).lacking == {}


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_family_has_its_prefix(kind):
    assert (FAMILIES[kind].prefix or kind) == model_of(kind, "MaskedLM").base_model_prefix


def test_files_that_may_not_be_read_are_named_with_what_to_do(folder, monkeypatch):
    """The library of the weights says that there is no such file."""
    for name in ("model.safetensors", "config.json", ""):
        monkeypatch.setattr(os, "access", lambda path, mode, name=name: path != folder / name)
        with pytest.raises(BiasflowError, match=rf"{folder / name}: you may not read.*permissions"):
            gather(
                {
                    "encoders": {"mine": LOCAL | {"path": str(folder)}},
                    "tasks": {},
                    "mirror": None,
                    "papers": {},
                    "ask": {},
                }
            )


LOCAL = {"source": "local", "optional": False}


def adapter(folder):
    about = {"peft_type": "LORA", "base_model_name_or_path": "somebody/base", "r": 8}
    (folder / "adapter_config.json").write_text(json.dumps(about))
    save_file({"base_model.model.lora_A.weight": torch.zeros(8, 16)}, folder / "adapter_model.safetensors")


def test_an_adapter_alone_is_named_with_the_model_that_it_belongs_to(tmp_path):
    adapter(tmp_path)
    config = {"encoders": {"mine": {"source": "local", "path": str(tmp_path), "optional": False}}}
    with pytest.raises(BiasflowError, match=r"an adapter of somebody/base.*merge_and_unload"):
        gather(config | {"tasks": {}, "mirror": None, "papers": {}, "ask": {}})


def test_an_adapter_beside_an_encoder_is_named_and_not_applied(folder, monkeypatch):
    assert describe(folder).not_applied == ()
    adapter(folder)
    (text,) = describe(folder).not_applied
    assert "somebody/base" in text and "merge_and_unload" in text
    for module in (auto_factory, peft):  # transformers would apply it
        monkeypatch.setattr(module, "is_peft_available", lambda: True)
    model, _ = load_encoder(folder, head="none")
    assert not any("lora" in name for name in model.state_dict())


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


def test_a_text_is_neither_padded_nor_cut_whatever_the_file_of_a_tokenizer_says(tmp_path):
    """As all-MiniLM-L6-v2's does, of which each word had 128 pieces."""
    word_tokenizer(["he", "woman"]).save_pretrained(tmp_path)
    tokenizer = tokenizer_of(tmp_path)
    tokenizer.enable_padding(length=128)
    tokenizer.enable_truncation(max_length=3)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert tokenizer_of(tmp_path).encode("he woman he woman", add_special_tokens=False).tokens == ["he", "woman"] * 2


def test_the_share_of_english_words_that_a_vocabulary_splits(tmp_path):
    assert np.isnan(english_split(tmp_path))
    word_tokenizer(["he", "woman", "executive"]).save_pretrained(tmp_path)
    by_library = english_split(tmp_path)
    assert split_words(tokenizer_of(tmp_path), ["Executive", "brother"]) == ["brother"]
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\nhe\nwoman\nexecutive\n")
    assert english_split(tmp_path) == by_library == 76 / 79
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(BiasflowError, match=str(tmp_path)):
        english_split(tmp_path)
