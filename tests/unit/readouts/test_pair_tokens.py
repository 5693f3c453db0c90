"""Predictions of the tokens of pairs, by a tiny encoder: every number is that of the model itself."""

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.corpora import stereoset_pairs
from biasflow.encoders.load import load_encoder
from biasflow.metrics.preferences import score_prediction_quality, score_sss
from biasflow.readouts import pair_tokens
from tests.unit.readouts.conftest import ORDINARY

PAIRS = [
    ("he is late", "she is late", "stereo"),
    ("the woman is here", "the man is here", "antistereo"),
    ("the king is late", "the king is here and late", "stereo"),  # the first sentence lacks nothing of its own
]


@pytest.fixture
def table(source, folder, tmp_path):
    lines = [f"{number},{more},{less},{direction},gender" for number, (more, less, direction) in enumerate(PAIRS)]
    (folder / "crows.csv").write_text("\n".join([",sent_more,sent_less,stereo_antistereo,bias_type", *lines]) + "\n")
    about = {"items": "biasflow.corpora.crows_pairs", "of": {"bias_type": "gender"}}
    pair_tokens.read(source("crows-pairs-gender", pairs="crows.csv"), tmp_path / "p.parquet", **about)
    return pd.read_parquet(tmp_path / "p.parquet")


@pytest.fixture
def loaded(folder):
    return load_encoder(folder / "model", head="masked_lm")


def test_they_are_those_of_the_model_with_masks(table, loaded, tmp_path):
    model, tokenizer = loaded
    plain = table[table["method"] == "none"].reset_index(drop=True)

    def distribution(ids, at):
        ids = torch.tensor([[tokenizer.mask_token_id if i in at else token for i, token in enumerate(ids)]])
        with torch.inference_mode():
            return model(ids).logits[0].double().log_softmax(-1)

    for row, (*texts, _) in zip(plain.itertuples(), PAIRS, strict=True):
        for side, text in zip(("first", "second"), texts, strict=True):
            ids = tokenizer(text)["input_ids"]
            crr, delta_p = [], []
            for at in range(1, len(ids) - 1):
                log_p = distribution(ids, [at])[at]
                crr.append(1 - 1 / (1 + int((log_p > log_p[ids[at]]).sum())))
                delta_p.append(float(log_p.max() - log_p[ids[at]]))
            assert getattr(row, f"crr_{side}") == pytest.approx(np.mean(crr), abs=1e-6)
            assert getattr(row, f"delta_p_{side}") == pytest.approx(np.mean(delta_p), abs=1e-4)
    for number, word, at in ((0, "he", 1), (1, "woman", 2)):
        ids = tokenizer(PAIRS[number][0])["input_ids"]
        expected = distribution(ids, [at])[at][tokenizer.convert_tokens_to_ids(word)]
        assert plain["differing_first"][number] == pytest.approx(float(expected), abs=1e-4)
    ids = tokenizer(PAIRS[2][1])["input_ids"]
    at = [i for i, token in enumerate(ids) if token in tokenizer.convert_tokens_to_ids(["here", "and"])]
    expected = [float(distribution(ids, at)[i][ids[i]]) for i in at]  # each at its own place
    assert plain["differing_second"][2] == pytest.approx(np.mean(expected), abs=1e-4)
    assert np.isnan(plain["differing_first"][2])
    for score, n in ((score_sss, 2), (score_prediction_quality, 3)):
        found = score(tmp_path / "p.parquet")
        assert set(found["method"]) == set(ORDINARY) and (found.loc[found["part"] == "all", "n"] == n).all()


def test_it_equals_the_authors_code(table, loaded):
    measures = pytest.importorskip("mlm_bias.utils.measures", reason="pip install --no-deps mlm-bias")
    model, tokenizer = loaded
    plain = table[table["method"] == "none"].reset_index(drop=True)
    for number, text in enumerate(first for first, *_ in PAIRS):
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        found = []
        for at in range(1, ids.shape[1] - 1):
            masked = ids.clone()
            masked[0, at] = tokenizer.mask_token_id
            found.append(measures.compute_crr_dp(model, masked, np.array([at]), int(ids[0, at]), attention=False))
        for ours, theirs in (("crr_first", "crr"), ("delta_p_first", "dp")):
            expected = np.mean([one["masked_token"][theirs] for one in found])
            assert plain[ours][number] == pytest.approx(expected, abs=1e-4)
    for number, at in ((0, [1]), (1, [2])):  # one token: their mean over all tokens at all places is ours
        ids = tokenizer(PAIRS[number][0], return_tensors="pt")["input_ids"]
        expected = measures.compute_sss(model, ids, at, tokenizer.mask_token_id)["sss"]
        assert plain["differing_first"][number] == pytest.approx(expected, abs=1e-4)


def test_stereoset_is_pairs_of_sentences(tmp_path):
    words = {"stereotype": "kind", "anti-stereotype": "rich", "unrelated": "king"}
    sentences = [{"sentence": f"The nurse is {word} .", "gold_label": label} for label, word in words.items()]
    item = {
        "id": "a",
        "bias_type": "gender",
        "target": "nurse",
        "context": "The nurse is BLANK .",
        "sentences": sentences,
    }
    pd.Series({"data": {"intrasentence": [item]}}).to_json(tmp_path / "dev.json")
    (row,) = stereoset_pairs.items(tmp_path / "dev.json").to_dict("records")
    assert row == {
        "item": "a",
        "target": "nurse",
        "first": "The nurse is kind .",
        "second": "The nurse is rich .",
        "direction": "stereo",
    }
