"""CEAT of an encoder under methods: from texts to cosines to rows of scores, against the edited model by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import BertConfig, BertModel

from biasflow.encoders.edit import edited
from biasflow.encoders.load import load_encoder
from biasflow.metrics.combined_effect import ceat, score
from biasflow.readouts import associations
from biasflow.readouts.word_contexts import find_word_contexts
from biasflow.results.scores import tidy
from biasflow.stimuli.ceat_sets import ceat_tests, sets_of_vectors
from tests.unit.conftest import SIZES
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.reference_ceat import word_vectors
from tests.unit.synthetic_bios import METHODS, source

SETS = {"X": ("rose", "lily"), "Y": ("ant", "wasp"), "A": ("love", "peace"), "B": ("hate", "war")}
WORDS = [word for words in SETS.values() for word in words]
FILLERS = ["the", "was", "here", "again"]


@pytest.fixture
def folder(tmp_path):
    torch.manual_seed(0)
    BertModel(BertConfig(**SIZES)).save_pretrained(tmp_path / "model")
    word_tokenizer([*WORDS, *FILLERS]).save_pretrained(tmp_path / "model")
    write_sets(tmp_path / "words.csv", SETS)
    contexts(tmp_path, WORDS)
    return tmp_path


def write_sets(path, sets):
    rows = [("flowers", role, f"set {role}", word) for role, words in sets.items() for word in words]
    pd.DataFrame(rows, columns=["test", "role", "set_name", "word"]).to_csv(path, index=False)


def contexts(folder, words):
    rng = np.random.default_rng(0)
    texts = [" ".join([*rng.choice(FILLERS, size=3), word, *rng.choice(FILLERS, size=2)]) for word in words * 5]
    _, tokenizer = load_encoder(folder / "model", head="none")
    found = find_word_contexts(tokenizer, [texts], WORDS, max_length=32)
    found.table.to_parquet(folder / "contexts.parquet")
    return found.table


def read(folder, methods=("none",), **options):
    files = {"words": folder / "words.csv", "contexts": folder / "contexts.parquet"}
    asked = source(folder, "flowers", methods=methods, **files)
    path = folder / "flowers.safetensors"
    associations.read(asked, path, **{"draws": 60, "seed": 1, "missing": "error"} | options)
    return score(path)


def effect(rows, variant="concepts-spread", method="none"):
    chosen = (rows["metric"] == "ceat_effect_size") & (rows["variant"] == variant) & (rows["method"] == method)
    return rows.loc[chosen, "value"].item()


def test_effects_under_every_method_are_those_of_the_edited_model(folder):
    rows = read(folder, ("none", "last", "deep", "both"))
    (test,) = ceat_tests(["flowers"], folder / "words.csv").values()
    table = pd.read_parquet(folder / "contexts.parquet")
    model, tokenizer = load_encoder(folder / "model", head="none")
    cases = {("none", "-"): ()} | {
        (method, setting): edits for method in ("last", "deep", "both") for setting, edits in METHODS[method].items()
    }
    for (method, setting), edits in cases.items():
        with edited(model, [edit for edit in edits if edit[0] != "pooled"]):
            sets = sets_of_vectors(test, word_vectors(model, tokenizer, table))
        own = rows[(rows["method"] == method) & (rows["setting"] == setting)]
        for order in ("concepts", "genders"):
            for variance in ("spread", "sampling"):
                expected = ceat(**sets, draws=60, seed=1, order=order, variance=variance)
                found = own[own["variant"] == f"{order}-{variance}"].set_index("metric")["value"]
                assert found["ceat_effect_size"] == pytest.approx(expected.effect_size, abs=1e-4)
                assert found["ceat_tau_squared"] == pytest.approx(expected.tau_squared, abs=1e-4)
                assert found["ceat_p_two_sided"] == pytest.approx(expected.p_two_sided, abs=1e-4)
    assert len({round(effect(rows, method=method), 3) for method in ("none", "last", "both")}) == 3
    assert (rows.loc[rows["metric"] != "ceat_words", "n"] == 60).all()
    assert len(tidy(rows, encoder="e")) == 5 * (4 * 4 + 1)


def test_a_users_test_is_scored_as_one_of_ours(folder):
    """Of the same words; how many of them are split stands beside."""
    ours = read(folder)
    table = pd.read_csv(folder / "words.csv").drop(columns="test")
    table.to_csv(folder / "own.csv", index=False)
    files = {"own": folder / "own.csv", "contexts": folder / "contexts.parquet"}
    path = folder / "own.safetensors"
    associations.read(source(folder, "flowers", **files), path, draws=60, seed=1, missing="error")
    own = score(path)
    split = own["metric"] == "ceat_split_words"
    assert own[~split].reset_index(drop=True).equals(ours)
    assert own.loc[split, ["value", "n"]].values.tolist() == [[0, len(WORDS)]]
