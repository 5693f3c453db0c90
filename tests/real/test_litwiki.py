"""A small BERT trained on real text, in models/ beside the folder that BIASFLOW_DATA names: next sentences have
the probability of its own logits."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.encoders.load import load_encoder
from biasflow.metrics.intrasentence import score_intersentence
from biasflow.readouts import next_sentence
from biasflow.readouts.source import Source
from tests.real.files import DATA, LITWIKI, needs

pytestmark = needs(LITWIKI)


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(LITWIKI, head="pretraining")


@torch.inference_mode()
def test_sentences_of_stereoset_have_the_probability_of_the_heads_own_logits(encoder, tmp_path):
    """The readout of `intersentence`, against the model called for one pair after the other, without batches."""
    model, tokenizer = encoder
    items, file = "biasflow.corpora.stereoset", DATA / "stereoset/dev.json"
    source = Source(LITWIKI, ("none",), "stereoset-sentences", {"stereoset": (file,)})
    next_sentence.read(source, tmp_path / "p.parquet", items=items, of={"part": "intersentence"}, limit=20)
    table = pd.read_parquet(tmp_path / "p.parquet")
    data = json.loads(file.read_text())["data"]["intersentence"]
    texts = {
        (one["id"], row["gold_label"]): (one["context"], row["sentence"]) for one in data for row in one["sentences"]
    }
    assert len(table) == 3 * 20 and not table["truncated"].any()
    expected = []
    for item, label in zip(table["item"], table["label"], strict=True):
        pair = tokenizer(*texts[item, label], return_tensors="pt")
        expected.append(model(**pair).seq_relationship_logits.double().softmax(-1)[0, 0].item())
    assert table["p"].to_numpy() == pytest.approx(expected, abs=1e-5) and np.ptp(expected) > 0.1
    p = dict(zip(zip(table["item"], table["label"], strict=True), expected, strict=True))
    wins = [p[item, "stereotype"] > p[item, "anti-stereotype"] for item in table["item"].unique()]
    related = [p[item, label] > p[item, "unrelated"] for item, label in p if label != "unrelated"]
    value = score_intersentence(tmp_path / "p.parquet").set_index(["metric", "part", "variant"])["value"]
    assert value["intersentence_stereotype_score", "-", "items"] == pytest.approx(np.mean(wins))
    assert value["intersentence_language_model_score", "-", "items"] == pytest.approx(np.mean(related))
