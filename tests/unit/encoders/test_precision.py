"""Half precision where a model was tuned in it, and for many vectors: with the processor in the place of a GPU."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from scripts.biasflow.encoders import precision, taps
from scripts.biasflow.encoders.first_token import first_states, first_token_vectors
from scripts.biasflow.encoders.load import load_encoder
from scripts.biasflow.encoders.training_arguments import training_arguments
from scripts.biasflow.methods.fitted import NONE, Active, Fitted, Grid
from scripts.biasflow.methods.grid import chosen_settings
from scripts.biasflow.methods.states import PairStates
from scripts.biasflow.methods.sweep import sentence_vectors
from scripts.biasflow.readouts.predictions import predict
from scripts.biasflow.readouts.reader import Reader
from scripts.biasflow.readouts.word_contexts import word_batches
from scripts.biasflow.tasks import finetune
from scripts.biasflow.tasks.examples import Examples
from tests.unit.conftest import HIDDEN, MODELS, random_batch, random_eraser, random_subspaces
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.tasks.test_finetune import RECIPE, TRAIN, run

TOKENIZER = word_tokenizer(["he", "she", "sang", "well"])
ROUNDING = 0.05  # of numbers of about 1 after a few layers of half precision


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(precision, "GPU", "cpu")
    monkeypatch.setattr("torch.cuda.get_device_name", lambda device: "the processor")


@pytest.fixture
def tuned(model, gpu):
    """A model that was fine-tuned in half precision, and the types that its linear layers return."""
    precision.mark_trained(model)
    return model, watch(model)


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


def test_on_a_processor_nothing_is_marked_and_everything_is_float32(model):
    precision.mark_trained(model)
    assert not hasattr(model.config, precision.TRAINED_IN)
    seen, batch = watch(model), random_batch(model)
    assert sentence_vectors(model, batch, methods()).dtype == torch.float32
    assert first_states(model, batch).dtype == torch.float32
    assert set(seen) == {torch.float32}


def test_a_model_that_was_not_tuned_is_read_in_float32_on_a_gpu(model, gpu):
    seen = watch(model)
    sentence_vectors(model, random_batch(model), methods())
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
    expected = sentence_vectors(model, batch, fitted)
    assert 0 < (found - expected).abs().mean() < ROUNDING
    assert (logits - taps.classify(model, expected)).abs().mean() < ROUNDING


def test_methods_are_fitted_to_what_is_read(tuned):
    model, seen = tuned
    pairs = pd.DataFrame({"masculine": ["he sang"], "feminine": ["she sang"], "kept": True})
    states = PairStates(model, TOKENIZER, 4, pairs).at(["layer[1]"])
    assert set(seen) == {torch.bfloat16} and states["layer[1]"].dtype == torch.float32


def test_predictions_are_those_of_the_tuned_precision(tuned):
    model, seen = tuned
    texts = ["he sang", "she sang well"]
    examples = Examples(lambda start, stop: (texts[start:stop],), (2,), ("a", "b", "c"))
    found = predict(Reader(model, TOKENIZER, methods()), examples)
    assert set(seen) == {torch.bfloat16} and found["own"].dtype == np.uint8


def test_vectors_of_texts_and_words_are_half_for_every_model_on_a_gpu(gpu):
    torch.manual_seed(0)
    model = MODELS["bert-classification"]().eval()
    batch = random_batch(model)
    with torch.inference_mode():
        whole = model.base_model(**batch).last_hidden_state[:, 0]
        seen = watch(model)
        found = first_states(model, batch)
    assert set(seen) == {torch.bfloat16} and found.dtype == torch.float16
    assert 0 < (found - whole).abs().mean() < ROUNDING
    seen.clear()
    contexts = pd.DataFrame({"word": ["he", "she"], "text": ["he sang", "she sang"], "start": 0, "end": [2, 3]})
    reader = Reader(model, TOKENIZER)
    for rows, forward in word_batches(model, TOKENIZER, contexts):
        assert reader.under_each(forward).shape == (1, len(rows), HIDDEN)
    assert set(seen) == {torch.bfloat16}


def test_a_tuning_on_a_gpu_says_so_in_the_model_and_it_is_read_accordingly(tmp_path, monkeypatch, gpu):
    def on_the_processor(*places, on_gpu, bf16, **options):
        assert on_gpu and bf16
        return training_arguments(*places, on_gpu=False, bf16=bf16, **options)

    monkeypatch.setattr(finetune, "training_arguments", on_the_processor)
    facts = run(tmp_path, "model", train=TRAIN.iloc[:24], recipe=replace(RECIPE, epochs=1))
    assert json.loads((tmp_path / "model/config.json").read_text())[precision.TRAINED_IN] == "bfloat16"
    model, tokenizer = load_encoder(tmp_path / "model", head="classification")
    assert facts["epoch"] and hasattr(model.config, precision.TRAINED_IN)
    assert first_token_vectors(model, tokenizer, ["red one"], max_length=8)[0].dtype == torch.float16
