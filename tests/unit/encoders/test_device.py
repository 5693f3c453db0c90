"""Devices and precision: what is chosen, and what half precision changes."""

import os

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from biasflow.encoders import device as precision
from biasflow.encoders import taps
from biasflow.encoders.device import resolve_deterministic
from biasflow.encoders.edit import edited
from biasflow.encoders.load import load_encoder
from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import NONE, Active, Fitted, Grid
from biasflow.methods.grid import all_settings, chosen_settings, edits_of
from biasflow.methods.sweep import grid_vectors, sentence_vectors
from biasflow.training import loop, pretrain
from tests.unit.conftest import HIDDEN, logits_of, random_batch, random_eraser, random_subspaces
from tests.unit.training.test_pretrain import DOCUMENTS, TINY

ROUNDING = 0.05  # of numbers of about 1 after a few layers of half precision


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(precision, "GPU", "cpu")
    monkeypatch.setattr("torch.cuda.get_device_name", lambda device: "the processor")


@pytest.fixture
def tuned(bert, gpu):
    """A model that was fine-tuned in half precision, and the types that its linear layers return."""
    precision.mark_trained(bert)
    return bert, watch(bert)


def watch(model) -> list[torch.dtype]:
    seen: list[torch.dtype] = []
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.register_forward_hook(lambda module, args, output: seen.append(output.dtype))
    return seen


def methods() -> Fitted:
    torch.manual_seed(1)
    last = Active("last", "-", (("layer[1]", random_eraser(1, HIDDEN)),))
    untouched = (Active(NONE),)
    return Fitted(
        {NONE: untouched, "last": (last,), "grid": Grid("grid", chosen_settings()[3::15], random_subspaces())}, {}
    )


def test_a_model_that_was_not_tuned_is_read_in_float32_on_a_gpu(model, gpu):
    seen = watch(model)
    sentence_vectors(model, random_batch(model), methods(), {})
    assert set(seen) == {torch.float32}


@torch.inference_mode()
def test_a_tuned_model_is_read_in_what_it_was_tuned_in(tuned):
    model, seen = tuned
    batch, fitted, reports = random_batch(model), methods(), {}
    found = sentence_vectors(model, batch, fitted, reports)
    logits = taps.classify(model, found)
    assert set(seen) == {torch.bfloat16} and found.dtype == logits.dtype == torch.float32
    for report in reports.values():
        report.check()
    assert reports["last at layer[1]"].residual < 0.01  # what half precision leaves of a state in it

    delattr(model.config, precision.TRAINED_IN)
    expected = sentence_vectors(model, batch, fitted, {})
    assert 0 < (found - expected).abs().mean() < ROUNDING
    assert (logits - taps.classify(model, expected)).abs().mean() < ROUNDING


@torch.inference_mode()
def test_a_sweep_of_a_tuned_model_is_half_and_its_edits_are_not(tuned, monkeypatch):
    model, seen = tuned
    batch, subspaces, settings, edits = random_batch(model), random_subspaces(), all_settings(), []
    original = Eraser.coordinates
    monkeypatch.setattr(Eraser, "coordinates", lambda *given: edits.append(original(*given)) or edits[-1])
    with precision.as_trained(model):
        vectors = grid_vectors(model, batch, settings, subspaces)
    logits = taps.classify(model, precision.full(vectors))
    assert set(seen) == {torch.bfloat16} and logits.dtype == torch.float32
    assert {each.dtype for each in edits} == {torch.float32}
    for setting, ours in zip(settings, logits, strict=True):
        with edited(model, edits_of(setting, subspaces)), precision.as_trained(model):
            hooked = logits_of(model(**batch))
        assert (ours - hooked).abs().mean() < ROUNDING, setting


@pytest.fixture
def training(gpu, monkeypatch):
    """The Trainer on the processor, whatever it is told; what it is told."""
    told = []

    def on_the_processor(*places, on_gpu, **options):
        told.append({"on_gpu": on_gpu, **options})
        return arguments(*places, on_gpu=False, **options)

    arguments = loop.training_arguments
    monkeypatch.setattr(loop, "training_arguments", on_the_processor)
    return told


def test_pretraining_on_a_gpu_is_half_and_whole_at_once_and_what_it_leaves_is_read_in_float32(
    tmp_path, monkeypatch, training
):
    seen, parts = {True: set(), False: set()}, []
    losses, gradients = pretrain.losses, pretrain.gradients

    def watched(model, batch):
        types = watch(model)
        found = losses(model, batch)
        seen[torch.is_grad_enabled()].update(types)
        assert {each.dtype for each in found} == {torch.float32}
        return found

    def counted(*given, **options):
        parts.append(options["parts"])
        return gradients(*given, **options)

    monkeypatch.setattr(pretrain, "losses", watched)
    monkeypatch.setattr(pretrain, "gradients", counted)
    half = pretrain.pretrain(DOCUMENTS, tmp_path / "half", seed=0, threads=2, **TINY)
    assert seen == {True: {torch.bfloat16}, False: {torch.float32}} and set(parts) == {1}
    assert training[0]["on_gpu"] and half.pop(precision.TRAINED_IN) == "bfloat16"
    model, _ = load_encoder(tmp_path / "half", head="pretraining")
    assert not hasattr(model.config, precision.TRAINED_IN)
    assert {weight.dtype for weight in load_file(tmp_path / "half/model.safetensors").values()} == {torch.float32}

    monkeypatch.setattr(precision, "GPU", "cuda")
    whole = pretrain.pretrain(DOCUMENTS, tmp_path / "whole", seed=0, threads=2, **TINY)
    assert set(parts) == {1, pretrain.PARTS} and whole.keys() == half.keys()
    assert 0 < abs(half["masked_lm_loss"] - whole["masked_lm_loss"]) < ROUNDING


GPU = torch.device("cuda")


@pytest.fixture
def told(monkeypatch):
    """What torch is told; nothing of it outlives the test."""
    found = []
    monkeypatch.setattr(torch, "use_deterministic_algorithms", found.append)
    for name in ("deterministic", "benchmark"):  # both are put back
        monkeypatch.setattr(torch.backends.cudnn, name, name == "benchmark")
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    return found


@pytest.mark.parametrize(("choice", "expected"), [("auto", False), (True, True), (False, False)])
def test_on_a_gpu_torch_is_told(told, choice, expected):
    assert resolve_deterministic(choice, GPU) is expected
    assert told == [expected]
    assert (torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark) == (expected, False)
    assert bool(os.environ["CUBLAS_WORKSPACE_CONFIG"]) is expected
    assert "CUDA_LAUNCH_BLOCKING" not in os.environ
