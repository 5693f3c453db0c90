"""A model under several methods by hooks: every batch goes through it once per method and setting.

Such a pass starts at the first layer that an edit changes: what lies before is what it was without it. Most methods act
on the last layer alone, and every layer below gives them the untouched model's states. `recorded` keeps those of one
batch, `resumed` puts them in the place of the layers that need not run again. Embeddings and whatever stands on top of
the layers run in both, so that the result is bit by bit that of the whole model."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from torch import nn

from biasflow.encoders import places, taps
from biasflow.encoders.device import as_trained, full
from biasflow.encoders.edit import EditReport, Edits, edited
from biasflow.methods.fitted import NO_SETTING, NONE, Active

Outputs = Mapping[int, object]  # number of a layer -> what it returned
Reports = dict[str, EditReport]


@torch.inference_mode()
def passes(
    model: nn.Module,
    methods: Sequence[Active],
    forward: Callable[[], torch.Tensor],
    reports: Reports,
    *,
    whole: bool = False,
) -> list[torch.Tensor]:
    """Run the model on one batch under every method; return the outputs of `forward`, which runs it, in their order.

    The model computes `as_trained`. The outputs of layers before a method's first edit are taken from a run of the
    untouched model, if that is one of the methods or costs fewer layers than it saves. `reports` sums up over batches
    what every edit did. whole: run every layer under every method, for a `forward` that returns what happens in the
    layers; methods that act behind the last one do not change it."""
    counts = [untouched_layers(model, active.edits) for active in methods]
    if whole:
        plain = _under(model, Active(NONE), 0, {}, forward, reports) if taps.depth(model) in counts else None
        return [
            plain if count == taps.depth(model) else _under(model, active, 0, {}, forward, reports)
            for active, count in zip(methods, counts, strict=True)
        ]
    if all(active.edits for active in methods) and sum(counts) <= taps.depth(model):
        return [_under(model, active, 0, {}, forward, reports) for active in methods]
    edited_counts = [count for count, active in zip(counts, methods, strict=True) if active.edits]
    with recorded(model, edited_counts) as outputs, as_trained(model):
        plain = full(forward())
    return [
        _under(model, active, count, outputs, forward, reports) if active.edits else plain
        for active, count in zip(methods, counts, strict=True)
    ]


def _under(
    model: nn.Module, active: Active, count: int, outputs: Outputs, forward: Callable, reports: Reports
) -> torch.Tensor:
    with resumed(model, count, outputs), edited(model, active.edits) as done, as_trained(model):
        output = full(forward())
    for report in done:
        setting = "" if active.setting == NO_SETTING else f"{active.setting} "
        add_report(reports, replace(report, name=f"{active.method} {setting}at {report.name}"))
    return output


def add_report(reports: Reports, report: EditReport) -> None:
    """Add the counts of `report` to the report of the same name."""
    if report.name in reports:
        reports[report.name].add(report)
    else:
        reports[report.name] = report


def untouched_layers(model: nn.Module, edits: Edits) -> int:
    """How many layers, from the first, return the same with the edits as without: all of them where there is none.

    A layer whose output alone is edited returns the same, too: the edit comes after it."""
    depth = taps.depth(model)
    counts = [depth]
    for place, _ in edits:
        layer, part = places.layer_of(place)
        if layer is not None:
            counts.append(layer % depth + (part in (None, places.CLS)))
    return min(counts)


@contextlib.contextmanager
def recorded(model: nn.Module, counts: Collection[int]) -> Iterator[dict[int, object]]:
    """What `resumed` needs: for each of `counts` what the last of so many layers returns in the forward pass that runs
    while the context is open."""
    outputs: dict[int, object] = {}
    counts = set(counts) - {0}
    stack = taps.layers(model) if counts else ()

    def keeper(number: int):
        def keep(module: nn.Module, args: tuple, output: object) -> None:
            outputs[number] = output

        return keep

    with contextlib.ExitStack() as hooks:
        for count in counts:
            hooks.enter_context(stack[count - 1].register_forward_hook(keeper(count - 1)))
        yield outputs


@contextlib.contextmanager
def resumed(model: nn.Module, count: int, outputs: Outputs) -> Iterator[None]:
    """While the context is open, the first `count` layers do not run: each returns what the last of them returned.

    For the batch that `outputs` were `recorded` with. Hooks on the layers see it as if they had run."""
    skipped: Iterable[nn.Module] = taps.layers(model)[:count] if count else ()
    for layer in skipped:
        layer.forward = lambda *args, **kwargs: outputs[count - 1]
    try:
        yield
    finally:
        for layer in skipped:
            del layer.forward
