"""Encoders from folders: what is refused, and why."""

import ast
import json
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.encoders import taps
from biasflow.encoders.batches import longest_input
from biasflow.encoders.described import describe
from biasflow.encoders.device import resolve_device
from biasflow.encoders.load import OFFLINE, load_encoder
from biasflow.encoders.tokens import tokenise
from tests.unit.conftest import MODELS, SIZES, VOCABULARY, save_random
from tests.unit.fake_tokenizer import bos_tokenizer, word_tokenizer

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path):
    """A BERT with both heads and a tokenizer, saved as transformers saves them."""
    return save_random(tmp_path / "encoder", MODELS["bert-pretraining"], word_tokenizer(["he", "she", "nurse"]))


def truncated(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def not_a_number(folder):
    model, _ = load_encoder(folder, head="pretraining")
    with torch.no_grad():
        model.base_model.encoder.layer[1].output.dense.bias[3] = float("nan")
    model.save_pretrained(folder)


def changed(folder, file="config.json", **keys):
    """Keys of a JSON file, changed."""
    (folder / file).write_text(json.dumps(json.loads((folder / file).read_text()) | keys))


def weights(change):
    """Every tensor of the weights, changed by `change` of its name and itself."""

    def damage(folder):
        tensors = load_file(folder / "model.safetensors")
        save_file({name: change(name, tensor) for name, tensor in tensors.items()}, folder / "model.safetensors")

    return damage


def lost_from_the_vocabulary(folder, *, renumbered, declared):
    """[MASK] is no piece any more; with `declared` the file still says that there is such a token."""
    path = folder / "tokenizer.json"
    about = json.loads(path.read_text())
    pieces = [piece for piece in about["model"]["vocab"] if piece != "[MASK]"]
    numbers = range(len(pieces)) if renumbered else (about["model"]["vocab"][piece] for piece in pieces)
    about["model"]["vocab"] = dict(zip(pieces, numbers, strict=True))
    about["added_tokens"] = [token for token in about["added_tokens"] if declared or token["content"] != "[MASK]"]
    path.write_text(json.dumps(about))


def vocabulary_file_without_mask(folder):
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nhe\nshe\nnurse\n")


def trained_with_relative_positions(folder):
    """As BERT was until transformers 5, which loads such weights without a word and leaves these out."""
    tensors = load_file(folder / "model.safetensors")
    extra = {f"bert.encoder.layer.{n}.attention.self.distance_embedding.weight": torch.ones(3, 2) for n in range(2)}
    save_file(tensors | extra, folder / "model.safetensors")


MANY = [f"w{i}" for i in range(VOCABULARY)]
LOST = "layer.2.output.dense"  # in a copy that was broken off
DAMAGE = {
    "no config": (lambda folder: (folder / "config.json").unlink(), "config.json"),
    "truncated": (truncated, "weights"),
    "not a number": (not_a_number, "layer.1.output.dense.bias"),
    "pickled": (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), "safetensors"),
    "too many pieces": (lambda folder: word_tokenizer(MANY).save_pretrained(folder), "tokenizer"),
    "all zero": (weights(lambda _, tensor: 0 * tensor), "all 0 in bert.embeddings.word_embeddings.weight"),
    "zeros": (weights(lambda name, tensor: tensor * (LOST not in name)), f"all 0 in bert.encoder.{LOST}.weight"),
    "relative positions": (
        trained_with_relative_positions,
        "2 weights inside its layers (bert.encoder.layer.0.attention.self.distance_embedding.weight) are none of a",
    ),
    "whole numbers": (weights(lambda _, tensor: (100 * tensor).to(torch.int8)), "of type I8"),
    "a number without a piece": (partial(lost_from_the_vocabulary, renumbered=False, declared=True), "no [MASK]"),
    "no piece": (partial(lost_from_the_vocabulary, renumbered=True, declared=True), "no [MASK]"),
    "no such token": (partial(lost_from_the_vocabulary, renumbered=True, declared=False), "no [MASK]"),
    "no piece in a file of lines": (vocabulary_file_without_mask, "no [MASK]"),
}


