"""Fitting, saving and loading the subspaces of an encoder; next-sentence probabilities of stimuli."""

import numpy as np
import pandas as pd
import pytest
import torch

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders.edit import PLACES, edited, edits_of
from scripts.biasflow.methods.grid import Setting, all_settings
from scripts.biasflow.methods.subspaces import (
    PairStates,
    available,
    fit_subspaces,
    load_subspaces,
    save_subspaces,
    variance_table,
)
from scripts.biasflow.readouts.next_sentence import next_sentence_probabilities, sentence_pairs
from tests.unit.conftest import HEADS, MODELS, random_subspaces
from tests.unit.fake_tokenizer import word_tokenizer

WORDS = "the man woman king queen is here he she went home father mother cooked played ball dinner rain fell".split()
PAIRS = pd.DataFrame(
    {
        "masculine": ["the man is here", "he went home", "the king went home", "father is here"],
        "feminine": ["the woman is here", "she went home", "the queen went home", "mother is here"],
    }
)
STIMULI = pd.DataFrame(
    [
        ("0", "stereotype", "F", "the woman went home", "she cooked dinner", "the man went home", "he cooked dinner"),
        ("0", "anti-stereotype", "F", "the woman went home", "she played ball", "the man went home", "he played ball"),
        ("0", "unrelated", "F", "the woman went home", "rain fell", "the man went home", "rain fell"),
    ],
    columns=["triple", "label", "gender", "context", "next_sentence", "swapped_context", "swapped_next_sentence"],
)


@pytest.fixture
def tokenizer():
    return word_tokenizer(WORDS)


@pytest.fixture
def states(bert, tokenizer):
    return PairStates(bert, tokenizer, PAIRS, batch_size=3)


def test_states_are_those_of_each_sentence_alone(bert, tokenizer, states):
    found = states.at(["pooled", "layer[-2]"])
    assert found["pooled"].shape[:2] == (4, 2)
    assert found["layer[-2]"].shape[:2] == (sum(len(tokenizer(s)["input_ids"]) for s in PAIRS["masculine"]), 2)
    with torch.inference_mode():
        alone = [
            torch.stack(
                [
                    bert.base_model(**tokenizer(PAIRS[member][row], return_tensors="pt")).pooler_output[0]
                    for member in PAIRS
                ]
            )
            for row in range(len(PAIRS))
        ]
    order = sorted(range(4), key=lambda row: (-len(PAIRS["masculine"][row].split()), row))
    assert torch.allclose(found["pooled"], torch.stack([alone[row] for row in order]), atol=1e-5)


def test_the_shares_of_variance(states):
    table = variance_table(fit_subspaces(states, states))
    assert set(table["subspace"]) == set(PLACES)
    assert table["explained_variance"].between(0, 1).all()
    assert len(table.query("subspace == 'query'")) == HEADS
    assert len(table.query("subspace == 'before'")) == 2


def test_sequential_fitting_sees_the_earlier_edits(states):
    """After a hard edit of the sentence vector's input, the subspace fitted next differs from the plain one."""
    sequential = fit_subspaces(states, states, sequential=True)
    setting = next(s for s in all_settings() if s.level == "layer-12" and s.settings == "0,0,0")
    plain = sequential.erasers["pooled", "plain"]
    after = sequential.at("pooled", setting)
    assert setting.upstream("pooled") == "last00"
    assert (plain.basis @ after.basis.T).abs() < 0.999
    with torch.inference_mode(), edited(states.model, edits_of(setting.until("pooled"), sequential)):
        states.model(**states.batches[0])


def test_save_and_load(states, tmp_path):
    for sequential in (False, True):
        fitted = fit_subspaces(states, states, sequential=sequential)
        save_subspaces(fitted, tmp_path / "s.safetensors")
        loaded = load_subspaces(tmp_path / "s.safetensors")
        assert loaded.sequential == sequential
        assert loaded.erasers.keys() == fitted.erasers.keys()
        assert all(torch.equal(loaded.erasers[key].basis, fitted.erasers[key].basis) for key in fitted.erasers)


def test_a_truncated_file_is_named(states, tmp_path):
    path = tmp_path / "s.safetensors"
    save_subspaces(fit_subspaces(states, states), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BiasflowError, match=r"s\.safetensors"):
        load_subspaces(path)


def test_an_encoder_without_a_sentence_vector_has_the_other_places():
    from transformers import RobertaConfig, RobertaForMaskedLM

    from tests.unit.conftest import SIZES

    assert available(RobertaForMaskedLM(RobertaConfig(**SIZES))) == ["last", "before", "query", "key", "value"]


def test_unknown_eraser_and_no_pairs(bert, tokenizer, states):
    with pytest.raises(BiasflowError, match="leace"):
        fit_subspaces(states, states, eraser="leace")
    with pytest.raises(BiasflowError):
        PairStates(bert, tokenizer, PAIRS.head(0), batch_size=2)


def test_probabilities_are_the_models_own(bert, tokenizer):
    table, edits = next_sentence_probabilities(
        bert, tokenizer, STIMULI, all_settings(), random_subspaces(), batch_size=4
    )
    assert len(table) == 76 * 6
    assert table["p"].between(0, 1).all()
    assert not edits.empty
    base = table.query("level == 'base'")
    for row, (_, pair) in zip(base.itertuples(), sentence_pairs(STIMULI).iterrows(), strict=True):
        with torch.inference_mode():
            logits = bert(**tokenizer(pair["first"], pair["second"], return_tensors="pt")).logits
        assert (row.triple, row.label, row.swapped) == (pair["triple"], pair["label"], pair["swapped"])
        assert np.isclose(row.p, float(logits.softmax(-1)[0, 0]), atol=1e-5)


def test_batch_size_does_not_matter(bert, tokenizer):
    subspaces = random_subspaces()
    one, _ = next_sentence_probabilities(bert, tokenizer, STIMULI, all_settings(), subspaces, batch_size=1)
    six, _ = next_sentence_probabilities(bert, tokenizer, STIMULI, all_settings(), subspaces, batch_size=6)
    pd.testing.assert_frame_equal(one, six, check_exact=False, atol=1e-5)


def test_bad_input_to_the_scoring(bert, tokenizer):
    with pytest.raises(BiasflowError):
        next_sentence_probabilities(bert, tokenizer, STIMULI.head(0), [Setting("base")], random_subspaces())
    three_classes = MODELS["bert-classification"]().eval()
    with pytest.raises(BiasflowError, match="3 classes"):
        next_sentence_probabilities(three_classes, tokenizer, STIMULI, [Setting("base")], random_subspaces())
    with torch.no_grad():
        bert.cls.seq_relationship.bias.fill_(float("nan"))
    with pytest.raises(BiasflowError, match="NaN"):
        next_sentence_probabilities(bert, tokenizer, STIMULI, [Setting("base")], random_subspaces())
