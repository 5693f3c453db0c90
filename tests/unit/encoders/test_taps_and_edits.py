"""Named places, hooks, and proof that an edit acted."""

import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.encoders.edit import edited, watched
from biasflow.encoders.places import has_tokens
from biasflow.erasers.eraser import Eraser
from tests.unit.conftest import HIDDEN, logits_of, random_batch, random_eraser

PLACES = ["layer[0]", "layer[-1].cls", "layer[-2].attention.query", "layer[1].attention.value", "pooled"]


@torch.inference_mode()
def collect(model, batch, places):
    """The states at `places`, a row for every token that is no padding, or for every sentence."""
    with watched(model, places) as seen:
        model(**batch)
    keep = batch["attention_mask"].bool()
    return {place: h[keep] if has_tokens(place) else h for place, h in seen.items()}


def test_layers_are_the_models_own_hidden_states(bert):
    batch = random_batch(bert)
    with torch.inference_mode():
        expected = bert(**batch, output_hidden_states=True).hidden_states
    keep = batch["attention_mask"].bool()
    states = collect(bert, batch, ["layer[0]", "layer[-1]", "layer[2].cls"])
    assert torch.equal(states["layer[0]"], expected[1][keep])
    assert torch.equal(states["layer[-1]"], expected[3][keep])
    assert torch.equal(states["layer[2].cls"], expected[3][:, 0])


def test_a_hard_edit_leaves_nothing_along_its_directions(model):
    batch = random_batch(model)
    for place in ("layer[0]", "layer[-1].cls", "pooled"):
        eraser = random_eraser(2, HIDDEN).with_setting(weighted=False, components=2)
        with edited(model, [(place, eraser)]) as reports, torch.inference_mode():
            model(**batch)
        assert reports[0].calls == 1
        assert reports[0].change > 0
        assert reports[0].residual < 1e-5


def test_the_model_is_itself_again_afterwards(model):
    batch = random_batch(model)
    with torch.inference_mode():
        before = logits_of(model(**batch))
        with edited(model, [("layer[0]", random_eraser(1, HIDDEN))]):
            during = logits_of(model(**batch))
        after = logits_of(model(**batch))
    assert torch.equal(before, after)
    assert not torch.equal(before, during)


def test_an_edit_that_changed_nothing_is_an_error(bert):
    nothing = Eraser.projection(torch.zeros(1, HIDDEN))
    with pytest.raises(BiasflowError, match="pooled"), edited(bert, [("pooled", nothing)]), torch.inference_mode():
        bert(**random_batch(bert))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_an_edit_in_half_precision_leaves_nothing_but_rounding(bert, dtype):
    def residual():
        with edited(bert, [("layer[0]", eraser)]) as reports, torch.inference_mode():
            bert(**batch)
        return reports[0].residual

    batch, eraser = random_batch(bert), random_eraser(1, HIDDEN).with_setting(weighted=False, components=1)
    assert residual() < 1e-5
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert residual() < 1e-5  # a layer's output is float32 there, and the old edit left 4e-3 of it
    bert.to(dtype)
    assert residual() < torch.finfo(dtype).eps
