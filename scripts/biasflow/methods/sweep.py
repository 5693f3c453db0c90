"""A model under every method: ordinary ones by hooks, all settings of Dawkins et al. (2024) at about one forward pass.

What the settings of a grid share is computed once: layers 1..L-2 and layer L-1 (a second time with projected Q, K and
V); then, per distinct projection of the states before the last layer, only the first token of the last layer;
projections of that token and of the sentence vector are updates of [batch, hidden] matrices."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import nn

from biasflow.base.errors import BiasflowError
from biasflow.encoders import places, taps
from biasflow.encoders.device import as_trained, full
from biasflow.encoders.edit import EditReport, edited, watched
from biasflow.methods.fitted import NO_SETTING, NONE, Fitted
from biasflow.methods.grid import (
    ATTENTION,
    BASE,
    BEFORE,
    LAST,
    PLACES,
    POOLED,
    SENTENCE_DEBIAS,
    Setting,
    Subspaces,
    name_of_setting,
    place_of,
)
from biasflow.methods.passes import Reports, add_report, passes


class _ReachedError(Exception):
    """Ends a model's own forward pass where its last layer begins."""


class _Inputs(NamedTuple):
    """What a layer is called with; the first of `args` are the states."""

    args: tuple
    kwargs: dict


def _inputs_of_last_two(model: nn.Module, batch: Mapping[str, torch.Tensor]) -> tuple[_Inputs, _Inputs]:
    """Run the model's own code up to the last layer; return what the last two layers would be called with."""
    inputs: list[_Inputs] = []

    def keep(module: nn.Module, args: tuple, kwargs: dict) -> None:
        inputs.append(_Inputs(args, kwargs))
        if len(inputs) == 2:
            raise _ReachedError

    with contextlib.ExitStack() as hooks:
        for layer in taps.layers(model)[-2:]:
            hooks.enter_context(layer.register_forward_pre_hook(keep, with_kwargs=True))
        with contextlib.suppress(_ReachedError):
            model(**batch)
    if len(inputs) < 2:
        raise BiasflowError(f"{taps.name_of(model)}: its forward pass never reaches the last layer")
    return inputs[0], inputs[1]


@torch.inference_mode()
def sentence_vectors(
    model: nn.Module, batch: Mapping[str, torch.Tensor], fitted: Fitted, reports: Reports
) -> torch.Tensor:
    """Return the input of the classification layer under every method, in the order of fitted.axis: [axis, batch,
    hidden].

    Computed `as_trained`. A pass of the hooked model for every setting of an ordinary method, one of `grid_vectors` for
    all settings of a grid (and for the untouched model beside it). batch: the model's inputs, with `attention_mask`;
    the model must be in evaluation mode. `reports` gathers over batches what every edit did; see `check_reports`."""
    result = {}
    for grid in fitted.grids:
        names = [(NONE, NO_SETTING), *((grid.method, name_of_setting(setting)) for setting in grid.settings)]
        settings, about = [BASE, *grid.settings], {"name": f"{grid.method} "}
        with as_trained(model):
            vectors = full(grid_vectors(model, batch, settings, grid.subspaces, reports, **about))
        result |= zip(names, vectors, strict=True)
    others = [active for active in fitted.hooked if (active.method, active.setting) not in result]
    vectors = passes(model, others, lambda: _read_by_head(model, batch), reports)
    result |= {(active.method, active.setting): vector for active, vector in zip(others, vectors, strict=True)}
    return torch.stack([result[pair] for pair in fitted.axis])


