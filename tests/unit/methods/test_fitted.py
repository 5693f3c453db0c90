"""Fitted methods: their axis, their file, and models under all of them at once."""

import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.encoders import taps
from biasflow.encoders.edit import edited
from biasflow.methods.fitted import Active, Fitted, Grid, load, save
from biasflow.methods.grid import chosen_settings
from biasflow.methods.sweep import check_reports, sentence_vectors
from tests.unit.conftest import HIDDEN, logits_of, random_batch, random_eraser, random_subspaces


def hard():
    return random_eraser(1, HIDDEN).with_setting(weighted=False, components=1)


@pytest.fixture
def fitted():
    torch.manual_seed(1)
    all_layers = tuple((f"layer[{i}]", hard()) for i in range(3))
    methods = {
        "none": (Active("none"),),
        "densray": (Active("densray", "-", all_layers),),
        "dawkins2024": Grid("dawkins2024", chosen_settings(), random_subspaces()),
        "densray-each": tuple(Active("densray-each", place, ((place, eraser),)) for place, eraser in all_layers),
        "leace": (Active("leace", "-", (("pooled", hard()),)),),
        "two": (Active("two", "-", (("layer[0]", hard()), ("layer[2].cls", hard()))),),
    }
    return Fitted(methods, {name: [{"eraser": name}] for name in methods})


def test_the_axis_has_a_row_for_every_setting_and_none_for_base(fitted):
    assert len(fitted.axis) == 1 + 1 + 75 + 3 + 1 + 1
    assert fitted.axis[:3] == (("none", "-"), ("densray", "-"), ("dawkins2024", "sentence-debias"))
    assert ("dawkins2024", "layer-12 0,1,0") in fitted.axis
    assert fitted.axis[77:80] == tuple(("densray-each", f"layer[{i}]") for i in range(3))
    assert [(each.method, each.setting) for each in fitted.every_setting()] == list(fitted.axis)
    assert [grid.method for grid in fitted.grids] == ["dawkins2024"] and len(fitted.hooked) == 7


def same(a, b):
    def shown(fitted):
        return [(e.method, e.setting, [(place, x.state("x")) for place, x in e.edits]) for e in fitted.every_setting()]

    for (*keys, ours), (*others, theirs) in zip(shown(a), shown(b), strict=True):
        assert keys == others and [place for place, _ in ours] == [place for place, _ in theirs]
        for (_, x), (_, y) in zip(ours, theirs, strict=True):
            assert x.keys() == y.keys() and all(torch.equal(x[key], y[key]) for key in x)
    return True


def test_they_come_back_from_their_file_by_name_and_in_the_order_asked_for(fitted, tmp_path):
    path = tmp_path / "methods.safetensors"
    save(fitted, path)
    assert same(load(path, list(fitted.methods)), fitted)
    back = load(path, ["leace", "none", "densray"])
    assert back.axis == (("leace", "-"), ("none", "-"), ("densray", "-"))
    assert back.specifications["densray"] == [{"eraser": "densray"}]
    assert set(load(path).methods) == set(fitted.methods) - {"none"}


def test_a_method_that_was_not_fitted_and_a_cut_off_file_are_named(fitted, tmp_path):
    path = tmp_path / "methods.safetensors"
    save(fitted, path)
    with pytest.raises(BiasflowError, match=r"rubber.*methods\.safetensors"):
        load(path, ["rubber"])
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(BiasflowError, match=r"methods\.safetensors"):
        load(path, ["none", "leace"])


def test_all_methods_at_once_are_the_hooked_model(bert, fitted):
    model, batch, reports = bert, random_batch(bert), {}
    with torch.inference_mode():
        found = taps.classify(model, sentence_vectors(model, batch, fitted, reports))
    assert found.shape[:2] == (len(fitted.axis), 5)
    for each, ours in zip(fitted.every_setting(), found, strict=True):
        with torch.inference_mode(), edited(model, each.edits):
            theirs = logits_of(model(**batch))
        assert torch.allclose(ours, theirs, atol=1e-5, rtol=0), (each.method, each.setting)
    names = [row["edit"] for row in check_reports(reports, fitted)]
    assert "densray-each layer[1] at layer[1]" in names and "two at layer[2].cls" in names
