"""The option `limit` of readouts: what is read are items of the full readout, with equal values."""

import pandas as pd
import pytest

from biasflow.readouts import likelihoods, losses, masked_words, next_sentence
from tests.unit.readouts.conftest import OCCUPATIONS

CASES = {
    "triples": (next_sentence, "any", {"stimuli": "stimuli.csv"}, {}, ["triple", "label", "swapped"], "triple"),
    "occupations": (
        masked_words,
        "mine",
        {"occupations": "occupations.txt"},
        {"template": "[MASK] is a {occupation} .", "pronouns": ["he", "she"]},
        ["item", "word"],
        "item",
    ),
    "sentences": (likelihoods, "any", {"text": "text.txt"}, {"pseudo_sentences": 15}, ["text"], "text"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_limited_readout_has_so_many_whole_items_of_the_full_one(case, source, tmp_path):
    module, dataset, data, options, keys, item = CASES[case]
    tables = []
    for name, limit in (("full", {}), ("four", {"limit": 4}), ("three", {"limit": 3})):
        module.read(source(dataset, **data), tmp_path / name, **options, **limit)
        tables.append(pd.read_parquet(tmp_path / name).drop(columns="sentence", errors="ignore"))
    full, four, three = tables
    assert full[item].nunique() >= len(OCCUPATIONS)
    assert set(three[item]) < set(four[item]) < set(full[item]) and three[item].nunique() == 3
    of_these = full[full[item].isin(three[item])]
    keys = ["method", "setting", *keys]
    pd.testing.assert_frame_equal(
        three.sort_values(keys, ignore_index=True), of_these.sort_values(keys, ignore_index=True), rtol=1e-5
    )


def test_limited_blocks_of_a_text_have_the_masks_that_they_have_in_all_of_it(source, tmp_path, monkeypatch):
    monkeypatch.setattr(losses, "TOKENS", 2)
    for name, limit in (("full", {}), ("some", {"limit": 10})):
        source_of_text = source("any", text="text.txt")
        losses.read(source_of_text, tmp_path / name, mask_seeds=[0, 1], max_length=10, **limit)
    full, some = (pd.read_parquet(tmp_path / name) for name in ("full", "some"))
    assert full["block"].nunique() > some["block"].nunique() == 2  # 10 x 2 tokens in blocks of 10
    of_block = {
        tuple(block["loss"].round(4)) for _, block in full.groupby(["method", "setting", "readout_seed", "block"])
    }
    assert {
        tuple(block["loss"].round(4)) for _, block in some.groupby(["method", "setting", "readout_seed", "block"])
    } <= of_block
