"""Vectors of biographies under methods: what is stored, what is computed from it, and that both are the model's own."""

import numpy as np
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.encoders.edit import edited
from biasflow.encoders.first_token import first_token_vectors
from biasflow.encoders.load import load_encoder, random_encoder
from biasflow.methods.fitted import Active, Fitted
from biasflow.readouts import first_token, states
from biasflow.readouts.files import load_arrays
from biasflow.readouts.states import States
from tests.unit.synthetic_bios import METHODS, fitted, projection, readable, save_model, save_states, source

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


def test_rows_are_those_that_were_asked_for(folder):
    path, _ = read(folder, ("none", "last"))
    rows = np.array([7, 3, 3, 59])
    whole, some = (list(States(path, fitted("none", "last")).under_each(which)) for which in (None, rows))
    for (*_, X), (*_, part) in zip(whole, some, strict=True):
        torch.testing.assert_close(part, X[rows], rtol=0, atol=1e-6)


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


def test_what_no_vector_depends_on_is_refused(folder):
    with pytest.raises(BiasflowError, match="pooled"):
        read(folder, ("none", "pooled"))
    with pytest.raises(BiasflowError, match=r"x: acts at layer\[-1\]\.cls"):
        states.reaching(Active("x", "-", (("layer[-1].cls", projection()),)), 3, words=True)
    assert states.reaching(Active("x", "-", (("layer[-2].cls", projection()),)), 3, words=True).edits


def test_an_eraser_that_changes_nothing_is_an_error(tmp_path):
    path = save_states(tmp_path / "v", torch.randn(5, 32))
    idle = projection()
    idle.weights.zero_()
    methods = Fitted({"idle": (Active("idle", "-", (("layer[-1]", idle),)),)}, {})
    with pytest.raises(BiasflowError, match="idle"):
        list(States(path, methods).under_each())


def test_a_method_that_was_not_stored_is_named(folder):
    path, _ = read(folder, ("none",))
    with pytest.raises(BiasflowError, match=r"deep layer\[0\]"):
        list(States(path, fitted("deep")).under_each())


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


def test_scrubbed_texts_and_random_encoders(folder):
    path, _ = read(folder, ("none",), text="scrubbed")
    assert np.array_equal(load_arrays(path).arrays["vectors"][0], by_hand(folder, text="scrubbed"))
    drawn = source(folder)
    drawn = type(drawn)(**vars(drawn) | {"training": "random/seed4"})
    first_token.read(drawn, folder / "drawn", text="raw", max_length=32)
    expected = first_token_vectors(*random_encoder(folder / "model", seed=4), BIOS["text"].tolist(), max_length=32)[0]
    assert np.array_equal(load_arrays(folder / "drawn").arrays["vectors"][0], expected)


def test_cut_texts_are_counted(folder):
    _, facts = read(folder, ("none",), max_length=5)
    cut = sum(len(text.split()) > 3 for text in BIOS["text"])
    assert facts["truncated"] == cut > 0 and facts["texts"] == 60
