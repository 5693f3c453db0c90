"""Scores of tokens, for a page of sentences."""

import pandas as pd
import pytest
import torch

from biasflow.encoders.load import load_encoder
from biasflow.methods.fitted import load
from biasflow.readouts.token_scores import read
from tests.unit.readouts.conftest import sentences


def test_they_are_coordinates_along_the_last_layers_direction(source, folder, tmp_path):
    one = source("mine", ["none", "densray"], text="text.txt")
    facts = read(one, tmp_path / "t.parquet", sentences=50)
    table = pd.read_parquet(tmp_path / "t.parquet")
    assert list(table.columns) == ["method", "setting", "place", "sentence", "truncated", "piece", "score"]
    assert set(table["method"]) == {"densray"} and set(table["place"]) == {"layer[2]"} and facts["device"] == "cpu"
    assert [" ".join(rows["piece"]) for _, rows in table.groupby("sentence")] == sentences()
    model, tokenizer = load_encoder(folder / "model", head="none")
    (active,) = load(one.methods_file, ["densray"]).every_setting()
    with torch.inference_mode():
        states = model(**tokenizer(sentences()[4], return_tensors="pt")).last_hidden_state[0, 1:-1]
    expected = (states @ active.edits[-1][1].left[0]).tolist()
    assert table[table["sentence"] == 4]["score"].tolist() == pytest.approx(expected, abs=1e-5)


def test_sentences_that_are_too_long_are_cut_and_counted(source, folder, tmp_path, caplog):
    (folder / "long.txt").write_text("\n".join([*sentences()[:4], " ".join(sentences()[:9])]))
    facts = read(source("mine", ["densray"], text="long.txt"), tmp_path / "t.parquet", sentences=5)
    assert (facts["truncated"], facts["texts"]) == (1, 5) and "1 of 5 texts are longer" in caplog.text
    table = pd.read_parquet(tmp_path / "t.parquet")
    assert table.groupby("sentence")["truncated"].first().sum() == 1
    assert table["truncated"].sum() == 40 - 2  # what the encoder takes, without special tokens
