"""Fitted methods, passes under several of them, and the sweep: equal to hooking each by hand, no layer for nothing."""

import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.encoders import taps
from biasflow.encoders.edit import edited
from biasflow.methods.fitted import Active, Fitted, Grid, load, save
from biasflow.methods.grid import all_settings, chosen_settings, edits_of
from biasflow.methods.passes import passes
from biasflow.methods.sweep import check_reports, grid_vectors, sentence_vectors, sweep
from tests.unit.conftest import HEADS, HIDDEN, logits_of, random_batch, random_eraser, random_subspaces
from tests.unit.fake_tokenizer import word_tokenizer
from tests.unit.methods.test_fitting import VOCABULARY, fit, grid

HEAD = HIDDEN // HEADS
METHODS = {
    "none": (),
    "all": tuple((f"layer[{i}]", random_eraser(1, HIDDEN)) for i in range(3)),
    "last": (("layer[-1]", random_eraser(1, HIDDEN)),),
    "first-token": (("layer[1].cls", random_eraser(2, HIDDEN)),),
    "pooled": (("pooled", random_eraser(1, HIDDEN)),),
    "values": (("layer[-1].attention.value", random_eraser(1, HEAD, (HEADS,))), ("layer[2]", random_eraser(1, HIDDEN))),
}
ACTIVE = [Active(name, edits=edits) for name, edits in METHODS.items()]


def by_hand(model, batch, edits):
    with torch.inference_mode(), edited(model, edits):
        return logits_of(model(**batch))


def test_every_method_equals_the_hooked_model(bert):
    batch, reports = random_batch(bert), {}
    found = passes(bert, ACTIVE, lambda: logits_of(bert(**batch)), reports)
    for active, logits in zip(ACTIVE, found, strict=True):
        assert torch.equal(logits, by_hand(bert, batch, active.edits)), active.method
    assert len({tuple(logits.flatten().tolist()) for logits in found}) == len(ACTIVE)
    assert set(reports) == {f"{name} at {place}" for name, edits in METHODS.items() for place, _ in edits}
    assert all(report.calls == 1 and report.change > 0 for report in reports.values())


def test_what_happens_in_the_layers_is_that_of_each_method_and_once_for_those_that_act_behind_them(bert):
    batch, runs = random_batch(bert), []
    bert.set_attn_implementation("eager")

    def attention(edits=()):
        runs.append(len(edits))
        with torch.inference_mode(), edited(bert, edits):
            return torch.stack(bert(**batch, output_attentions=True).attentions)

    expected = [attention(edits) for edits in METHODS.values()]
    runs.clear()
    found = passes(bert, ACTIVE, attention, {}, whole=True)
    for active, weights, wanted in zip(ACTIVE, found, expected, strict=True):
        assert torch.equal(weights, wanted), active.method
    assert len(runs) == 1 + sum(name in ("all", "first-token", "values") for name in METHODS)


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (["none"], [1, 1, 1]),
        (list(METHODS), [1, 2, 4]),  # "all" starts in the second layer, "first-token" and "values" in the third
        (["all"], [1, 1, 1]),  # the untouched model would spare one layer and cost three
        (["all", "values"], [2, 2, 2]),
        (["all", "last"], [1, 2, 2]),
    ],
)
def test_layers_below_the_first_edit_run_once_where_that_spares_some(bert, methods, expected):
    batch, calls = random_batch(bert), [0, 0, 0]
    attention = [layer.attention for layer in taps.layers(bert)]

    def counter(number):
        def count(module, args):
            calls[number] += 1

        return count

    handles = [module.register_forward_pre_hook(counter(number)) for number, module in enumerate(attention)]
    passes(bert, [each for each in ACTIVE if each.method in methods], lambda: logits_of(bert(**batch)), {})
    for handle in handles:
        handle.remove()
    assert calls == expected


TOLERANCE = 1e-5


def only_the_grid(subspaces) -> Fitted:
    return Fitted({"grid": Grid("grid", chosen_settings(), subspaces)}, {"grid": {}})


def test_there_are_76_settings_in_the_printed_order():
    settings = all_settings()
    assert [s.level for s in settings] == (
        ["base", "sentence-debias"] + ["sent"] * 2 + ["layer-12"] * 8 + ["layer-11"] * 32 + ["layer-11+attention"] * 32
    )
    assert len({(s.level, s.settings) for s in settings}) == 76
    assert [s.settings for s in settings[:7]] == ["", "", "0", "1", "0,0,0", "0,0,1", "0,1,0"]
    assert settings[-1].settings == "1,1,1,1,1"


@pytest.mark.parametrize("sequential", [False, True])
def test_fitted_subspaces_in_both_ways_of_fitting(bert, sequential):
    tokenizer = word_tokenizer(VOCABULARY.split())
    subspaces = fit(bert, tokenizer, {"g": grid(sequential=sequential)}).grids[0].subspaces
    assert len(subspaces.erasers) == (7 if not sequential else 7 + 1 + 8 + 36)
    batch = random_batch(bert)
    settings = all_settings()
    logits = sweep(bert, batch, settings, subspaces)
    for setting, ours in zip(settings, logits, strict=True):
        assert torch.allclose(ours, by_hand(bert, batch, edits_of(setting, subspaces)), atol=TOLERANCE, rtol=0), setting


def test_reports_show_that_every_edit_acted(bert):
    reports = {}
    for _ in range(2):
        grid_vectors(bert, random_batch(bert), all_settings(), random_subspaces(), reports)
    rows = check_reports(reports, only_the_grid(random_subspaces()))
    assert len(rows) == 3 + 1 + 8 + 36 + 1 + 74 - 1  # attention, SentenceDebias and each distinct upstream x projection
    assert all(row["calls"] == 2 and row["mean_change"] > 0 for row in rows)
    hard = [row for row in rows if "n=0" in row["edit"]]
    assert all(row["residual"] < 1e-4 for row in hard)


def test_an_edit_that_changes_nothing_is_an_error(bert):
    from dataclasses import replace

    subspaces = random_subspaces()
    pooled = subspaces.erasers["pooled", "plain"]
    nothing = replace(pooled, right=torch.zeros_like(pooled.right))
    subspaces = replace(subspaces, erasers={**subspaces.erasers, ("pooled", "plain"): nothing})
    reports = {}
    grid_vectors(bert, random_batch(bert), all_settings(), subspaces, reports)
    with pytest.raises(BiasflowError, match="pooled"):
        check_reports(reports, only_the_grid(subspaces))


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
        assert torch.allclose(ours, by_hand(model, batch, each.edits), atol=1e-5, rtol=0), (each.method, each.setting)
    names = [row["edit"] for row in check_reports(reports, fitted)]
    assert "densray-each layer[1] at layer[1]" in names and "two at layer[2].cls" in names