@pytest.mark.parametrize(("damage", "named"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_one_line_that_names_the_folder(folder, damage, named):
    damage(folder)
    with pytest.raises(BiasflowError) as caught:
        load_encoder(folder, head="next_sentence")
    message = str(caught.value)
    assert str(folder) in message and named in message and "\n" not in message


def test_weights_of_other_heads_and_keys_of_how_a_model_is_called_change_nothing(folder):
    def states():
        model, tokenizer = load_encoder(folder, head="masked_lm")
        return model(**tokenizer("he she nurse", return_tensors="pt")).logits

    before = states()
    changed(folder, chunk_size_feed_forward=4, return_dict=False, output_hidden_states="x", output_attentions=True)
    tensors = load_file(folder / "model.safetensors")
    of_heads = {name: torch.ones(2) for name in ("classifier.layers.0.weight", "bert.embeddings.position_ids")}
    save_file(tensors | of_heads, folder / "model.safetensors")
    assert torch.equal(states(), before)


def test_an_encoder_without_a_mask_token_is_read_without_its_masked_lm_head(folder):
    changed(folder, "tokenizer_config.json", mask_token=None)
    assert load_encoder(folder, head="next_sentence")[1].mask_token is None
    with pytest.raises(AbsentError, match="no mask token"):
        load_encoder(folder, head="masked_lm")


def test_code_in_the_folder_of_an_encoder_is_never_run(folder, tmp_path):
    """Whatever file asks for it, for a family that the library knows and for another one, with yes as the answer to any
    question; the library's own class is not taken instead: the encoder would be another one."""
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    named = {"AutoConfig": "own.Config", "AutoModel": "own.Model", "AutoModelForMaskedLM": "own.Model"}
    named["AutoTokenizer"] = ["own.Tokenizer", "own.Tokenizer"]
    asking = {"known": ("config.json", {}), "other": ("config.json", {"model_type": "no-such-family"})}
    asking["tokenizer"] = ("tokenizer_config.json", {"tokenizer_class": "Tokenizer"})
    for name, (file, keys) in asking.items():
        shutil.copytree(folder, tmp_path / name)
        changed(tmp_path / name, file, auto_map=named, **keys)
    code = (
        "import sys; from biasflow.encoders.load import load_encoder\n"
        "for folder in sys.argv[1:]:\n"
        "    try:\n        load_encoder(folder, head='masked_lm')\n"
        "    except Exception as error:\n        print(f'{type(error).__name__}: {error}')"
    )
    arguments = [sys.executable, "-c", code, *(str(tmp_path / name) for name in asking)]
    done = subprocess.run(arguments, cwd=ROOT, input="y\n" * 20, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(asking), done.stdout + done.stderr
    for line, (name, (file, _)) in zip(lines, asking.items(), strict=True):
        assert line.startswith(f"BiasflowError: {tmp_path / name / file}: ") and "auto_map" in line
    assert not (tmp_path / "ran").exists()


def eurobert(folder, tokenizer=None):
    """A EuroBERT as it was published: its keys name code in the folder, and its texts lie between bos and eos."""
    config = transformers.EuroBertConfig(**SIZES | {"vocab_size": 400}, pad_token_id=1, bos_token_id=0, eos_token_id=1)
    tokenizer = tokenizer or bos_tokenizer(["he is a nurse"])
    save_random(folder, lambda: transformers.EuroBertForMaskedLM(config), tokenizer)
    heads = {"AutoModel": "Model", "AutoModelForMaskedLM": "ForMaskedLM", "AutoModelForPreTraining": "PreTrainedModel"}
    named = {kind: f"modeling_eurobert.EuroBert{name}" for kind, name in heads.items()}
    changed(folder, auto_map={"AutoConfig": "configuration_eurobert.EuroBertConfig", **named})
    return folder


def test_an_encoder_whose_code_transformers_has_taken_over_is_read_without_its_code(tmp_path):
    folder = eurobert(tmp_path / "published")
    for name in ("modeling_eurobert", "configuration_eurobert"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    for head in ("masked_lm", "none"):
        model, tokenizer = load_encoder(folder, head=head)
        assert type(model).__module__ == "transformers.models.eurobert.modeling_eurobert"
        texts = tokenizer(["he", "he is a nurse"], padding=True, return_tensors="pt")
        assert torch.isfinite(taps.last_state(model, **texts)).all()
    assert tokenizer.cls_token is None and texts["input_ids"][:, 0].tolist() == [0, 0]
    assert not (tmp_path / "ran").exists() and not {"modeling_eurobert", "configuration_eurobert"} & {*sys.modules}


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"auto_map": {"AutoModel": "modeling_eurobert.EuroBertModel", "AutoConfig": "own.Config"}}, "auto_map"),
        ({"auto_map": {"AutoTokenizer": ["own.EuroBertTokenizer", None]}}, "auto_map"),
        ({"model_type": "bert", "auto_map": {"AutoModel": "modeling_bert.JinaBertModel"}}, "auto_map"),
        ({"model_type": "nystromformer", "auto_map": {"AutoModel": "own.NystromformerModel"}}, "auto_map"),
        ({"num_hidden_layers": None}, "no key 'num_hidden_layers': the keys are those of the publisher's own code"),
    ],
)
def test_code_that_transformers_does_not_replace_is_refused(tmp_path, keys, named):
    folder = eurobert(tmp_path / "published")
    about = json.loads((folder / "config.json").read_text()) | keys
    kept = {key: value for key, value in about.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(kept))
    with pytest.raises(BiasflowError, match=f"{folder / 'config.json'}: .*{named}"):
        load_encoder(folder, head="none")


