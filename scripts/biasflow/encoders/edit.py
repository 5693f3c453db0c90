"""Edits of hidden states by hooks: any eraser at any named place, with proof that it acted."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders import taps
from scripts.biasflow.erasers.eraser import Eraser
from scripts.biasflow.methods.grid import ATTENTION, BEFORE, LAST, POOLED, SENTENCE_DEBIAS, Setting, Subspaces

# Where each subspace lies in any encoder.
PLACES = {
    POOLED: "pooled",
    SENTENCE_DEBIAS: "pooled",
    LAST: "layer[-1].cls",
    BEFORE: "layer[-2]",
    **{part: f"layer[-2].attention.{part}" for part in ATTENTION},
}

Edits = Iterable[tuple[str, Eraser]]  # (place, eraser), as `edited` takes them


@dataclass
class EditReport:
    """What an edit did: how often it ran, how far it moved the states, how much is left along its directions.

    change = mean ||h' - h|| per vector; residual = ||<h', g>|| / ||<h, g>|| over all vectors: 0 after a hard edit."""

    name: str
    calls: int = 0
    vectors: int = 0
    moved: float = 0.0
    before: float = 0.0
    after: float = 0.0
    weights: list[float] = field(default_factory=list)

    def record(self, eraser: Eraser, before: torch.Tensor, after: torch.Tensor) -> None:
        """Add one application: `before` and `after` are h and h'."""
        distance = (after - before).float().norm(dim=-1)
        self.calls += 1
        self.vectors += distance.numel()
        self.moved += float(distance.sum())
        self.before += float(eraser.coordinates(before).float().square().sum())
        self.after += float(eraser.coordinates(after).float().square().sum())
        self.weights = (
            eraser.weights.flatten(0, -2).mean(0).tolist() if eraser.weights.dim() > 1 else eraser.weights.tolist()
        )

    @property
    def change(self) -> float:
        return self.moved / self.vectors if self.vectors else 0.0

    @property
    def residual(self) -> float:
        return (self.after / self.before) ** 0.5 if self.before else 0.0

    def check(self) -> None:
        """Raise BiasflowError if the edit did nothing: debiasing that does nothing is an error."""
        if self.calls == 0:
            raise BiasflowError(f"edit {self.name}: it never ran; the model does not pass through that place")
        if not self.moved > 0:
            raise BiasflowError(
                f"edit {self.name}: it ran {self.calls} time(s) and changed nothing; check its subspace"
            )

    def row(self) -> dict:
        return {
            "edit": self.name,
            "calls": self.calls,
            "vectors": self.vectors,
            "mean_change": self.change,
            "residual": self.residual,
            "weights": " ".join(f"{weight:.6g}" for weight in self.weights),
        }


@contextlib.contextmanager
def edited(model: nn.Module, edits: Edits) -> Iterator[list[EditReport]]:
    """While the context is open, `model` runs with each (place, eraser) applied; yields one report per edit.

    On leaving without an exception every edit must have acted, otherwise BiasflowError (design rule 11)."""
    handles, reports = [], []
    try:
        for place, eraser in edits:
            report = EditReport(place)
            handles.append(taps.tap(model, place).hook(_editor(eraser, report)))
            reports.append(report)
        yield reports
    finally:
        for handle in handles:
            handle.remove()
    for report in reports:
        report.check()


def _editor(eraser: Eraser, report: EditReport):
    def apply(h: torch.Tensor) -> torch.Tensor:
        fitted = eraser.to(h)
        after = fitted.apply(h)
        report.record(fitted, h.detach(), after.detach())
        return after

    return apply


def edits_of(setting: Setting, subspaces: Subspaces) -> list[tuple[str, Eraser]]:
    """The (place, eraser) pairs of one setting, for `edited`: the plain way that `sweep` must agree with."""
    return [(PLACES[name], eraser) for name, eraser in subspaces.active(setting).items()]


@torch.inference_mode()
def collect(
    model: nn.Module, batches: Iterable[Mapping[str, torch.Tensor]], places: Iterable[str]
) -> dict[str, torch.Tensor]:
    """Hidden states at `places` over `batches`, one row per sentence, or per kept token at the places with tokens.

    Result: place -> [rows, hidden] ([rows, heads, head_dim] in attention), float32, on the CPU."""
    found: dict[str, list[torch.Tensor]] = {place: [] for place in places}
    keep: list[torch.Tensor] = []

    def keeper(place: str):
        has_tokens = place.startswith("layer") and not place.endswith(".cls")

        def store(h: torch.Tensor) -> None:
            found[place].append((h[keep[-1]] if has_tokens else h).float().cpu())

        return store

    handles = [taps.tap(model, place).hook(keeper(place)) for place in found]
    try:
        for batch in batches:
            keep.append(batch["attention_mask"].bool())
            model(**batch)
    finally:
        for handle in handles:
            handle.remove()
    return {place: torch.cat(parts) for place, parts in found.items()}
