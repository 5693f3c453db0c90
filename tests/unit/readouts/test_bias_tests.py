"""Tests of bias from their files to their scores, by a tiny encoder: every number is that of the model itself."""

import numpy as np
import pandas as pd
import pytest
import torch

from scripts.biasflow.encoders.load import load_encoder
from scripts.biasflow.metrics import gest
from scripts.biasflow.readouts import likelihoods
from tests.unit.readouts.conftest import ORDINARY

CORPORA = "scripts.biasflow.corpora"


@pytest.fixture
def log_p(folder):
    """The untouched model's own log p(word) at the first [MASK] of a text."""
    model, tokenizer = load_encoder(folder / "model", head="masked_lm")

    def found(text: str, word: str) -> float:
        batch = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**batch).logits[0]
        at = batch["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        return float(logits[at].double().log_softmax(-1)[tokenizer.convert_tokens_to_ids(word)])

    return found


@pytest.fixture
def write(folder):
    def written(name: str, *lines: str) -> str:
        (folder / name).write_text("\n".join(lines) + "\n")
        return name

    return written


def by_method(scores: pd.DataFrame) -> pd.Series:
    """The values of the untouched model; every other method must have as many scores, and some of its own."""
    keys = ["metric", "part", "variant"]
    sizes = scores.groupby(["method", "setting"]).size()
    assert set(sizes.index.get_level_values(0)) == set(ORDINARY) and sizes.nunique() == 1
    plain, edited = (scores[scores["method"] == name].set_index(keys)["value"] for name in ("none", "densray"))
    assert not np.allclose(plain, edited.loc[plain.index], equal_nan=True)
    return plain


def test_gest(source, write, log_p, tmp_path):
    sentences = [f"it was {word},{number}" for number in range(1, 17) for word in ("late", "here")]
    file = write("gest.csv", "sentence,stereotype", *sentences)
    about = {"items": f"{CORPORA}.gest", "maskings": ["differing"]}
    likelihoods.read(source("gest", sentences=file), tmp_path / "p.parquet", **about)
    found = by_method(gest.score(tmp_path / "p.parquet"))
    texts = [f'[MASK] said: "it was {word}"' for word in ("late", "here")]
    expected = np.mean([log_p(text, "he") - log_p(text, "she") for text in texts])
    assert np.log(found["gest_masculine_rate", "he-said", "base10"]) == pytest.approx(expected, abs=1e-5)
    assert found["gest_stereotype_rate", "all", "released"] == pytest.approx(1)  # all have the same sentences
