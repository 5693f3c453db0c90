"""Vectors of biographies under methods: what is stored, what is computed from it, and that both are the model's own."""

import numpy as np
import pytest
import torch

from biasflow.encoders.edit import edited
from biasflow.encoders.first_token import first_token_vectors
from biasflow.encoders.load import load_encoder
from biasflow.readouts import first_token, states
from biasflow.readouts.files import load_arrays
from biasflow.readouts.states import States
from tests.unit.synthetic_bios import METHODS, fitted, readable, save_model, save_states, source

BIOS = readable(60)
PLAIN = ("none", "-")


@pytest.fixture
def folder(tmp_path):
    BIOS.to_parquet(tmp_path / "biographies.parquet")
    save_model(tmp_path / "model")
    return tmp_path


def read(folder, methods, *, text="raw", **options):
    path = folder / f"{text}.safetensors"
    facts = first_token.read(source(folder, methods=methods), path, **{"text": text, "max_length": 32} | options)
    return path, facts


def by_hand(folder, edits=(), text="text"):
    """The vectors by the hooked model."""
    model, tokenizer = load_encoder(folder / "model", head="none")
    with edited(model, edits):
        return first_token_vectors(model, tokenizer, BIOS[text].tolist(), max_length=32)[0]


def test_vectors_under_every_method_are_those_of_the_edited_model(folder):
    names = ("none", "last", "cls", "deep", "both")
    path, _ = read(folder, names)
    stored = load_arrays(path)
    assert stored.axis == (PLAIN, ("deep", "layer[0]"), ("both", "-")) and stored.meta["layers"] == 3
    found = {(method, setting): X for method, setting, X in States(path, fitted(*names)).under_each()}
    assert list(found) == list(fitted(*names).axis)
    assert torch.equal(found[PLAIN], by_hand(folder))
    for (method, setting), X in found.items():
        if method != "none":
            edits = [(place, eraser) for place, eraser in METHODS[method][setting] if place != "pooled"]
            torch.testing.assert_close(X, by_hand(folder, edits), rtol=0, atol=2e-5)
            assert (X - found[PLAIN]).abs().max() > 1e-2


@pytest.mark.parametrize(
    ("names", "stored"),
    [
        (("deep",), [("deep", "layer[0]"), PLAIN]),
        (("both",), [("both", "-")]),
        (("last", "cls"), [PLAIN]),
        (("none",), [PLAIN]),
    ],
)
def test_the_untouched_model_is_stored_where_it_is_of_use(folder, names, stored):
    path, _ = read(folder, names)
    assert sorted(load_arrays(path).axis) == sorted(stored)
    assert [pair[:2] for pair in States(path, fitted(*names)).under_each()] == list(fitted(*names).axis)


def test_groups_hold_all_methods_in_their_order(tmp_path, monkeypatch):
    path, X = tmp_path / "v", torch.randn(50, 32)
    save_states(path, X)
    vectors = States(path, fitted("none", "last", "cls"))
    (whole,) = vectors.in_groups(np.arange(20))
    assert whole[0] == list(vectors.axis) and whole[1].shape == (3, 20, 32)
    monkeypatch.setattr(states, "BYTES_TOGETHER", 2 * 20 * 32 * 4)
    parts = list(vectors.in_groups(np.arange(20)))
    assert [len(axis) for axis, _ in parts] == [2, 1]
    assert torch.equal(torch.cat([X for _, X in parts]), whole[1])
