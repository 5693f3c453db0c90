"""What must hold of every architecture that is listed: places, last state, heads, edits, the sweep, and saving."""

import copy
import json

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoModel
from transformers.models.auto import modeling_auto

from biasflow.base.errors import AbsentError
from biasflow.encoders import taps
from biasflow.encoders.edit import edited, watched
from biasflow.encoders.families import FAMILIES, lacking, sign_of_decoder
from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import Active
from biasflow.methods.grid import all_settings, edits_of
from biasflow.methods.passes import passes
from biasflow.methods.sweep import grid_vectors
from tests.unit.conftest import random_eraser, random_subspaces
from tests.unit.encoders.families import HEADS, HIDDEN, KINDS, LABELS, LAYERS, batch_of, config_of, model_of

PARTS = ("query", "key", "value")


def places_of(model):
    parts = [".cls", "", *(f".attention.{part}" for part in PARTS)]
    every = [f"layer[{i}]{part}" for i in range(LAYERS) for part in parts]
    return [*filter(lambda place: taps.has(model, place), every), "pooled"]


def eraser_for(model, batch, place):
    """A random eraser of one direction for what is at a place."""
    with torch.inference_mode(), watched(model, [place]) as seen:
        model(**batch)
    *_, heads, size = seen[place].shape
    return random_eraser(1, size, (heads,)) if ".attention." in place else random_eraser(1, size)


def logits_of(model, batch, edits=()):
    with torch.inference_mode(), edited(model, edits):
        output = model(**batch)
    return output.seq_relationship_logits if "seq_relationship_logits" in output else output.logits


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def classifier(kind):
    return model_of(kind, "SequenceClassification")


def test_every_architecture_is_tested():
    assert {kind.split(",")[0] for kind in KINDS} == set(FAMILIES)


def test_the_last_layers_place_is_what_heads_are_given(classifier):
    batch = batch_of()
    with torch.inference_mode(), watched(classifier, ["layer[-1]", "layer[0]", "pooled"]) as seen:
        logits = classifier(**batch).logits
        states = taps.last_state(classifier, **batch)
        vector = taps.pool(classifier, taps.sentence(classifier, states, batch["attention_mask"].bool()))
        ours = taps.classify(classifier, vector)
    assert torch.equal(states, seen["layer[-1]"]) and not torch.allclose(states, seen["layer[0]"])
    assert torch.allclose(vector, seen["pooled"], atol=1e-5)
    assert torch.allclose(ours, logits, atol=1e-4) and logits.shape[1] == LABELS


def test_an_edit_at_any_place_changes_the_logits_and_that_layer_alone(classifier):
    batch, plain = batch_of(), logits_of(classifier, batch_of())
    for place in places_of(classifier):
        eraser = eraser_for(classifier, batch, place)
        changed = logits_of(classifier, batch, [(place, eraser)])
        assert (changed - plain).abs().max() > 1e-4, place
        assert torch.equal(logits_of(classifier, batch), plain)
        if place == "layer[1]":  # what comes before is as it was
            with torch.inference_mode(), watched(classifier, ["layer[0]"]) as seen:
                classifier(**batch)
                before = seen["layer[0]"]
                with edited(classifier, [(place, eraser)]):
                    classifier(**batch)
            assert torch.equal(seen["layer[0]"], before)


def test_passes_that_resume_equal_the_hooked_model(classifier):
    batch = batch_of()
    methods = [Active("none")]
    for place in [place for place in places_of(classifier) if place.startswith(("layer[1]", "layer[3]"))]:
        methods.append(Active(place, "", ((place, eraser_for(classifier, batch, place)),)))
    found = passes(classifier, methods, lambda: classifier(**batch).logits, {})
    for active, ours in zip(methods, found, strict=True):
        assert torch.equal(ours, logits_of(classifier, batch, active.edits)), active.method


def test_the_sweep_equals_the_hooked_model(classifier):
    batch = batch_of()
    subspaces = random_subspaces(HIDDEN, HEADS)
    erasers = {(part, "plain"): place for part in PARTS if taps.has(classifier, place := f"layer[-2].attention.{part}")}
    erasers = {key: eraser_for(classifier, batch, place) for key, place in erasers.items()}
    subspaces = type(subspaces)({**subspaces.erasers, **erasers})
    settings = [setting for setting in all_settings() if erasers or not setting.attention]
    with torch.inference_mode():
        logits = taps.classify(classifier, grid_vectors(classifier, batch, settings, subspaces))
    for setting, ours in zip(settings, logits, strict=True):
        hooked = logits_of(classifier, batch, edits_of(setting, subspaces))
        assert torch.allclose(ours, hooked, atol=2e-4, rtol=1e-4), setting


