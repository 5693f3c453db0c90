"""Fillings of blanks by a tiny encoder: those of the model itself."""

import pandas as pd
import torch

from biasflow.encoders.load import load_encoder
from biasflow.readouts import fillings
from tests.unit.readouts.conftest import ORDINARY

UNIT = ("pair",)


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