@pytest.mark.parametrize("adds", ["$A", "<s> $A", "$A </s>"])
def test_a_tokenizer_that_puts_no_bos_and_eos_around_texts_needs_cls_and_sep(tmp_path, adds):
    folder = eurobert(tmp_path / "other", bos_tokenizer(["he is a nurse"], adds=adds))
    with pytest.raises(BiasflowError, match=r"vocabulary has no (cls|sep)_token"):
        load_encoder(folder, head="none")


UNSAFE = {  # what runs code that stands in a file, or may: module or name -> the files that may call it, and why
    "eval": (),
    "exec": (),
    "compile": (),
    "pickle.load": (),
    "pickle.loads": (),
    "pickle.Unpickler": ("corpora/bios.py",),  # one that is given no global, so that nothing can run
    "marshal.loads": (),
    "joblib.load": (),
    "yaml.load": (),  # unless with the safe loader
    "yaml.unsafe_load": (),
    "yaml.full_load": (),
    "pd.read_pickle": (),
    "torch.load": (),  # unless with weights_only=True
    "torch.jit.load": (),
    "torch.hub.load": (),
    "np.load": (),  # unless without allow_pickle, the default
}


def calls(path):
    """Every call in a source file, and every class that a class is made of: the name as written, and the node."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node
        elif isinstance(node, ast.ClassDef):
            yield from ((ast.unparse(base), node) for base in node.bases)


def test_no_source_loads_what_may_run_code():
    """Weights and tokenizers with remote code refused, tensors without pickles, YAML without objects, and no eval."""
    assert OFFLINE["trust_remote_code"] is False
    found, loads = [], 0
    for path in sorted((ROOT / "scripts").rglob("*.py")):
        for name, node in calls(path):
            text, safe = ast.unparse(node), True
            if name in UNSAFE and not str(path).endswith(UNSAFE[name]):
                safe = name == "torch.load" and "weights_only=True" in text
                safe |= name == "np.load" and "allow_pickle" not in text
                safe |= name == "yaml.load" and "Loader=yaml.CSafeLoader" in text
            elif name.endswith(".from_pretrained"):
                loads += 1
                safe = "**OFFLINE" in text or "trust_remote_code=False" in text
            found += [] if safe else [f"{path}:{node.lineno}: {name}"]
    assert found == [] and loads >= 3


def test_a_job_takes_its_gpu_before_torch_looks_for_one(monkeypatch):
    said = []
    monkeypatch.setattr("biasflow.encoders.device.take_gpu", lambda: said.append("taken"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: said.append("looked") is None)
    resolve_device("cuda", gpus=1)
    assert said == ["taken", "looked"]
    resolve_device("cuda")  # within the job, which has one
    assert said.count("taken") == 1


def test_a_job_that_sees_several_gpus_computes_on_none_of_them(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(BiasflowError, match=r"2 GPUs.*CUDA_VISIBLE_DEVICES"):
        resolve_device("cuda", gpus=1)


def tokenizer_said(**keys):
    return partial(changed, file="tokenizer_config.json", **keys)


def around(*tokens):
    """A tokenizer of no class of its own that puts these special tokens around a text, [CLS] or [SEP]."""

    def change(folder):
        changed(folder, "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
        path = folder / "tokenizer.json"
        about = json.loads(path.read_text())
        if not tokens:
            about["post_processor"] = None
        else:
            parts = [{"SpecialToken": {"id": token, "type_id": 0}} for token in tokens]
            about["post_processor"]["single"] = [*parts[:1], {"Sequence": {"id": "A", "type_id": 0}}, *parts[1:]]
        path.write_text(json.dumps(about))

    return change


@pytest.mark.parametrize("tokens", [(), ("[CLS]",), ("[SEP]", "[CLS]")])
def test_a_tokenizer_without_special_tokens_around_a_text_is_refused_where_it_is_loaded(folder, tokens):
    """Whatever is read: the first token would be a word, and the last one, too."""
    around("[CLS]", "[SEP]")(folder)
    load_encoder(folder, head="none")
    around(*tokens)(folder)
    for head in ("none", "masked_lm", "next_sentence"):
        with pytest.raises(BiasflowError, match=rf"{folder}: the tokenizer puts .* around a text, .*post_processor"):
            load_encoder(folder, head=head)
    if len(tokens) < 2:
        with pytest.raises(BiasflowError, match="around a text"):
            describe(folder)


def test_pairs_of_texts_that_nothing_separates_are_refused_where_they_are_read(folder):
    """As a post_processor has it that was made without a template for pairs; texts alone are read as they are."""
    around("[CLS]", "[SEP]")(folder)
    path = folder / "tokenizer.json"
    about = json.loads(path.read_text())
    about["post_processor"]["pair"] = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]
    path.write_text(json.dumps(about))
    tokenizer = load_encoder(folder, head="next_sentence")[1]
    assert tokenise(tokenizer, ["he"], max_length=9).columns["input_ids"].tolist() == [2, 5, 3]
    with pytest.raises(BiasflowError, match=f"{folder}: the tokenizer .* between the two of a pair; .* key pair of"):
        tokenise(tokenizer, ["he"], ["she"], max_length=9)


def test_a_tokenizer_gives_what_the_model_takes_whatever_its_files_say(folder):
    """Without the attention mask padding would be read; without segments all pairs would be one sentence."""
    pair = load_encoder(folder, head="none")[1]("he", "she")
    assert pair["token_type_ids"] == [0, 0, 0, 1, 1]
    tokenizer_said(padding_side="left", split_special_tokens=True, tokenizer_class="PreTrainedTokenizerFast")(folder)
    tokenizer = load_encoder(folder, head="none")[1]
    assert tokenizer.padding_side == "right" and tokenizer("he", "she") == pair
    assert tokenizer("he [MASK]")["input_ids"][2] == tokenizer.mask_token_id
    tokenizer_said(model_input_names=["input_ids"])(folder)
    assert set(load_encoder(folder, head="none")[1]("he")) == {"input_ids", "attention_mask"}


def test_a_sentence_encoder_takes_as_many_tokens_as_its_folder_says(folder):
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 20, "do_lower_case": false}')
    assert longest_input(*load_encoder(folder, head="none")) == 20
    for file, keys in (
        ("sentence_bert_config.json", {"max_seq_length": 3}),
        ("sentence_bert_config.json", {"max_seq_length": "20"}),
        ("tokenizer_config.json", {"model_max_length": 3}),
        ("tokenizer_config.json", {"model_max_length": -1}),
        ("tokenizer_config.json", {"model_max_length": float("nan")}),
    ):
        kept = (folder / file).read_text()
        changed(folder, file, **keys)
        with pytest.raises(BiasflowError, match=rf"{folder / file}: key '{next(iter(keys))}' is .*whole number"):
            load_encoder(folder, head="none")
        (folder / file).write_text(kept)


@pytest.mark.parametrize(
    ("pieces", "lower", "named"),
    [
        (["he", "She", "nurse", "chef"], None, r"1 of 4 pieces.*\(25%\)"),
        (["he", "She", "nurse", "chef"], False, None),
        (["he", "she"], None, None),
        (["he", "she"], False, "no piece of the vocabulary has one"),
    ],
)
def test_a_vocabulary_and_a_tokenizer_that_do_not_agree_on_capitals_are_named(folder, pieces, lower, named):
    """With a list of pieces alone, as BERT's tokenizer reads it, and with a tokenizer.json, whose case it ignores."""
    word_tokenizer(pieces, cased=True).save_pretrained(folder)
    about = json.loads((folder / "tokenizer_config.json").read_text())
    about = {key: value for key, value in about.items() if key != "do_lower_case"}
    about |= {} if lower is None else {"do_lower_case": lower}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    for file in ("tokenizer.json", "vocab.txt"):
        (text,) = describe(folder).not_applied or ("",)
        assert re.search(named, text) if named else text == ""
        tokenizer = load_encoder(folder, head="none")[1]
        assert (tokenizer.tokenize("She") != tokenizer.tokenize("she")) == (lower is False)
        if file == "tokenizer.json":
            (folder / file).unlink()
            (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]))
