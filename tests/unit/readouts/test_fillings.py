"""Fillings of blanks by a tiny encoder: those of the model itself."""

import json
from pathlib import Path

import pandas as pd
import torch
from transformers import AutoTokenizer, RobertaConfig, RobertaForMaskedLM

from biasflow.encoders.load import load_encoder
from biasflow.readouts import fillings
from biasflow.readouts.source import Source
from tests.unit.conftest import SIZES
from tests.unit.fake_tokenizer import byte_tokenizer
from tests.unit.readouts.conftest import ORDINARY

UNIT = ("pair",)  # of this module as a list of items
SPECIAL = {f"{kind}_token": token for kind, token in (("bos", "<s>"), ("cls", "<s>"), ("eos", "</s>"), ("sep", "</s>"))}
SPECIAL |= {"pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>", "model_max_length": 32}


def items():
    return pd.DataFrame({"pair": [0, 1], "text": ["he is BLANK", "the woman is BLANK and late"]})


def test_they_are_the_likeliest_tokens_of_the_model(source, folder, tmp_path):
    fillings.read(source("x"), tmp_path / "f.parquet", items=__name__, blank="BLANK")
    table = pd.read_parquet(tmp_path / "f.parquet")
    assert list(dict.fromkeys(table["method"])) == ORDINARY
    model, tokenizer = load_encoder(folder / "model", head="masked_lm")
    for row in table[table["method"] == "none"].itertuples():
        ids = tokenizer(row.text.replace("BLANK", tokenizer.mask_token), return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            logits = model(ids).prediction_logits[0] if "prediction_logits" in model(ids) else model(ids).logits[0]
        best = logits[ids[0] == tokenizer.mask_token_id][0].topk(3).indices.tolist()
        assert [row.filling_1, row.filling_2, row.filling_3] == tokenizer.convert_ids_to_tokens(best)


def save_roberta(folder: Path, *, lstrip: bool) -> Path:
    """One whose mask token takes the space before it, or, by what its folder says, does not."""
    tokenizer = byte_tokenizer(["he is late", "the woman is late and here"])
    torch.manual_seed(0)
    RobertaForMaskedLM(RobertaConfig(**SIZES | {"vocab_size": len(tokenizer)})).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    about = json.loads((folder / "tokenizer.json").read_text())
    (mask,) = (token for token in about["added_tokens"] if token["content"] == "<mask>")
    mask["lstrip"] = lstrip
    (folder / "tokenizer.json").write_text(json.dumps(about))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **SPECIAL}))
    return folder


def test_a_mask_token_without_the_space_before_it_has_the_same_clozes(tmp_path):
    models = {lstrip: save_roberta(tmp_path / f"{lstrip}", lstrip=lstrip) for lstrip in (True, False)}
    stored = AutoTokenizer.from_pretrained(models[False], local_files_only=True)
    text = f"he is {stored.mask_token} and"
    assert "Ġ" in stored.tokenize(text)  # as the folder has it
    for lstrip, model in models.items():
        _, tokenizer = load_encoder(model, head="masked_lm")
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.convert_ids_to_tokens(ids) == ["he", "Ġis", "<mask>", "Ġand"]
        fillings.read(Source(model, ("none",), "x"), tmp_path / f"{lstrip}.parquet", items=__name__, blank="BLANK")
    assert pd.read_parquet(tmp_path / "True.parquet").equals(pd.read_parquet(tmp_path / "False.parquet"))
