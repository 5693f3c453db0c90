"""All interventions of Dawkins et al. (2024) in about the cost of one forward pass.

What the settings share is computed once: layers 1..L-2 and layer L-1 (a second time with projected Q, K and V); then,
per distinct projection of the states before the last layer, only the first token of the last layer; projections of
that token and of the sentence vector are updates of [batch, hidden] matrices."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import nn

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders import taps
from scripts.biasflow.encoders.edit import PLACES, EditReport, edited
from scripts.biasflow.erasers.eraser import Eraser
from scripts.biasflow.methods.grid import ATTENTION, BEFORE, LAST, POOLED, SENTENCE_DEBIAS, Setting, Subspaces

Reports = dict[str, EditReport]


class _ReachedError(Exception):
    """Carries the inputs of the second-to-last layer out of the model's own forward pass."""

    def __init__(self, args: tuple, kwargs: dict):
        super().__init__()
        self.args, self.kwargs = args, kwargs


def _stop(module: nn.Module, args: tuple, kwargs: dict) -> None:
    raise _ReachedError(args, kwargs)


def _inputs_of(layer: nn.Module, model: nn.Module, batch: Mapping[str, torch.Tensor]) -> _ReachedError:
    """Run the model's own code up to `layer`, and return what that layer would be called with."""
    handle = layer.register_forward_pre_hook(_stop, with_kwargs=True)
    try:
        model(**batch)
    except _ReachedError as reached:
        return reached
    finally:
        handle.remove()
    raise BiasflowError(f"{taps.name_of(model)}: its forward pass never reaches the second-to-last layer")


def _first(output):
    return output[0] if isinstance(output, tuple) else output


@torch.inference_mode()
def sweep(
    model: nn.Module,
    batch: Mapping[str, torch.Tensor],
    settings: Sequence[Setting],
    subspaces: Subspaces,
    reports: Reports | None = None,
) -> torch.Tensor:
    """Logits of every setting: [settings, batch, classes], equal to the plainly hooked model (see `edit.edited`).

    Arguments and errors as in `sentence_vectors`; the model must have a next-sentence or a classification head."""
    return taps.classify(model, sentence_vectors(model, batch, settings, subspaces, reports))


@torch.inference_mode()
def sentence_vectors(
    model: nn.Module,
    batch: Mapping[str, torch.Tensor],
    settings: Sequence[Setting],
    subspaces: Subspaces,
    reports: Reports | None = None,
) -> torch.Tensor:
    """What the classification layer reads in every setting: [settings, batch, hidden].

    batch: the model's inputs, with `attention_mask`; the model must be in evaluation mode. `reports`, if given, gathers
    over batches what every edit did; see `check_reports`."""
    stack = taps.layers(model)
    if len(stack) < 2:
        raise BiasflowError(f"{taps.name_of(model)} has {len(stack)} layer(s); the interventions need two")
    if model.training:
        raise ValueError("sweep needs a model in evaluation mode: call model.eval()")
    reports = {} if reports is None else reports
    keep = batch["attention_mask"].bool()
    pooled = {}
    inputs = _inputs_of(stack[-2], model, batch)
    for attention, members in _groups(settings, lambda s: s.attention).items():
        states = _second_to_last(model, stack[-2], inputs, members[0] if attention else None, subspaces, reports)
        for _, same_before in _groups(members, lambda s: s.before).items():
            edited_states = _edit(states, BEFORE, same_before[0], subspaces, reports)
            cls = taps.last_layer_cls(model, stack[-1], edited_states, keep)
            for _, same_last in _groups(same_before, lambda s: s.last).items():
                vector = taps.pool(model, _edit(cls, LAST, same_last[0], subspaces, reports))
                for setting in same_last:
                    place = SENTENCE_DEBIAS if setting.level == "sentence-debias" else POOLED
                    pooled[setting] = _edit(vector, place, setting, subspaces, reports)
    return torch.stack([pooled[setting] for setting in settings])


def _groups(settings: Iterable[Setting], key) -> dict[object, list[Setting]]:
    grouped: dict[object, list[Setting]] = {}
    for setting in settings:
        grouped.setdefault(key(setting), []).append(setting)
    return grouped


def _second_to_last(
    model: nn.Module,
    layer: nn.Module,
    inputs: _ReachedError,
    with_attention: Setting | None,
    subspaces: Subspaces,
    reports: Reports,
) -> torch.Tensor:
    """Output of the second-to-last layer, plain or with its queries, keys and values projected."""
    if with_attention is None:
        return _first(layer(*inputs.args, **inputs.kwargs))
    edits = {PLACES[part]: subspaces.at(part, with_attention) for part in ATTENTION}
    with edited(model, edits.items()) as done:
        output = _first(layer(*inputs.args, **inputs.kwargs))
    for part, report in zip(ATTENTION, done, strict=True):
        reports[part] = _merged(reports.get(part), report, part)
    return output


def _merged(old: EditReport | None, new: EditReport, name: str) -> EditReport:
    if old is None:
        new.name = name
        return new
    for quantity in ("calls", "vectors", "moved", "before", "after"):
        setattr(old, quantity, getattr(old, quantity) + getattr(new, quantity))
    return old


def _edit(h: torch.Tensor, place: str, setting: Setting, subspaces: Subspaces, reports: Reports) -> torch.Tensor:
    """h with the setting's projection at `place`, which is recorded; h itself where the setting has none there."""
    projection = setting.pooled if place in (POOLED, SENTENCE_DEBIAS) else getattr(setting, place)
    if projection is None:
        return h
    eraser: Eraser = subspaces.at(place, setting).to(h)
    after = eraser.apply(h)
    name = f"{place} n={projection.n} c={projection.c} after {setting.upstream(place)}"
    reports.setdefault(name, EditReport(name)).record(eraser, h, after)
    return after


def check_reports(reports: Reports, settings: Iterable[Setting]) -> list[dict]:
    """One row per edit; BiasflowError if one that the settings call for never ran or changed nothing (rule 11)."""
    if not reports and any(setting.level != "base" for setting in settings):
        raise BiasflowError("the sweep applied no intervention at all; were there any sentences?")
    for report in reports.values():
        report.check()
    return [report.row() for report in reports.values()]
