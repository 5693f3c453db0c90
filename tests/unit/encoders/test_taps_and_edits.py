"""Named places, hooks, and proof that an edit acted."""

import pytest
import torch
from transformers import BertConfig, DebertaConfig, DebertaModel, DistilBertModel, RobertaForMaskedLM

from biasflow.base.errors import BiasflowError
from biasflow.encoders import taps
from biasflow.encoders.edit import edited, watched
from biasflow.encoders.places import has_tokens
from biasflow.erasers.eraser import Eraser
from tests.unit.conftest import DISTILBERT, HEADS, HIDDEN, SIZES, logits_of, random_batch, random_eraser

PLACES = ["layer[0]", "layer[-1].cls", "layer[-2].attention.query", "layer[1].attention.value", "pooled"]


@torch.inference_mode()
def collect(model, batch, places):
    """The states at `places`, a row for every token that is no padding, or for every sentence."""
    with watched(model, places) as seen:
        model(**batch)
    keep = batch["attention_mask"].bool()
    return {place: h[keep] if has_tokens(place) else h for place, h in seen.items()}


def test_states_have_the_stated_shapes(model):
    batch = random_batch(model)
    tokens = int(batch["attention_mask"].sum())
    states = collect(model, batch, PLACES)
    shapes = [tuple(states[place].shape) for place in PLACES]
    head = (tokens, HEADS, HIDDEN // HEADS)
    assert shapes == [(tokens, HIDDEN), (5, HIDDEN), head, head, (5, HIDDEN)]


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


def test_an_edit_of_cls_leaves_the_other_tokens(bert):
    batch = random_batch(bert)
    plain = collect(bert, batch, ["layer[1]"])["layer[1]"]
    with edited(bert, [("layer[1].cls", random_eraser(2, HIDDEN))]):
        changed = collect(bert, batch, ["layer[1]"])["layer[1]"]
    starts = torch.cumsum(batch["attention_mask"].sum(1), 0) - batch["attention_mask"].sum(1)
    moved = (plain - changed).abs().sum(1) > 0
    assert moved.nonzero().flatten().tolist() == starts.tolist()


def test_the_model_is_itself_again_afterwards(model):
    batch = random_batch(model)
    with torch.inference_mode():
        before = logits_of(model(**batch))
        with edited(model, [("layer[0]", random_eraser(1, HIDDEN))]):
            during = logits_of(model(**batch))
        after = logits_of(model(**batch))
    assert torch.equal(before, after)
    assert not torch.equal(before, during)


def test_an_edit_that_never_ran_is_an_error(bert):
    with pytest.raises(BiasflowError, match=r"layer\[0\]"), edited(bert, [("layer[0]", random_eraser(1, HIDDEN))]):
        pass


def test_an_edit_that_changed_nothing_is_an_error(bert):
    nothing = Eraser.projection(torch.zeros(1, HIDDEN))
    with pytest.raises(BiasflowError, match="pooled"), edited(bert, [("pooled", nothing)]), torch.inference_mode():
        bert(**random_batch(bert))


def test_an_error_inside_is_not_hidden_by_the_check(bert):
    with pytest.raises(ZeroDivisionError), edited(bert, [("pooled", random_eraser(1, HIDDEN))]):
        raise ZeroDivisionError


@pytest.mark.parametrize("place", ["layer", "layer[x]", "layer[1].attention.output", "head", "pooled.cls"])
def test_a_place_that_does_not_exist_anywhere(bert, place):
    with pytest.raises(BiasflowError, match=place.replace("[", r"\[")):
        taps.tap(bert, place)


def test_a_methods_place_is_resolved_in_a_model(bert):
    assert taps.resolve(bert, "last.cls") == ("layer[2].cls",) and taps.has(bert, "layer[0].attention.key")
    with pytest.raises(BiasflowError, match=r"BertForNextSentencePrediction.*layer\[7\]"):
        taps.resolve(bert, "layer[7]")


def test_the_first_tokens_classifier_reads_the_first_token():
    from transformers import BertModel

    from biasflow.encoders.first_token import FirstTokenClassifier

    model = FirstTokenClassifier(BertModel(BertConfig(**SIZES)), 4).eval()
    batch = random_batch(model)
    states = collect(model, batch, ["pooled", "layer[-1].cls"])
    assert torch.equal(states["pooled"], states["layer[-1].cls"])
    with torch.inference_mode():
        assert torch.equal(taps.classify(model, taps.pool(model, states["layer[-1].cls"])), model(**batch)["logits"])


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


def test_a_layer_beyond_the_last(bert):
    with pytest.raises(BiasflowError, match=r"BertForNextSentencePrediction.*layer.3."):
        taps.tap(bert, "layer[3]")


def test_missing_places_name_model_and_place():
    from transformers import DistilBertConfig, RobertaConfig

    without_head = [DistilBertModel(DistilBertConfig(**DISTILBERT)), RobertaForMaskedLM(RobertaConfig(**SIZES))]
    for bare in without_head:
        with pytest.raises(BiasflowError, match=f"{type(bare).__name__}.*pooled"):
            taps.tap(bare, "pooled")
        with pytest.raises(BiasflowError, match=type(bare).__name__):
            taps.classify(bare, torch.zeros(1, HIDDEN))


def test_deberta_has_layers_but_no_queries():
    deberta = DebertaModel(DebertaConfig(**SIZES, relative_attention=True, pos_att_type=["c2p", "p2c"])).eval()
    states = collect(deberta, random_batch(deberta, rows=2), ["layer[-2]", "layer[-1].cls"])
    assert states["layer[-1].cls"].shape == (2, HIDDEN)
    with pytest.raises(BiasflowError, match=r"DebertaModel.*attention.query"):
        taps.tap(deberta, "layer[0].attention.query")
