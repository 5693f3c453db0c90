"""Edits of hidden states by hooks: any eraser at any named place, with proof that it acted."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import nn

from biasflow.base.errors import BiasflowError
from biasflow.encoders import taps
from biasflow.erasers.eraser import Eraser

Edits = Iterable[tuple[str, Eraser]]  # (place, eraser), as `edited` takes them


@dataclass
class EditReport:
    """What an edit did: how often it ran, how far it moved the states, how much is left of what it takes out.

    change = mean ||h' - h|| per vector; residual = ||(h' - c) R|| / ||(h - c) R|| over all vectors, in root mean
    square: 0 after an edit of weight 1. The sums stay on the device, so that a report does not hold up a GPU."""

    name: str
    calls: int = 0
    vectors: int = 0
    sums: torch.Tensor = field(default_factory=lambda: torch.zeros(3, dtype=torch.float64))  # moved, before, after

    @torch.no_grad()
    def record(self, eraser: Eraser, before: torch.Tensor, after: torch.Tensor) -> None:
        """Add one application: `before` and `after` are h and h'."""
        distance = (after.float() - before.float()).norm(dim=-1)
        squares = [eraser.coordinates(h).square().sum() for h in (before, after)]
        self.calls += 1
        self.vectors += distance.numel()
        self.sums = self.sums.to(distance.device) + torch.stack([distance.sum(), *squares]).double()

    def add(self, other: "EditReport") -> None:
        """Count what another report of the same edit counted."""
        self.calls += other.calls
        self.vectors += other.vectors
        self.sums = self.sums.to(other.sums.device) + other.sums

    @property
    def change(self) -> float:
        return float(self.sums[0]) / self.vectors if self.vectors else 0.0

    @property
    def residual(self) -> float:
        _, before, after = self.sums.tolist()
        return (after / before) ** 0.5 if before else 0.0

    def check(self) -> None:
        """Raise BiasflowError if the edit did nothing: debiasing that does nothing is an error."""
        if self.calls == 0:
            raise BiasflowError(
                f"edit {self.name}: it never ran, because the model does not pass through its place; name another place"
            )
        if not self.change > 0:
            raise BiasflowError(f"edit {self.name}: it ran {self.calls} time(s) and changed nothing; check its eraser")

    def row(self) -> dict:
        """What was measured of the edit, as a row of a table."""
        return {
            "edit": self.name,
            "calls": self.calls,
            "vectors": self.vectors,
            "mean_change": self.change,
            "residual": self.residual,
        }


@contextlib.contextmanager
def edited(model: nn.Module, edits: Edits) -> Iterator[list[EditReport]]:
    """While the context is open, `model` runs with each (place, eraser) applied; yields one report per edit.

    On leaving without an exception every edit must have acted, otherwise BiasflowError (design rule 11)."""
    reports = []
    with contextlib.ExitStack() as hooks:
        for place, eraser in edits:
            report = EditReport(place)
            on_device = eraser.to(next(model.parameters()).device)  # once, not in every call
            hooks.enter_context(taps.tap(model, place).hook(partial(_applied, on_device, report)))
            reports.append(report)
        yield reports
    for report in reports:
        report.check()


def _applied(eraser: Eraser, report: EditReport, h: torch.Tensor) -> torch.Tensor:
    try:
        after = eraser.apply(h)
    except BiasflowError as error:
        raise BiasflowError(f"edit {report.name}: {error}") from error
    report.record(eraser, h, after)
    return after


@contextlib.contextmanager
def watched(
    model: nn.Module,
    places: Iterable[str],
    select: Callable[[str, torch.Tensor], torch.Tensor] = lambda place, h: h,
) -> Iterator[dict[str, torch.Tensor]]:
    """While the context is open, the dictionary holds `select(place, states)` of the latest forward pass, by place.

    Edits at a place that were put there before are seen, later ones are not."""
    states: dict[str, torch.Tensor] = {}

    def keep(place: str, h: torch.Tensor) -> None:
        states[place] = select(place, h)

    with contextlib.ExitStack() as hooks:
        for place in places:
            hooks.enter_context(taps.tap(model, place).hook(partial(keep, place)))
        yield states
