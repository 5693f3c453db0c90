"""Stored vectors of texts or words under every method: read, or computed from those of the untouched model.

What acts after the last layer does nothing before it: its vectors are those of the untouched model with its erasers
applied, so that they need not be stored. Imports no transformers: what is made of vectors starts quickly."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import normalize

from biasflow.base.errors import BiasflowError
from biasflow.encoders.edit import EditReport, Edits
from biasflow.encoders.places import CLS, SENTENCE, layer_of
from biasflow.methods.fitted import NO_SETTING, NONE, Active, Fitted
from biasflow.methods.passes import Reports, add_report
from biasflow.readouts.files import Axis, load_arrays

VECTORS, LAYERS = "vectors", "layers"
WORDS = "words"  # meta: whether the vectors are of words; without this and SENTENCE they are of first tokens
OF_FIRST = (None, CLS)  # the last edits that act on kept states of first tokens or words (`parted`)
PLAIN = (NONE, NO_SETTING)
BYTES_TOGETHER = 2 << 30  # vectors of several methods that are in memory at once
ROWS_TOGETHER = 65_536  # that an eraser is applied to at once


def reaching(active: Active, layers: int, *, words: bool = False, sentence: bool = False) -> Active:
    """Return the method without the edits that cannot change the last layer's states, of first tokens or of words, or
    the `sentence` vectors that sentence-transformers makes of them.

    layers: how many the model has. BiasflowError if no edit is left: it would be listed, and change nothing."""

    def is_seen(place: str) -> bool:
        layer, part = layer_of(place)
        if place == SENTENCE:
            return sentence
        return layer is not None and not (words and part == ".cls" and layer % layers == layers - 1)

    edits = tuple(edit for edit in active.edits if is_seen(edit[0]))
    if active.edits and not edits:
        raise BiasflowError(
            f"method {_name(active)}: acts at {', '.join(place for place, _ in active.edits)} alone, on which the last "
            f"layer's states of {'words' if words else 'first tokens'} do not depend; leave it out, or move it"
        )
    return Active(active.method, active.setting, edits)


def at_the_end(active: Active, layers: int, parts: Collection[str | None] = OF_FIRST) -> bool:
    """Return whether the method edits the output of the last of so many layers, or what is made of it, and nothing
    else."""
    inside, behind = parted(active, layers, parts)
    return bool(behind) and not inside


def parted(active: Active, layers: int, parts: Collection[str | None]) -> tuple[Edits, Edits]:
    """Return the method's edits in the model, and the last ones, which act on what is made of the last layer's states:
    those of all its tokens (None among `parts`), of the first one (CLS), and at SENTENCE."""
    edits, n = active.edits, len(active.edits)
    while n and _part_of_last(edits[n - 1][0], layers) in parts:
        n -= 1
    return edits[:n], edits[n:]


def _part_of_last(place: str, layers: int) -> str | None:
    """None for the last layer's output, CLS for its first token; the place itself for any other."""
    layer, part = layer_of(place)
    return part if layer is not None and layer % layers == layers - 1 else place


def all_reaching(fitted: Fitted, layers: int, **seen: bool) -> Fitted:
    """Return `reaching` of all methods in all settings, on the same axis."""
    return of_settings(reaching(active, layers, **seen) for active in fitted.every_setting())


def to_be_stored(
    fitted: Fitted, layers: int, parts: Collection[str | None] = OF_FIRST, *, words: bool = False
) -> Fitted:
    """Return the methods under which vectors (of first tokens or words, or of sentences if SENTENCE is one of `parts`)
    have to be read off the model: the untouched one, if it is wanted or others are made of it, and every method that
    acts before the end of the last layer."""
    wanted = list(all_reaching(fitted, layers, words=words, sentence=SENTENCE in parts).every_setting())
    early = [active for active in wanted if active.edits and not at_the_end(active, layers, parts)]
    return of_settings(early if len(early) == len(wanted) else [Active(NONE), *early])


