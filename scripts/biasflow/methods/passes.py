"""A model under several methods by hooks: every batch goes through it once per method and setting."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import nn

from biasflow.encoders.edit import EditReport, edited
from biasflow.encoders.precision import as_trained, full
from biasflow.encoders.resume import Outputs, recorded, resumed, untouched_layers
from biasflow.encoders.taps import layers
from biasflow.methods.fitted import NO_SETTING, Active

Reports = dict[str, EditReport]


@torch.inference_mode()
def passes(
    model: nn.Module, methods: Sequence[Active], forward: Callable[[], torch.Tensor], reports: Reports
) -> list[torch.Tensor]:
    """What `forward`, which runs the model on one batch, returns under each method, in their order.

    The model computes `as_trained`. Layers before a method's first edit are not run again: they return what they return
    in the untouched model, if that is among the methods or takes fewer layers than it spares. `reports` gathers over
    batches what every edit did."""
    counts = [untouched_layers(model, each.edits) for each in methods]
    if all(each.edits for each in methods) and sum(counts) <= len(layers(model)):
        return [_under(model, each, 0, {}, forward, reports) for each in methods]
    with recorded(model, counts) as outputs, as_trained(model):
        plain = full(forward())
    return [
        _under(model, each, count, outputs, forward, reports) if each.edits else plain
        for each, count in zip(methods, counts, strict=True)
    ]


def _under(
    model: nn.Module, active: Active, count: int, outputs: Outputs, forward: Callable, reports: Reports
) -> torch.Tensor:
    with resumed(model, count, outputs), edited(model, active.edits) as done, as_trained(model):
        found = full(forward())
    for report in done:
        setting = "" if active.setting == NO_SETTING else f"{active.setting} "
        add_report(reports, replace(report, name=f"{active.method} {setting}at {report.name}"))
    return found


def add_report(reports: Reports, report: EditReport) -> None:
    """Count what `report` counted in that of its name."""
    if report.name in reports:
        reports[report.name].add(report)
    else:
        reports[report.name] = report