def _read_by_head(model: nn.Module, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The sentence vectors [batch, hidden] of the model's own forward pass, after whatever edits are active."""
    with watched(model, [places.POOLED]) as seen:
        model(**batch)
    return seen[places.POOLED]


@torch.inference_mode()
def sweep(
    model: nn.Module,
    batch: Mapping[str, torch.Tensor],
    settings: Sequence[Setting],
    subspaces: Subspaces,
    reports: Reports | None = None,
) -> torch.Tensor:
    """Return the logits of every setting, [settings, batch, classes], equal to those with hooks (see `edit.edited`).

    Computed `as_trained`. Arguments and errors as in `grid_vectors`; the model must have a next-sentence or a
    classification head."""
    with as_trained(model):
        vectors = grid_vectors(model, batch, settings, subspaces, reports)
    return taps.classify(model, full(vectors))


@torch.inference_mode()
def grid_vectors(
    model: nn.Module,
    batch: Mapping[str, torch.Tensor],
    settings: Sequence[Setting],
    subspaces: Subspaces,
    reports: Reports | None = None,
    *,
    name: str = "",
) -> torch.Tensor:
    """Return the input of the classification layer in every setting: [settings, batch, hidden].

    batch: the model's inputs, with `attention_mask`; the model must be in evaluation mode. `reports`, if given, gathers
    over batches what every edit did, under names that begin with `name`; see `check_reports`."""
    if (depth := taps.depth(model)) < 2:
        raise BiasflowError(f"{taps.name_of(model)} has {depth} layer(s); the interventions need two")
    edit = _Editor(subspaces, {} if reports is None else reports, name)
    keep = batch["attention_mask"].bool()
    pooled = {}
    inputs, of_last = _inputs_of_last_two(model, batch)
    at_last = taps.tap(model, PLACES[LAST])
    for attention, members in _groups(settings, lambda s: s.attention).items():
        states = edit.second_to_last(model, inputs, members[0]) if attention else of_last.args[0]
        for _, same_before in _groups(members, lambda s: s.before).items():
            edited_states = edit(states, BEFORE, same_before[0])
            last = taps.last_of(model, edited_states, keep, of_last.args[1:], of_last.kwargs)
            for _, same_last in _groups(same_before, lambda s: s.last).items():
                edited_last = at_last.merge(last, edit(at_last.view(last), LAST, same_last[0]))
                vector = taps.pool(model, taps.sentence(model, edited_last, keep))
                for setting in same_last:
                    place = SENTENCE_DEBIAS if setting.level == "sentence-debias" else POOLED
                    pooled[setting] = edit(vector, place, setting)
    return torch.stack([pooled[setting] for setting in settings])


def _groups(settings: Iterable[Setting], key) -> dict[object, list[Setting]]:
    grouped: dict[object, list[Setting]] = {}
    for setting in settings:
        grouped.setdefault(key(setting), []).append(setting)
    return grouped


@dataclass(frozen=True)
class _Editor:
    """Applies projections of a grid's settings to states at hand, and records what each does."""

    subspaces: Subspaces
    reports: Reports
    name: str

    def __call__(self, h: torch.Tensor, place: str, setting: Setting) -> torch.Tensor:
        """Return h with the setting's projection at `place`, or h itself if the setting has none there."""
        projection = getattr(setting, place_of(place))
        if projection is None:
            return h
        eraser = self.subspaces.at(place, setting).to(h.device)
        after = eraser.apply(h)
        report = EditReport(f"{self.name}{place} n={projection.n} c={projection.c} after {setting.upstream(place)}")
        report.record(eraser, h, after)
        add_report(self.reports, report)
        return after

    def second_to_last(self, model: nn.Module, inputs: _Inputs, setting: Setting) -> torch.Tensor:
        """Output of the second-to-last layer with its queries, keys and values projected."""
        edits = {PLACES[part]: self.subspaces.at(part, setting) for part in ATTENTION}
        with edited(model, edits.items()) as done:
            output = taps.layers(model)[-2](*inputs.args, **inputs.kwargs)
        for part, report in zip(ATTENTION, done, strict=True):
            add_report(self.reports, replace(report, name=f"{self.name}{part}"))
        return output[0] if isinstance(output, tuple) else output


def check_reports(reports: Reports, fitted: Fitted) -> list[dict]:
    """Return one row per edit; BiasflowError if one never ran or changed nothing (design rule 11)."""
    if not reports and any(active.edits for active in fitted.every_setting()):
        raise BiasflowError("no edit was ever applied; give at least one sentence")
    for report in reports.values():
        report.check()
    return [report.row() for report in reports.values()]
