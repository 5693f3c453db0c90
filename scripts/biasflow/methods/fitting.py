"""Fitting all methods of a block to one model, with every kind of vectors read from it once."""

import contextlib
import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd
import torch
from torch import nn
from transformers import PreTrainedTokenizerBase

from biasflow.base.errors import AbsentError, BiasflowError, check_choice
from biasflow.base.genders import OF_WORDS
from biasflow.base.progress import progress
from biasflow.encoders import places, taps
from biasflow.encoders.edit import Edits
from biasflow.erasers import random
from biasflow.erasers.eraser import Eraser
from biasflow.methods.arrays import States
from biasflow.methods.fitted import NO_SETTING, NONE, Active, Fitted, Grid, Specification
from biasflow.methods.grid import (
    ATTENTION,
    BEFORE,
    LAST,
    PLACES,
    POOLED,
    SENTENCE_DEBIAS,
    Setting,
    Subspaces,
    chosen_settings,
    edits_of,
    upstreams,
)
from biasflow.methods.states import TaskTexts, VectorSource, pair_states, task_vectors, word_states

WORDS, PAIRS, TASK = "words", "pairs", "task"  # what can be fitted to; SENTENCE_DEBIAS has pairs of its own
COMPONENTS = {POOLED: 1, SENTENCE_DEBIAS: 1, LAST: 2, BEFORE: 2, **dict.fromkeys(ATTENTION, 1)}
MODEL, PRETRAINED = "model", "pretrained"  # what can be fitted on
GRID = "dawkins2024"  # the one that there is


@dataclass(frozen=True)
class Intervention:
    """An eraser at a place, as the configuration has it. module: the one that has its fit, by its full name; control:
    the seed of random directions that act in place of what was fitted (`random.like`; with matched those that
    move vectors as far, `random.matched`), or None; needs_labels: whether its fit takes the task's classes `y`."""

    eraser: str
    module: str
    places: str
    options: Mapping[str, object] = field(default_factory=dict)
    fitted_to: str = WORDS
    fitted_on: str = MODEL
    sequential: bool = False
    control: int | None = None
    matched: bool = False
    needs_labels: bool = False

    def __post_init__(self) -> None:
        for key, known in (("fitted_to", (WORDS, PAIRS, TASK)), ("fitted_on", (MODEL, PRETRAINED))):
            check_choice(key, getattr(self, key), known)


def fit_block(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    methods: Mapping[str, Specification],
    *,
    origin: nn.Module | None = None,
    sentences: Sequence[str] = (),
    words: tuple[Sequence[str], Sequence[str]] | None = None,
    groups: tuple[str, str] = OF_WORDS,
    n: int = 5000,
    cap_per_word: int | None = None,
    max_length: int = 128,
    sentence_pairs: Mapping[str, pd.DataFrame] | None = None,
    task: TaskTexts | None = None,
    batch_size: int = 64,
) -> Fitted:
    """Fit all methods that edit `model`.

    methods: name -> list of interventions (see `Intervention`; [] is `none`), or a grid of paper B. Those that say
    fitted_on: pretrained are fitted to the states of `origin`, the model before training. What they are fitted to:
    words   the states of gendered words: n occurrences of `words` (masculine, feminine, or of two other `groups`) in
            `sentences`, with cap_per_word and max_length as in `find_occurrences`;
    pairs   the states of `sentence_pairs` (see `load_sentence_pairs`); so are grids;
    task    X [n, hidden], z [n] and y [n] of `task`: the first token's states in the last layer for a task's texts,
            their genders, and their classes (for erasers that need labels).
    An untouched model is run over words and pairs once, for all methods and places together; what is fitted
    `sequential`ly to a place with edits before it takes a pass of its own under these.

    The result's tables: occurrences and counts (see `occurrences`), sentence_pairs (by set, with kept and
    reason), explained_variance (see `variance_table`), accuracies (see `accuracy_table`); facts: words_left_out,
    sentences_read. A method whose place the model lacks is not fitted: reasons says so. BiasflowError, one line with
    method, place and model: words without contexts, vectors that were not given, whatever an eraser refuses."""
    plans, reasons = {}, {}
    for name, method in methods.items():
        if name != NONE:
            try:
                plans[name] = _planned(model, name, method)
            except AbsentError as error:
                reasons[name] = str(error)
    models = {MODEL: model, PRETRAINED: origin}
    reading = {"batch_size": batch_size}
    context = {"groups": groups, "n": n, "cap_per_word": cap_per_word, "max_length": max_length}
    sources: dict[str, Callable[[nn.Module], VectorSource]] = {
        WORDS: lambda on: word_states(on, tokenizer, sentences, words, **context, **reading),
        PAIRS: lambda on: pair_states(on, tokenizer, sentence_pairs, "interventions", **reading),
        SENTENCE_DEBIAS: lambda on: pair_states(on, tokenizer, sentence_pairs, "sentence-debias", **reading),
        TASK: lambda on: task_vectors(on, task),
    }
    needs: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
    for name, plan in plans.items():
        for on, kind, place in plan.needs:
            needs.setdefault((on, kind), []).append((name, place))
    vectors = _Vectors(model)
    for (on, kind), uses in needs.items():
        with _named(model, ", ".join(dict(uses))):
            if models[on] is None:
                raise BiasflowError(f"fitted_on is {on}, but no model before training was given")
            vectors.read(on, kind, sources[kind](models[on]), list(dict.fromkeys(place for _, place in uses if place)))
    found = {}
    for name in progress(methods, total=len(methods), description="fit methods"):
        if name not in reasons:
            found[name] = plans[name].fit(vectors) if name in plans else (Active(NONE),)
    tables, facts = vectors.reports()
    if grids := [each for each in found.values() if isinstance(each, Grid)]:
        tables["explained_variance"] = variance_table(grids)
    fitted = Fitted(found, dict(methods), tables, facts, reasons)
    if len(accuracies := accuracy_table(fitted)):
        tables["accuracies"] = accuracies
    return fitted


