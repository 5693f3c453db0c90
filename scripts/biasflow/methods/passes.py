"""A model under several methods by hooks: every batch goes through it once per method and setting."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import nn

from biasflow.encoders.edit import EditReport, edited
from biasflow.encoders.precision import as_trained, full
from biasflow.encoders.resume import Outputs, recorded, resumed, untouched_layers
from biasflow.encoders.taps import depth
from biasflow.methods.fitted import NO_SETTING, Active

Reports = dict[str, EditReport]


@torch.inference_mode()
def passes(
    model: nn.Module, methods: Sequence[Active], forward: Callable[[], torch.Tensor], reports: Reports
) -> list[torch.Tensor]:
    """Run the model on one batch under every method; return the outputs of `forward`, which runs it, in their order.

    The model computes `as_trained`. The outputs of layers before a method's first edit are taken from a run of the
    untouched model, if that is one of the methods or costs fewer layers than it saves. `reports` sums up over batches
    what every edit did."""
    counts = [untouched_layers(model, active.edits) for active in methods]
    if all(active.edits for active in methods) and sum(counts) <= depth(model):
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
