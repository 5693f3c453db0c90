"""A debiased model that is measured again has the scores that its method had in the run; a classifier:
tests/real/test_walkthroughs_real.py."""

import os
import shlex
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from transformers import BertConfig, BertForMaskedLM, BertModel

from biasflow.results.scores import VALUES, read_scores
from tests.unit.conftest import SIZES, save_random, with_modules
from tests.unit.fake_tokenizer import word_tokenizer
from tests.warm import warm
from tests.workflow.conftest import ROOT

PLACES = ("home", "work", "school", "church", "sea")
TEXTS = [
    f"{who} {does} {his} {kin} at {place}"
    for (who, his), kin, does, place in product(
        (("he", "his"), ("she", "her")), ("mother", "father", "brother", "sister"), ("sees", "hears"), PLACES
    )
]
WORDS = sorted({word for text in TEXTS for word in text.split()} | {"him", "is", "the"})
TESTS = [
    *(("X", "places", place) for place in PLACES[:3]),
    *(("Y", "sights", word) for word in ("sea", "church")),
    *(("A", "male", word) for word in ("father", "brother")),
    *(("B", "female", word) for word in ("mother", "sister")),
]
LEFT_OUT = ["encoder", "method", "block"]  # which differ, of the same score


def biasflow(*words: str, folder: Path) -> str:
    command = {"args": [warm() / "biasflow", *words], "cwd": folder}
    command["env"] = os.environ | {"PYTHONPATH": str(ROOT / "scripts")}
    done = subprocess.run(**command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def scores_of(folder: Path, run: str, encoder: str, method: str) -> pd.DataFrame:
    table = read_scores(folder / f"results/{run}/scores.csv")
    table = table[(table["encoder"] == encoder) & (table["method"] == method)]
    return table.set_index([name for name in table if name not in (*VALUES, *LEFT_OUT)])["value"].sort_index()


def check_same(run: pd.Series, again: pd.Series, *measures: str) -> None:
    """All scores of these measures are the same, and are there."""
    for measure in measures:
        found, wanted = (one[one.index.get_level_values("metric") == measure] for one in (again, run))
        assert len(wanted) and found.index.equals(wanted.index)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def debiased(folder: Path, model: str, method: str, to: str) -> list[str]:
    """What the last line of the command says how to measure the new model."""
    said = biasflow("debias", model, "--method", method, "--run", "first", "--to", to, folder=folder)
    command, *words = shlex.split(said.splitlines()[-1].removeprefix("measure it: "))
    assert command == "biasflow"
    return words


@pytest.fixture
def encoders(tmp_path) -> Path:
    """A masked LM and a sentence encoder, in folders, with the texts that erasers are fitted to, and the tests."""
    tokenizer = word_tokenizer(WORDS)
    save_random(tmp_path / "bert", lambda: BertForMaskedLM(BertConfig(**SIZES)), tokenizer)
    folder = save_random(tmp_path / "sentences", lambda: BertModel(BertConfig(**SIZES)), tokenizer)
    pooling = {"word_embedding_dimension": SIZES["hidden_size"], "pooling_mode_mean_tokens": True}
    with_modules(folder, "Pooling", "Normalize", **pooling)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS * 3) + "\n")
    (tmp_path / "kin.csv").write_text("male,female\nhe,she\nhis,her\nfather,mother\nbrother,sister\n")
    pairs = [(text, text.replace("he ", "she ", 1)) for text in TEXTS if text.startswith("he ")]
    pd.DataFrame(pairs, columns=["sent_more", "sent_less"]).to_csv(tmp_path / "pairs.csv", index=False)
    pd.DataFrame(TESTS, columns=["role", "set_name", "word"]).to_csv(tmp_path / "words.csv", index=False)
    return tmp_path


def test_a_masked_lm_and_a_sentence_encoder_have_the_scores_that_the_method_had(encoders):
    """The keys of a configuration of one's own that lies there are kept by `biasflow measure`."""

    def measure(run: str, *models: str, methods: list[str]) -> None:
        keys = {
            "run": run,
            "encoder": list(models),
            "fitting": {"text": "texts.txt", "n": 60, "words": {"name": "kin", "file": "kin.csv"}},
            "metrics": {
                "crows_pairs": {"bias_types": [], "own": {"mine": {"file": "pairs.csv"}}},
                "seat": {"tests": [], "own": {"places": {"file": "words.csv"}}, "pooling": "sentence"},
            },
            "ask": {"inside": {"methods": methods, "metrics": ["crows_pairs", "seat"]}},
        }
        (encoders / f"{run}.yaml").write_text(yaml.safe_dump(keys))
        biasflow("measure", *models, "--run", run, folder=encoders)

    measure("first", "bert", "sentences", methods=["none", "mean-projection", "mean-projection-sentence"])
    assert debiased(encoders, "bert", "mean-projection", "bert-new") == ["measure", "bert-new", "--run", "bert-new"]
    debiased(encoders, "sentences", "mean-projection-sentence", "sentences-new")
    measure("again", "bert-new", "sentences-new", methods=["none"])
    for model, method, measure in (
        ("bert", "mean-projection", "crows_pairs_score"),
        ("sentences", "mean-projection-sentence", "seat_effect_size"),
    ):
        untouched, run = (scores_of(encoders, "first", model, name) for name in ("none", method))
        check_same(run, scores_of(encoders, "again", f"{model}-new", "none"), measure)
        before, after = (one[one.index.get_level_values("metric") == measure] for one in (untouched, run))
        assert np.nanmax(np.abs(after.to_numpy() - before.to_numpy())) > 1e-3
