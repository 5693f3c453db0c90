"""Erasers in the weights of heads: the same outputs as with hooks, and refusals where that cannot be."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from transformers import AutoModelForMaskedLM

from biasflow.base.errors import BiasflowError
from biasflow.encoders.edit import edited
from biasflow.encoders.fold import affine, fold
from biasflow.erasers.eraser import Eraser
from tests.unit.conftest import random_eraser
from tests.unit.encoders.families import HIDDEN, KINDS, batch_of, model_of

# Kinds whose head begins with a layer without a bias, so that an eraser has no place for its centre.
NO_BIAS = {("MaskedLM", "eurobert"), ("MaskedLM", "eurobert, shared keys")}
PLACES = [("MaskedLM", "layer[-1]"), ("SequenceClassification", "layer[-1].cls"), ("SequenceClassification", "pooled")]


def eraser_of(*, centred: bool):
    torch.manual_seed(3)
    return replace(random_eraser(2, HIDDEN), center=torch.randn(HIDDEN) if centred else None)


def logits(model):
    with torch.inference_mode():
        return model(**batch_of()).logits[:, :5]  # no padding


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("head", "place"), PLACES)
def test_a_folded_model_computes_what_the_edited_one_does(kind, head, place, centred):
    model, eraser = model_of(kind, head), eraser_of(centred=centred)
    if place != "pooled" and kind in ("modernbert, mean", "eurobert, shared keys"):
        place = "layer[-1]"  # their heads read the mean
    before, states = logits(model), model.base_model(**batch_of()).last_hidden_state
    with torch.inference_mode(), edited(model, [(place, eraser)]):
        wanted = model(**batch_of()).logits[:, :5]
    if centred and (head, kind) in NO_BIAS:
        with pytest.raises(BiasflowError, match="has no bias"):
            fold(model, [(place, eraser)])
        torch.testing.assert_close(logits(model), before, rtol=0, atol=0)
        return
    changed = fold(model, [(place, eraser)])
    assert changed and not torch.allclose(before, wanted)
    difference = float((logits(model) - wanted).abs().max() / wanted.abs().max())
    assert difference < 5e-6  # as docs/command.md says
    torch.testing.assert_close(model.base_model(**batch_of()).last_hidden_state, states, rtol=0, atol=0)


def test_both_heads_of_a_pretraining_model_are_folded():
    model, eraser = model_of("bert", "PreTraining"), eraser_of(centred=True)
    with torch.inference_mode(), edited(model, [("layer[-1]", eraser)]):
        wanted = model(**batch_of())
    changed = fold(model, [("layer[-1]", eraser)])
    assert changed == ["bert.pooler.dense", "cls.predictions.transform.dense"]
    with torch.inference_mode():
        found = model(**batch_of())
    for name in ("prediction_logits", "seq_relationship_logits"):
        torch.testing.assert_close(found[name][:, :5], wanted[name][:, :5], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("place", ["layer[0]", "all", "layer[-1].attention.value"])
def test_an_eraser_inside_of_the_encoder_is_refused(place):
    model = model_of("bert", "MaskedLM")
    size = 12 if "attention" in place else HIDDEN
    eraser = random_eraser(1, size, (3,)) if "attention" in place else random_eraser(1, size)
    with pytest.raises(BiasflowError, match="cannot be written into weights"):
        fold(model, [(place, eraser)])


def test_the_affine_map_is_what_the_eraser_does():
    eraser, h = eraser_of(centred=True), torch.randn(7, HIDDEN, dtype=torch.float64)
    A, a = affine(eraser)
    torch.testing.assert_close(h @ A + a, eraser.apply(h), rtol=1e-6, atol=1e-6)


def test_a_folded_model_is_saved_and_loaded_by_transformers_alone(tmp_path):
    model = model_of("modernbert", "MaskedLM")
    fold(model, [("layer[-1]", eraser_of(centred=True))])  # its head gets a bias
    wanted = logits(model)
    model.save_pretrained(tmp_path)
    torch.testing.assert_close(logits(AutoModelForMaskedLM.from_pretrained(tmp_path).eval()), wanted)


def test_a_head_with_the_weights_of_the_word_embeddings_is_refused():
    model = model_of("eurobert", "MaskedLM")
    model.lm_head.weight = model.get_input_embeddings().weight
    with pytest.raises(BiasflowError, match="would change the encoder"):
        fold(model, [("layer[-1]", eraser_of(centred=False))])


def test_an_eraser_that_float32_is_too_coarse_for_is_refused_for_that_reason():
    """Much of it lies along the sum of a state, which LayerNorm keeps at 0, but for rounding."""
    model = model_of("bert", "MaskedLM")
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight), nn.init.zeros_(module.bias)
    before, left = logits(model), torch.nn.functional.one_hot(torch.tensor([1]), HIDDEN).float()
    steep = Eraser(1e6 * torch.ones(HIDDEN, 1) + torch.eye(HIDDEN)[:, 2:3], left, torch.ones(1))
    with pytest.raises(BiasflowError, match="ill-conditioned"):
        fold(model, [("layer[-1]", steep)])
    torch.testing.assert_close(logits(model), before, rtol=0, atol=0)


def test_half_precision_is_refused():
    with pytest.raises(BiasflowError, match="too coarse"):
        fold(model_of("bert", "MaskedLM").half(), [("layer[-1]", eraser_of(centred=False))])


def test_a_head_that_is_not_linear_is_refused_and_left_as_it_was():
    model = model_of("bert", "MaskedLM")
    model.cls.predictions.transform.dense = nn.Sequential(nn.Tanh(), model.cls.predictions.transform.dense)
    before = logits(model)
    with pytest.raises(BiasflowError, match="not one linear layer"):
        fold(model, [("layer[-1]", eraser_of(centred=False))])
    torch.testing.assert_close(logits(model), before, rtol=0, atol=0)
