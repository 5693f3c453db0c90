"""Small encoders that were trained on real text: next sentences have the probability of their own logits, a tokenizer
that pads on the left changes no score, what erasers promise, and the lists of docs/words."""

import json
import os
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import BertWordPieceTokenizer
from torch.nn.functional import one_hot

from biasflow.corpora.word_sets import read_word_pairs, read_word_sets, split_words
from biasflow.encoders.described import FOREIGN, english_split
from biasflow.encoders.load import load_encoder
from biasflow.erasers import inlp, leace, splince
from biasflow.metrics import association, crows_pairs
from biasflow.metrics.intrasentence import score_intersentence
from biasflow.plan.configuration import load_schema
from biasflow.readouts import likelihoods, next_sentence, vectors
from biasflow.readouts.source import Source
from biasflow.tasks.classification.gendered_vectors import gendered_vectors
from tests.real.files import DATA, LITWIKI, SPLADE, needs
from tests.unit.erasers.test_subspaces import covariance
from tests.unit.synthetic_bios import readable

pytestmark = [needs(SPLADE), needs(LITWIKI)]


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


@pytest.fixture(scope="module", params=[120, 1200], ids=["fewer vectors than dimensions", "more"])
def gendered(request, tmp_path_factory):
    """X, z and y of made-up biographies, read as a run reads them."""
    path = tmp_path_factory.mktemp("bios") / "texts.parquet"
    readable(request.param).to_parquet(path)
    model, tokenizer = load_encoder(SPLADE, head="none")
    X, z, y = gendered_vectors(model, tokenizer, {"texts": [path]}, seed=0, max_length=64)
    assert (len(X) < X.shape[1]) == (request.param == 120)
    return X, torch.from_numpy(z), torch.from_numpy(y)


def test_splince_takes_gender_out_and_keeps_the_professions(gendered):
    X, z, y = gendered
    before = covariance(X, one_hot(y))
    erased, of_leace = (eraser.apply(X.double()) for eraser in (splince.fit(X, z, y=y), leace.fit(X, z)))
    for h in (erased, of_leace):
        assert covariance(h, z).norm() < 1e-4 * covariance(X, z).norm()
    assert (covariance(erased, one_hot(y)) - before).norm() < 1e-4 * before.norm()
    assert (covariance(of_leace, one_hot(y)) - before).norm() > 1e-2 * before.norm()


def test_inlp_ends_at_chance_where_a_gender_is_rare_and_the_majority_rule_ends_before(gendered):
    X, z, _ = gendered
    rare = torch.cat([torch.where(z == 0)[0], torch.where(z == 1)[0][: len(z) // 12]])
    X, z = X[rare], z[rare]
    balanced, majority = (inlp.fit(X, z, stop_at=rule) for rule in ("balanced", "majority"))
    assert majority.components <= balanced.components
    assert balanced.accuracy[-1] <= 0.5 or balanced.components == X.shape[1]


LISTS = Path(__file__).parents[2] / "docs/words"


def found(tmp_path, name, **options):
    source = Source(SPLADE, ("none",), name, {"own": (LISTS / f"{name}.csv",)})
    vectors.read(source, tmp_path / "vectors", **options)
    return association.score(tmp_path / "vectors").set_index("metric")


def test_religion_differs_from_neutral_and_race_does_not(tmp_path):
    religion, race = (found(tmp_path, name) for name in ("religion", "race"))
    of_religion, of_race = (table.loc["weat_effect_size"] for table in (religion, race))
    assert of_religion["value"] == pytest.approx(1.387, abs=5e-3) and of_religion["n"] == 16
    assert of_religion["low"] > 0.5
    assert of_race["value"] == pytest.approx(-0.443, abs=5e-3) and of_race["low"] < 0 < of_race["high"]
    assert religion.loc["weat_split_words", ["value", "n"]].tolist() == [2, 32]
    assert race.loc["weat_split_words", ["value", "n"]].tolist() == [11, 48]


def test_the_lists_are_balanced_and_their_pairs_known_to_the_vocabulary():
    for name, single in product(("race", "religion"), (False, True)):
        test = read_word_sets(LISTS / f"{name}.csv", name, single=single)
        assert len(test.X.examples) == len(test.Y.examples) and len(test.A.examples) == len(test.B.examples) == 8
    _, tokenizer = load_encoder(SPLADE, head="none")
    pairs = read_word_pairs(LISTS / "religion_pairs.csv")
    assert pairs.groups == ("Christianity", "Islam")
    assert split_words(tokenizer.backend_tokenizer, [word for words in pairs.words for word in words]) == []


def test_the_vocabulary_of_french_sentences_splits_most_english_words_and_those_of_english_do_not(tmp_path):
    pairs = pd.read_csv(DATA / "published_items/crows_pairs_other/crows_french.csv", sep=None, engine="python")
    french = BertWordPieceTokenizer(lowercase=True)
    french.train_from_iterator(
        pairs[["sent_more", "sent_less"]].stack().dropna(), vocab_size=8000, min_frequency=1, show_progress=False
    )
    french.save(str(tmp_path / "tokenizer.json"))
    assert english_split(SPLADE) == 0
    assert english_split(LITWIKI) < FOREIGN < english_split(tmp_path)