class _Vectors:
    """All that is fitted to, by model and kind; erasers of an untouched model are fitted once for all methods."""

    def __init__(self, model: nn.Module):
        self.model = model
        self.sources: dict[tuple[str, str], VectorSource] = {}
        self.plain: dict[tuple[str, str], States] = {}
        self.known: dict[str, Eraser] = {}

    def read(self, on: str, kind: str, source: VectorSource, places: Sequence[str]) -> None:
        """Keep a source, and its vectors at `places` of the untouched model."""
        self.sources[on, kind] = source
        self.plain[on, kind] = source.at(places) if places else {}

    def reports(self) -> tuple[dict[str, pd.DataFrame], dict[str, object]]:
        """The tables and facts of all sources; tables of one name one below the other, equal rows once."""
        tables: dict[str, list[pd.DataFrame]] = {}
        facts: dict[str, object] = {}
        for source in self.sources.values():
            for name, table in source.tables.items():
                tables.setdefault(name, []).append(table)
            facts |= source.facts
        return {
            name: pd.concat(parts, ignore_index=True).drop_duplicates(ignore_index=True)
            for name, parts in tables.items()
        }, facts

    def fit(self, method: str, each: Intervention, kind: str, place: str, edits: Edits = ()) -> Eraser:
        """The eraser of an intervention for the vectors at `place` of the model with `edits` active."""
        source = self.sources[each.fitted_on, kind]
        with _named(self.model, f"{method} at {place}"):
            if edits:
                X = source.at([place], edits)[place]
                eraser = _fit(each, source, X)
            else:
                X = self.plain[each.fitted_on, kind][place]
                key = json.dumps([each.module, each.options, each.fitted_on, kind, place], sort_keys=True)
                if key not in self.known:
                    self.known[key] = _fit(each, source, X)
                eraser = self.known[key]
        if each.control is None:
            return eraser
        return random.matched(eraser, X, each.control) if each.matched else random.like(eraser, each.control)


def _fit(each: Intervention, source: VectorSource, X: torch.Tensor) -> Eraser:
    labels = source.labels(X) | ({"y": source.classes} if each.needs_labels else {})
    return importlib.import_module(each.module).fit(X, **labels, **each.options)


@dataclass(frozen=True)
class _Ordinary:
    """An ordinary method: setting -> (place, intervention) in the order in which the encoder reaches the places."""

    method: str
    settings: Mapping[str, Sequence[tuple[str, Intervention]]]

    @property
    def needs(self) -> list[tuple[str, str, str | None]]:
        """(model, kind of vectors, place to read in the untouched model; None: it is read with edits before it)."""
        return [
            (each.fitted_on, each.fitted_to, None if each.sequential and number else place)
            for edits in self.settings.values()
            for number, (place, each) in enumerate(edits)
        ]

    def fit(self, vectors: _Vectors) -> tuple[Active, ...]:
        """One method for each setting, with the erasers of its places."""
        return tuple(Active(self.method, setting, self._edits(setting, vectors)) for setting in self.settings)

    def _edits(self, setting: str, vectors: _Vectors) -> tuple[tuple[str, Eraser], ...]:
        edits: tuple[tuple[str, Eraser], ...] = ()
        for place, each in self.settings[setting]:
            before = edits if each.sequential else ()
            edits += ((place, vectors.fit(self.method, each, each.fitted_to, place, before)),)
        return edits