def of_settings(methods: Iterable[Active]) -> Fitted:
    """Return methods in their settings as `Fitted` holds them."""
    by_name: dict[str, tuple[Active, ...]] = {}
    for active in methods:
        by_name[active.method] = (*by_name.get(active.method, ()), active)
    return Fitted(by_name, {})


@dataclass(frozen=True)
class States:
    """A file of readouts.first_token, or one like it, with the methods fitted to its model: vectors [n, d] under every
    one of them. (A mean of states after an affine eraser is the eraser's of their mean.) Sentence vectors are kept as
    they are at the place `sentence`; its meta SENTENCE (`SentenceEncoder.behind`) says what comes behind that."""

    path: Path
    fitted: Fitted

    @property
    def axis(self) -> Axis:
        return self.fitted.axis

    def under_each(
        self, rows: np.ndarray | None = None, *, device: torch.device | str = "cpu"
    ) -> Iterator[tuple[str, str, torch.Tensor]]:
        """(method, setting, vectors) along the axis; those of `rows` alone, in their order, or of all texts.

        float16 or float32, as stored. BiasflowError for a method that was to be stored and is not, and for one that
        changes nothing."""
        file = load_arrays(self.path, framework="pt")
        vectors, stored = file.arrays[VECTORS], {pair: number for number, pair in enumerate(file.axis)}
        rows = slice(None) if rows is None else torch.from_numpy(rows)

        def read(pair: tuple[str, str]) -> torch.Tensor:
            if pair not in stored:
                has = ", ".join(" ".join(known) for known in stored)
                raise BiasflowError(f"{self.path}: no vectors of {' '.join(pair)}; it has {has}: read them again")
            return vectors[stored[pair]][rows].to(device)

        plain, layers, behind = None, file.meta[LAYERS], file.meta.get(SENTENCE, {})
        seen = {"words": file.meta.get(WORDS, False), "sentence": bool(behind)}
        for active in all_reaching(self.fitted, layers, **seen).every_setting():
            made = at_the_end(active, layers, behind.get("parts", OF_FIRST))
            if made and plain is None:
                plain = read(PLAIN)
            states = applied(active, plain) if made else read((active.method, active.setting))
            states = normalize(states, dim=-1) if behind.get("normalised") else states
            yield active.method, active.setting, states[:, : behind.get("dimensions")]

    def in_groups(self, rows: np.ndarray, *, device: torch.device | str = "cpu") -> Iterator[tuple[Axis, torch.Tensor]]:
        """Several methods at once, as many as memory holds: (their part of the axis, vectors [methods, rows, d])."""
        group: list[tuple[tuple[str, str], torch.Tensor]] = []
        for method, setting, X in self.under_each(rows, device=device):
            group.append(((method, setting), X))
            if (len(group) + 1) * X.nbytes > BYTES_TOGETHER:
                yield _stacked(group)
                group = []
        if group:
            yield _stacked(group)


def applied(active: Active, X: torch.Tensor, reports_of_all: Reports | None = None) -> torch.Tensor:
    """The vectors X [n, ..., d] after the method's erasers; what each did is added to the reports of all. BiasflowError
    if one changes nothing (design rule 11)."""
    reports = [EditReport(f"{_name(active)} at {place}") for place, _ in active.edits]
    parts = []
    for part in X.split(ROWS_TOGETHER):
        for report, (_, eraser) in zip(reports, active.edits, strict=True):
            before, part = part, eraser.apply(part)
            report.record(eraser, before, part)
        parts.append(part)
    for report in reports:
        report.check()
        if reports_of_all is not None:
            add_report(reports_of_all, report)
    return torch.cat(parts)


def _stacked(group: Sequence[tuple[tuple[str, str], torch.Tensor]]) -> tuple[Axis, torch.Tensor]:
    return [pair for pair, _ in group], torch.stack([X for _, X in group])


def _name(active: Active) -> str:
    return active.method if active.setting == NO_SETTING else f"{active.method} {active.setting}"
