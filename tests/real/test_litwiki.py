"""A small BERT trained on real text, in models/ beside the folder that BIASFLOW_DATA names: next sentences have
the probability of its own logits, and a tokenizer that pads on the left changes no score."""

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.encoders.load import load_encoder
from biasflow.metrics import association, crows_pairs
from biasflow.metrics.intrasentence import score_intersentence
from biasflow.plan.configuration import load_schema
from biasflow.readouts import likelihoods, next_sentence, vectors
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


WORDS = {
    "X,male": "John Paul Mike Kevin Steve",
    "Y,female": "Amy Joan Lisa Sarah Diana",
    "A,career": "executive management professional corporation salary",
    "B,family": "home parents children family cousins",
}
RIGHT = {  # of the folder as it is
    ("seat", "cls"): 0.518023,
    ("seat", "mean"): 1.229236,
    ("weat", "target"): 0.784601,
    ("crows_pairs", "aul"): 0.44,
    ("crows_pairs", "exact"): 0.52,
    ("intersentence", "items"): 0.62,
}


def test_a_tokenizer_that_pads_on_the_left_changes_no_score(tmp_path):
    """Read as its files say, these were 0.5216, 0.9818, 0.0722, 0.58, 0.48 and 0.56 (sentence-transformers#3208)."""
    folder = tmp_path / "left"
    shutil.copytree(LITWIKI, folder, copy_function=os.symlink)
    (folder / "tokenizer_config.json").unlink()
    about = json.loads((LITWIKI / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(about | {"padding_side": "left"}))
    rows = (f"{of},{word}\n" for of, words in WORDS.items() for word in words.split())
    (tmp_path / "words.csv").write_text("role,set_name,word\n" + "".join(rows))

    def source(name, file):
        return Source(folder, ("none",), "dataset", {name: (file,)})

    words = source("own", tmp_path / "words.csv")
    templates = load_schema()["$defs"]["own_sentence_test"]["properties"]["templates"]["default"]
    vectors.read(words, tmp_path / "seat", templates=templates, others=["mean"])
    vectors.read(words, tmp_path / "weat")
    pairs = source("pairs", DATA / "bias_tests/crows_pairs/crows_pairs_anonymized.csv")
    listed = {"items": "biasflow.corpora.crows_pairs", "of": {"bias_type": "gender"}}
    likelihoods.read(pairs, tmp_path / "crows_pairs", maskings=["shared", "nothing"], limit=50, **listed)
    listed = {"items": "biasflow.corpora.stereoset", "of": {"part": "intersentence"}}
    next_sentence.read(source("stereoset", DATA / "stereoset/dev.json"), tmp_path / "intersentence", limit=50, **listed)
    found = {}
    for name, score, metric in (
        ("seat", association.score, "seat_effect_size"),
        ("weat", association.score, "weat_effect_size"),
        ("crows_pairs", crows_pairs.score, "crows_pairs_score"),
        ("intersentence", score_intersentence, "intersentence_stereotype_score"),
    ):
        rows = score(tmp_path / name)
        rows = rows[rows["metric"] == metric].drop_duplicates("variant")  # the first is of all items
        found |= {(name, variant): value for variant, value in zip(rows["variant"], rows["value"], strict=True)}
    assert {key: found[key] for key in RIGHT} == pytest.approx(RIGHT, abs=1e-6)