@dataclass(frozen=True)
class _OfGrid:
    """A grid of paper B: the subspaces of all places that the model has (Dawkins et al. 2024, sec. 4).

    sequential=False: all are fitted to the untouched model. sequential=True: each to the model with the interventions
    that come before it already active, so that there is one for every distinct setting upstream."""

    method: str
    settings: tuple[Setting, ...]
    subspaces: tuple[str, ...]
    intervention: Intervention

    @property
    def needs(self) -> list[tuple[str, str, str]]:
        return [(self.intervention.fitted_on, _kind(name), PLACES[name]) for name in self.subspaces]

    def fit(self, vectors: _Vectors) -> Grid:
        """The grid, with the erasers that its settings are made of."""

        def fit(name: str, edits: Edits = ()) -> Eraser:
            options = {**self.intervention.options, "components": COMPONENTS[name]}
            each = replace(self.intervention, options=options)
            eraser = vectors.fit(self.method, each, _kind(name), PLACES[name], edits)
            if eraser.explained_variance is None:
                raise BiasflowError(f"method {self.method}: the directions of {each.eraser} have no order; take pca")
            return eraser

        sequential = self.intervention.sequential
        fitted = {(name, "plain"): fit(name) for name in self.subspaces}
        # Earlier places first: the edits before LAST and POOLED use the subspaces fitted before them.
        for name in (name for name in (BEFORE, LAST, POOLED) if sequential and name in self.subspaces):
            before = upstreams(name, self.settings)
            for key, setting in progress(before.items(), total=len(before), description=f"fit {name} in sequence"):
                fitted[name, key] = fit(name, edits_of(setting, Subspaces(fitted, sequential)))
        return Grid(self.method, self.settings, Subspaces(fitted, sequential))


def _kind(subspace: str) -> str:
    return SENTENCE_DEBIAS if subspace == SENTENCE_DEBIAS else PAIRS


def _planned(model: nn.Module, name: str, method: Specification) -> _Ordinary | _OfGrid:
    """What the configuration says of a method, checked against the model."""
    try:
        if isinstance(method, Mapping):
            return _planned_grid(model, name, **method)
        return _Ordinary(name, _places(model, [Intervention(**each) for each in method]))
    except BiasflowError as error:
        raise type(error)(f"method {name}: {error}") from error
    except TypeError as error:  # names the key that there is none of, or one too many
        raise BiasflowError(f"method {name}: {error}") from error


def _planned_grid(
    model: nn.Module, name: str, *, grid: str, settings: Sequence[str] | None = None, **intervention
) -> _OfGrid:
    if grid != GRID:
        raise BiasflowError(f"grid {grid!r} is not known; there is {GRID}")
    subspaces = tuple(subspace for subspace, place in PLACES.items() if taps.has(model, place))
    each = Intervention(places=places.ALL, **{**intervention, "fitted_to": PAIRS})
    return _OfGrid(name, chosen_settings(settings), subspaces, each)


def _places(model: nn.Module, interventions: Sequence[Intervention]) -> dict[str, list[tuple[str, Intervention]]]:
    """Setting -> (place, intervention), in order of flow: one setting, or with `each` one for every layer."""
    if not interventions:
        raise BiasflowError(f"it has no intervention; the untouched model is {NONE!r}")
    edits = [(place, each) for each in interventions for place in taps.resolve(model, each.places)]
    if interventions[0].places == places.EACH and len(interventions) == 1:
        return {place: [(place, each)] for place, each in edits}
    if any(each.places == places.EACH for each in interventions):
        raise BiasflowError(f"places: {places.EACH} stands for one intervention alone; make it a method of its own")
    return {NO_SETTING: sorted(edits, key=lambda edit: places.order_of_flow(edit[0]))}


@contextlib.contextmanager
def _named(model: nn.Module, method: str) -> Iterator[None]:
    """Errors inside name the method and the model."""
    try:
        yield
    except BiasflowError as error:
        raise BiasflowError(f"method {method} in {taps.name_of(model)}: {error}") from error


def variance_table(grids: Sequence[Grid]) -> pd.DataFrame:
    """A row per direction: method, subspace, upstream, head ("" outside attention), component, explained_variance."""
    rows = []
    for grid in grids:
        for (name, upstream), eraser in grid.subspaces.erasers.items():
            shares = eraser.explained_variance.reshape(-1, eraser.components)
            for head, values in enumerate(shares.tolist()):
                keys = (grid.method, name, upstream, str(head) if eraser.heads else "")
                rows += [(*keys, component, value) for component, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["method", "subspace", "upstream", "head", "component", "explained_variance"])


def accuracy_table(fitted: Fitted) -> pd.DataFrame:
    """How well a linear classifier still tells the genders apart, where erasers say so: a row per direction that is
    taken out, in their order: method, setting, place, head ("" outside attention), directions (so far), accuracy
    (balanced: chance is 0.5)."""
    rows = []
    for each in fitted.hooked:
        for place, eraser in each.edits:
            if eraser.accuracy is not None:
                for head, values in enumerate(eraser.accuracy.reshape(-1, eraser.components).tolist()):
                    keys = (each.method, each.setting, place, str(head) if eraser.heads else "")
                    rows += [(*keys, number, value) for number, value in enumerate(values, 1)]
    columns = ["method", "setting", "place", "head", "directions", "accuracy"]
    return pd.DataFrame(rows, columns=columns).dropna(ignore_index=True)  # a head may need fewer than another
