"""A small BERT trained on real text, in models/ beside the folder that BIASFLOW_DATA names: it loads with its heads,
and they know what English is like."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.encoders.load import load_encoder
from biasflow.metrics import intersentence
from biasflow.readouts import next_sentence
from biasflow.readouts.masked_words import log_probabilities
from biasflow.readouts.reader import Reader
from biasflow.readouts.source import Source
from tests.real.files import DATA, LITWIKI, needs
from tests.real.wikitext import read_wikitext

pytestmark = needs(LITWIKI)


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(LITWIKI, head="pretraining")


@pytest.mark.parametrize("head", ["pretraining", "next_sentence", "masked_lm", "none"])
def test_it_has_every_head(head):
    model, tokenizer = load_encoder(LITWIKI, head=head)
    assert model.config.num_hidden_layers == 4
    assert len(tokenizer) == model.config.vocab_size


def test_pronouns_follow_gendered_words(encoder):
    nouns = ("mother", "queen", "lady", "woman", "father", "king", "gentleman", "man")
    sentences = [f"The {noun} said that [MASK] was tired." for noun in nouns]
    she, he = log_probabilities(Reader(*encoder), sentences, ["she", "he"])[0].T
    assert (she - he)[:4].mean() > (she - he)[4:].mean()  # a small encoder: on average, not word by word
    hats = ["[MASK] took off his hat .", "[MASK] took off her hat ."]
    (p,) = np.exp(log_probabilities(Reader(*encoder), hats, ["he", "she"]))
    assert p[0, 0] == pytest.approx(0.41, abs=0.02)  # as the encoder's description says
    assert p[0, 0] > p[0, 1] and p[1, 1] > p[1, 0]


def test_a_word_of_several_pieces_is_named(encoder):
    with pytest.raises(BiasflowError, match="electroencephalograph"):
        log_probabilities(Reader(*encoder), ["[MASK] is here ."], ["electroencephalograph"])


@torch.inference_mode()
def test_next_sentences_of_held_out_articles_are_told_from_random_ones(encoder):
    model, tokenizer = encoder
    whole = read_wikitext(DATA / "wikitext-2/wiki.valid.tokens", whole=True)  # it was trained on text without <unk>
    articles = [article for article in whole if len(article) >= 12]
    first = [article[5] for article in articles]
    second = [article[6] for article in articles]
    random = second[1:] + second[:1]  # the same place in another article
    pairs = tokenizer(first * 2, second + random, truncation=True, max_length=128, padding=True, return_tensors="pt")
    p_next = model(**pairs).seq_relationship_logits.softmax(-1)[:, 0]
    assert len(articles) > 40
    assert p_next[: len(first)].mean() > p_next[len(first) :].mean() + 0.1


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
    value = intersentence.score(tmp_path / "p.parquet").set_index(["metric", "variant"])["value"]
    assert value["intersentence_stereotype_score", "items"] == pytest.approx(np.mean(wins))
    assert value["intersentence_language_model_score", "items"] == pytest.approx(np.mean(related))