def test_a_next_sentence_head_reads_the_pooled_vector(kind):
    config = config_of(kind)
    if type(config) not in transformers.MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING:
        assert not FAMILIES[config.model_type].next_sentence
        return
    assert FAMILIES[config.model_type].next_sentence
    model, batch = model_of(kind, "NextSentencePrediction"), batch_of()
    with torch.inference_mode():
        ours = taps.classify(model, taps.pool(model, taps.last_state(model, **batch)[:, 0]))
    assert torch.allclose(ours, logits_of(model, batch), atol=1e-4)


@pytest.mark.parametrize("otherwise", [False, True])
def test_a_head_is_there_if_transformers_loads_it_from_the_weights(kind, otherwise, tmp_path):
    """As saved, without each of the head's weights in turn, without all of them, and as the encoder alone is saved."""
    config = config_of(kind)
    if otherwise:
        config.update({"tie_word_embeddings": not config.tie_word_embeddings, "legacy": False})
    for head, name in (("masked_lm", "MaskedLM"), ("next_sentence", "NextSentencePrediction")):
        auto = getattr(transformers, f"AutoModelFor{name}")
        if type(config) not in auto._model_mapping:
            continue
        auto.from_config(config).save_pretrained(tmp_path)
        about, whole = json.loads((tmp_path / "config.json").read_text()), load_file(tmp_path / "model.safetensors")
        body = f"{auto.from_config(config).base_model_prefix}."
        of_head = [name for name in whole if not name.startswith(body) or ".pooler." in name]
        cases = [whole, *(_without(whole, [name]) for name in of_head), _without(whole, of_head)]
        cases += [{name.removeprefix(body): weight for name, weight in cases[-1].items()}]
        for weights in cases:
            save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
            _, info = auto.from_pretrained(tmp_path, output_loading_info=True)
            assert bool(lacking(head, about, weights)) == bool(info["missing_keys"]), info["missing_keys"]


def test_weights_that_a_head_lacks_are_named_and_counted():
    biases = ["cls.predictions.bias", "cls.predictions.transform.dense.bias"]
    assert lacking("masked_lm", {"model_type": "bert"}, biases).endswith("transform.LayerNorm.bias and 2 more")


def _without(weights, names):
    return {name: weight for name, weight in weights.items() if name not in names}


def test_a_model_is_saved_and_read_again_as_it_was(kind, tmp_path):
    model, batch = model_of(kind, "SequenceClassification"), batch_of()
    config, names = copy.deepcopy(model.config.to_dict()), set(model.state_dict())
    taps.layers(model)
    plain = logits_of(model, batch)
    assert model.config.to_dict() == config and set(model.state_dict()) == names
    model.save_pretrained(tmp_path)
    again, info = type(model).from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    assert torch.equal(logits_of(again.eval(), batch), plain)


def test_training_moves_the_weights_that_layers_share():
    model, batch = model_of("albert", "SequenceClassification"), batch_of()
    apart = copy.deepcopy(model)
    taps.layers(apart)
    for one in (model, apart):
        one(**batch, labels=torch.arange(4)).loss.backward()
    for ours, theirs in zip(apart.parameters(), model.parameters(), strict=True):
        assert (ours.grad is None) == (theirs.grad is None)
        assert ours.grad is None or torch.allclose(ours.grad, theirs.grad, atol=1e-5)


def test_an_unknown_architecture_is_read_but_not_edited():
    config = transformers.AutoConfig.for_model("convbert", hidden_size=HIDDEN, num_hidden_layers=2, vocab_size=97)
    model, batch = AutoModel.from_config(config).eval(), batch_of()
    states = passes(model, [Active("none")], lambda: taps.last_state(model, **batch), {})[0]
    assert states.shape == (4, 11, HIDDEN)
    nothing = Eraser.projection(torch.eye(HIDDEN)[:1])
    with pytest.raises(AbsentError, match="ConvBertModel: the parts of model type 'convbert' are not known"):
        passes(model, [Active("m", "", (("layer[0]", nothing),))], lambda: taps.last_state(model, **batch), {})


def test_decoders_are_told_from_encoders():
    """Against the classes that transformers has: those with a causal-LM or sequence-to-sequence head and without a
    masked-LM head are decoders."""
    of_masked = modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES.items()
    masked = {kind for kind, name in of_masked if not name.endswith("ForConditionalGeneration")}
    from_left = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    to_another = modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
    for kind in masked:
        assert not sign_of_decoder({"model_type": kind, "architectures": ["XForMaskedLM"]}), kind
    for kind in FAMILIES:
        assert not sign_of_decoder({"model_type": kind, "architectures": []})
    for kind, architecture in (from_left | to_another).items():
        if kind not in masked:
            about = {"model_type": kind, "architectures": [architecture], "is_encoder_decoder": kind in to_another}
            assert sign_of_decoder(about), kind
    for kind in ("gpt2", "llama", "qwen3", "mistral", "gemma3_text", "t5", "mt5", "bart", "opt", "phi3", "gpt_neox"):
        assert sign_of_decoder({"model_type": kind, "architectures": ["Any"]}), kind
    assert sign_of_decoder({"model_type": "new", "architectures": ["NewForCausalLM"]})
