"""Tests of bias on the real files of the folder that BIASFLOW_DATA names: counts, and what tokenizers make of them."""

import os
from pathlib import Path

import pytest
from transformers import BertTokenizer, RobertaTokenizer

from scripts.biasflow.corpora import gest
from scripts.biasflow.corpora.gest import read_gest
from scripts.biasflow.readouts.likelihoods import shared_places

pytestmark = pytest.mark.skipif("BIASFLOW_DATA" not in os.environ, reason="BIASFLOW_DATA names no folder of real files")
TOKENIZERS = {"bert-base-uncased": BertTokenizer, "roberta-base": RobertaTokenizer}


@pytest.fixture(scope="module")
def data():
    return Path(os.environ["BIASFLOW_DATA"]) / "bias_tests"


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(data, request):
    return TOKENIZERS[request.param].from_pretrained(data.parent / "tokenizers" / request.param, local_files_only=True)


def test_gest_has_3565_sentences_of_which_244_were_corrected(data):
    table, paper = (read_gest(data / f"gest/{name}.csv") for name in ("gest_1.1", "gest"))
    assert len(table) == len(paper) == 3565 and set(table["stereotype"]) == set(range(1, 17))
    assert (table["stereotype"] == paper["stereotype"]).all()
    assert (table["sentence"] != paper["sentence"]).sum() == 244


def test_gests_pairs_differ_in_one_token(data, tokenizer):
    """So that both sentences are the same text where that is masked, and it goes through the model once."""
    pairs = gest.items(data / "gest/gest_1.1.csv")
    assert len(pairs) == 4 * 3565
    some = pairs.iloc[::7]
    for pair in zip(*(tokenizer(list(some[side]))["input_ids"] for side in ("first", "second")), strict=True):
        assert [len(ids) - len(own) for ids, own in zip(pair, shared_places(*pair), strict=True)] == [1, 1]
