"""Fit all methods of a block to one model, reading every kind of vectors from it only once."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import nn
from transformers import PreTrainedTokenizerBase

from biasflow.base.by_name import module_named
from biasflow.base.errors import AbsentError, BiasflowError
from biasflow.base.genders import OF_WORDS
from biasflow.base.progress import progress
from biasflow.corpora.documents import read_sentences
from biasflow.encoders import places, taps
from biasflow.encoders.edit import Edits
from biasflow.erasers import random
from biasflow.erasers.eraser import Eraser
from biasflow.methods.controls import MATCHED, draw_name
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
from biasflow.methods.states import (
    SentenceStates,
    States,
    TaskTexts,
    VectorSource,
    pair_states,
    task_vectors,
    token_states,
    with_tokens,
    word_states,
)
from biasflow.stimuli.gendered_words import read_word_groups
from biasflow.text.sentence_pairs import load_sentence_pairs

log = logging.getLogger(__name__)

SENTENCES_OF = "sentences of "  # words, pairs or a task: what is fitted at the place `sentence`
WORDS, PAIRS, TASK = "words", "pairs", "task"  # values of fitted_to; SENTENCE_DEBIAS has its own pairs
TOKENS = "tokens"  # of the texts in which the words occur: what a matched control moves as far as its method does
COMPONENTS = {POOLED: 1, SENTENCE_DEBIAS: 1, LAST: 2, BEFORE: 2, **dict.fromkeys(ATTENTION, 1)}
MODEL, PRETRAINED = "model", "pretrained"  # values of fitted_on
MOVED = 1000  # vectors that tell how far an eraser moves them
Files = Mapping[str, Sequence[str | Path]]


@dataclass(frozen=True)
class Intervention:
    """An eraser at places, as the configuration describes it.

    module: the full name of the eraser's module; control: the seed of random directions that replace the fitted ones
    (`random.like`; with `matched` those that move vectors as far, `random.matched`), or with `permuted` of the genders
    that it is fitted to (`permuted_within`), seeds for a setting each, or None; needs_labels: whether its fit takes the
    task's classes `y`; balanced: whether it is fitted to as many vectors of either gender in every class;
    class_centred: whether it is fitted to gender minus its share in the class (with `y`)."""

    eraser: str
    module: str
    places: str
    options: Mapping[str, object] = field(default_factory=dict)
    fitted_to: str = WORDS
    fitted_on: str = MODEL
    sequential: bool = False
    control: int | Sequence[int] | None = None
    matched: bool = False
    permuted: bool = False
    needs_labels: bool = False
    balanced: bool = False
    class_centred: bool = False


def fitting_arguments(fit: Mapping, files: Files) -> dict[str, object]:
    """Return the arguments of `fit_block`, without the models and the vectors of a task.

    fit: methods, words ("planted", "family" or "own") and contexts (n, max_length, batch_size); files by
    role: sentence_pairs, and where methods are fitted to words text and, unless the words are embedded, words."""
    arguments = {"methods": fit["methods"], **fit["contexts"]}
    arguments["sentence_pairs"] = load_sentence_pairs(files["sentence_pairs"][0])
    if files.get("text"):
        arguments["sentences"] = read_sentences(files["text"][0])
        arguments["groups"], arguments["words"] = read_word_groups(fit["words"], files.get("words", ()))
    return arguments


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
    max_length: int = 128,
    sentence_pairs: Mapping[str, pd.DataFrame] | None = None,
    task: Mapping[str, TaskTexts] = MappingProxyType({}),
    batch_size: int = 64,
) -> Fitted:
    """Fit all methods that edit `model`, and return their erasers by method, setting and place.

    methods: name -> list of interventions (see `Intervention`; [] is `none`), or a grid of paper B. Those with
    fitted_on: pretrained are fitted to the states of `origin`, the model before training. They are fitted to:
    words   the states of gendered words: n occurrences of `words` (masculine, feminine, or of two other `groups`) in
            `sentences`, with max_length as in `find_occurrences`;
    pairs   the states of `sentence_pairs` (see `load_sentence_pairs`); so are grids;
            of both, what acts at `sentence` is fitted to the vectors there of the sentences;
    task    X [n, hidden], z [n] and y [n] of `task`, which has them for each place that is edited so (last.cls, the
            first token's states in the last layer; pooled; sentence): the vectors there of a task's texts, their
            genders, and their classes (for erasers that need labels).
    An untouched model is run over words and pairs once, for all methods and places together. A `sequential` eraser
    whose place has edits before it needs another pass, with these edits active.

    The result's tables: occurrences and counts (see `occurrences`), sentence_pairs (by set, with kept and reason),
    explained_variance (see `variance_table`), accuracies (see `accuracy_table`), movements (see `movement_table`);
    facts: words_left_out, sentences_read; reasons: the methods that were not fitted because the model lacks their
    place. BiasflowError, one line with method, place and model: words without contexts, missing vectors, input that
    an eraser refuses."""
    plans, reasons = _planned(model, methods)
    reading = {"batch_size": batch_size}
    context = {"groups": groups, "n": n, "max_length": max_length}
    of_words = cache(lambda fitted_on: word_states(fitted_on, tokenizer, sentences, words, **context, **reading))
    of_pairs = cache(lambda fitted_on: pair_states(fitted_on, tokenizer, sentence_pairs, "interventions", **reading))
    sources: dict[str, Callable[[nn.Module], VectorSource]] = {
        WORDS: of_words,
        PAIRS: of_pairs,
        SENTENCES_OF + WORDS: lambda fitted_on: SentenceStates(of_words(fitted_on)),
        SENTENCES_OF + PAIRS: lambda fitted_on: SentenceStates(of_pairs(fitted_on)),
        SENTENCE_DEBIAS: lambda fitted_on: pair_states(
            fitted_on, tokenizer, sentence_pairs, "sentence-debias", **reading
        ),
        TASK: lambda fitted_on: task_vectors(fitted_on, task),
        SENTENCES_OF + TASK: lambda fitted_on: task_vectors(fitted_on, task, of_sentences=True),
    }
    vectors = _Vectors(model)
    vectors.read(plans, {MODEL: model, PRETRAINED: origin}, sources)
    active = {}
    for name in progress(methods, total=len(methods), description="fit methods"):
        if name not in reasons:
            active[name] = plans[name].fit(vectors) if name in plans else (Active(NONE),)
    tables, facts = vectors.reports()
    fitted = Fitted(active, dict(methods), tables, facts, reasons)
    if fitted.grids:
        tables["explained_variance"] = variance_table(fitted.grids)
    if len(accuracies := accuracy_table(fitted)):
        tables["accuracies"] = accuracies
    if len(movements := movement_table(fitted, vectors.of_model)):
        tables["movements"] = movements
    return fitted


class _Vectors:
    """All vectors to fit to, by model and kind; an eraser of the untouched model is fitted once for all methods, and
    what its matched draws share is worked out once."""

    def __init__(self, model: nn.Module):
        self.model = model
        self.sources: dict[tuple[str, str], VectorSource] = {}
        self.plain: dict[tuple[str, str], States] = {}
        self.known: dict[object, object] = {}

    def read(
        self,
        plans: Mapping[str, "_Ordinary | _OfGrid"],
        models: Mapping[str, nn.Module | None],
        sources: Mapping[str, Callable[[nn.Module], VectorSource]],
    ) -> None:
        """Store what the plans of methods need: by model and kind the source, and its vectors at their places of the
        untouched model; those of all tokens of the words' texts are read with the words."""
        needs: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
        for name, plan in plans.items():
            for fitted_on, kind, place in plan.needs:
                needs.setdefault((fitted_on, kind), []).append((name, place))
        places_of = {key: list(dict.fromkeys(place for _, place in uses if place)) for key, uses in needs.items()}
        for key, uses in needs.items():
            fitted_on, kind = key
            if kind == TOKENS:
                continue
            with _named(self.model, ", ".join(dict(uses))):
                if models[fitted_on] is None:
                    raise BiasflowError(f"fitted_on is {fitted_on}, but no model before training was given")
                source, at, tokens = sources[kind](models[fitted_on]), places_of[key], (fitted_on, TOKENS)
                self.sources[key] = source
                if kind == WORDS and tokens in needs:
                    self.sources[tokens] = token_states(source)
                    self.plain[key], every = with_tokens(source, self.sources[tokens], at) if at else ({}, {})
                    self.plain[tokens] = {place: every[place] for place in places_of[tokens]}
                else:
                    self.plain[key] = source.at(at) if at else {}

    @property
    def of_model(self) -> dict[str, States]:
        """Kind -> the vectors of the model that the methods edit."""
        return {kind: states for (fitted_on, kind), states in self.plain.items() if fitted_on == MODEL}

    def reports(self) -> tuple[dict[str, pd.DataFrame], dict[str, object]]:
        """The tables and facts of all sources; tables of one name are concatenated, without repeated rows."""
        tables: dict[str, list[pd.DataFrame]] = {}
        facts: dict[str, object] = {}
        for source in (source for (_, kind), source in self.sources.items() if kind != TOKENS):
            for name, table in source.tables.items():
                tables.setdefault(name, []).append(table)
            facts |= source.facts
        return {
            name: pd.concat(parts, ignore_index=True).drop_duplicates(ignore_index=True)
            for name, parts in tables.items()
        }, facts

    def fit(self, method: str, intervention: Intervention, kind: str, place: str, edits: Edits = ()) -> Eraser:
        """Fit the eraser of an intervention to the vectors at `place` of the model with `edits` active."""
        source = self.sources[intervention.fitted_on, kind]
        with _named(self.model, f"{method} at {place}"):
            at_place = source.at([place], edits) if edits else self.plain[intervention.fitted_on, kind]
            X, labels = _examples(intervention, source, at_place[place])
            method = intervention if intervention.permuted else replace(intervention, control=None, matched=False)
            key = None if edits else f"{kind} {replace(method, places=place, sequential=False)}"
            eraser = self._once(key, lambda: module_named(intervention.module).fit(X, **labels, **intervention.options))
            seed = intervention.control
            if seed is None or intervention.permuted:
                return eraser
            if not intervention.matched:
                return random.like(eraser, seed)
            draws = (key, MATCHED) if key else None
            moved = self._moved(intervention, kind, place, X, edits)
            return self._once(draws, lambda: random.matched(eraser, moved))(seed)

    def _once(self, key: object, make: Callable) -> object:
        """What `make` returns, made once for a key; anew where that is None."""
        if key is None:
            return make()
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]

    def _moved(self, intervention: Intervention, kind: str, place: str, X: torch.Tensor, edits: Edits) -> torch.Tensor:
        """The vectors at a place that a matched control moves as far as its method does: those that it is fitted to
        (X), or, of words, all tokens of their texts, as sentences and masks are read there, too."""
        if kind != WORDS:
            return X
        key = intervention.fitted_on, TOKENS
        return self.sources[key].at([place], edits)[place] if edits else self.plain[key][place]


def _examples(intervention: Intervention, source: VectorSource, X: torch.Tensor) -> tuple[torch.Tensor, dict]:
    """The vectors that an eraser is fitted to, and the other arguments of its fit that say what they are of."""
    takes_classes = intervention.needs_labels or intervention.class_centred
    labels = source.labels(X) | ({"y": source.classes} if takes_classes else {})
    if intervention.permuted:
        labels["z"] = permuted_within(labels["z"], source.classes, intervention.control)
    if not intervention.balanced:
        return X, labels
    rows = balanced_rows(labels["z"], source.classes)
    if left_out := sorted(set(np.asarray(source.classes)) - set(np.asarray(source.classes)[rows])):
        log.warning(
            "not balanced, because all are of one gender, and left out: class %s", ", ".join(map(str, left_out))
        )
    return X[rows], {name: values if values is None else values[rows] for name, values in labels.items()}


def balanced_rows(z: torch.Tensor, y: ArrayLike, seed: int = 0) -> np.ndarray:
    """Rows with as many of either gender z in every class y, [n] both: all of the rarer one, and as many of the other,
    drawn with `seed`; in ascending order. A class of one gender has none."""
    drawn = pd.DataFrame({"z": np.asarray(z, dtype=int), "y": np.asarray(y)}).sample(frac=1, random_state=seed)
    fewest = pd.crosstab(drawn["y"], drawn["z"]).reindex(columns=[0, 1], fill_value=0).min(axis=1)
    return np.sort(drawn.index[drawn.groupby(["y", "z"]).cumcount() < drawn["y"].map(fewest)])


def permuted_within(z: torch.Tensor, y: ArrayLike, seed: int) -> torch.Tensor:
    """Genders z [n] in random order within every class of y [n]: each class keeps its share, and no person a gender."""
    drawn = pd.Series(np.asarray(z)).groupby(np.asarray(y)).transform(np.random.default_rng(seed).permutation)
    return torch.tensor(drawn.to_numpy()).to(z)


@dataclass(frozen=True)
class _Ordinary:
    """An ordinary method: setting -> (place, intervention) in the order in which the encoder reaches the places."""

    method: str
    settings: Mapping[str, Sequence[tuple[str, Intervention]]]

    @property
    def needs(self) -> list[tuple[str, str, str | None]]:
        """(model, kind of vectors, place to read in the untouched model; None: it is read with edits before it)."""
        return [
            (intervention.fitted_on, kind, None if intervention.sequential and number else place)
            for edits in self.settings.values()
            for number, (place, intervention) in enumerate(edits)
            for own in [_vectors_of(intervention, place)]
            for kind in [own, *[TOKENS] * (intervention.matched and own == WORDS)]
        ]

    def fit(self, vectors: _Vectors) -> tuple[Active, ...]:
        """Fit one method for each setting, with the erasers of its places."""
        return tuple(Active(self.method, setting, self._edits(setting, vectors)) for setting in self.settings)

    def _edits(self, setting: str, vectors: _Vectors) -> tuple[tuple[str, Eraser], ...]:
        edits: tuple[tuple[str, Eraser], ...] = ()
        for place, intervention in self.settings[setting]:
            before = edits if intervention.sequential else ()
            kind = _vectors_of(intervention, place)
            edits += ((place, vectors.fit(self.method, intervention, kind, place, before)),)
        return edits


def _vectors_of(intervention: Intervention, place: str) -> str:
    """What kind of vectors an intervention is fitted to."""
    return SENTENCES_OF * (place == places.SENTENCE) + intervention.fitted_to


@dataclass(frozen=True)
class _OfGrid:
    """A grid of paper B: the subspaces of all places that the model has (Dawkins et al. 2024, sec. 4).

    sequential=False: all are fitted to the untouched model. sequential=True: every one is fitted with the interventions
    before it active, once for each distinct setting upstream."""

    method: str
    settings: tuple[Setting, ...]
    subspaces: tuple[str, ...]
    intervention: Intervention

    @property
    def needs(self) -> list[tuple[str, str, str]]:
        return [(self.intervention.fitted_on, _kind(name), PLACES[name]) for name in self.subspaces]

    def fit(self, vectors: _Vectors) -> Grid:
        """Fit the grid: the subspaces that its settings combine."""

        def fit(name: str, edits: Edits = ()) -> Eraser:
            options = {**self.intervention.options, "components": COMPONENTS[name]}
            intervention = replace(self.intervention, options=options)
            eraser = vectors.fit(self.method, intervention, _kind(name), PLACES[name], edits)
            if eraser.explained_variance is None:
                raise BiasflowError(
                    f"method {self.method}: the directions of {intervention.eraser} have no order; take pca"
                )
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


def _planned(
    model: nn.Module, methods: Mapping[str, Specification]
) -> tuple[dict[str, _Ordinary | _OfGrid], dict[str, str]]:
    """What is to be fitted for each method but `none`, and why others cannot be: the model lacks their place."""
    plans, reasons = {}, {}
    for name, method in methods.items():
        if name == NONE:
            continue
        try:
            if isinstance(method, Mapping):
                plans[name] = _planned_grid(model, name, **method)
            else:
                plans[name] = _Ordinary(name, _places(model, [Intervention(**options) for options in method]))
        except AbsentError as error:
            reasons[name] = f"method {name}: {error}"
        except (BiasflowError, TypeError) as error:  # the latter names a missing or unknown key
            raise BiasflowError(f"method {name}: {error}") from error
    return plans, reasons


def _planned_grid(
    model: nn.Module, name: str, *, grid: str, settings: Sequence[str] | None = None, **intervention
) -> _OfGrid:
    subspaces = tuple(subspace for subspace, place in PLACES.items() if taps.has(model, place))
    options = {**intervention, "fitted_to": PAIRS}
    return _OfGrid(name, chosen_settings(settings), subspaces, Intervention(places=places.ALL, **options))


def _places(model: nn.Module, interventions: Sequence[Intervention]) -> dict[str, list[tuple[str, Intervention]]]:
    """Setting -> (place, intervention), in order of flow: one setting, or with `each` one for every layer, and of a
    control with several seeds one for every draw."""
    seeds = interventions[0].control
    if isinstance(seeds, Sequence):
        return {
            draw_name(seed): edits
            for seed in seeds
            for edits in _places(
                model, [replace(intervention, control=seed) for intervention in interventions]
            ).values()
        }
    edits = [
        (place, intervention) for intervention in interventions for place in taps.resolve(model, intervention.places)
    ]
    if interventions[0].places == places.EACH and len(interventions) == 1:
        return {place: [(place, intervention)] for place, intervention in edits}
    if any(intervention.places == places.EACH for intervention in interventions):
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
    """Return the variance that each direction explains, a row per direction: method, subspace, upstream, head (""
    outside attention), component, explained_variance."""
    rows = [
        (grid.method, *key, *of_direction)
        for grid in grids
        for key, eraser in grid.subspaces.erasers.items()
        for of_direction in _by_direction(eraser, eraser.explained_variance)
    ]
    return pd.DataFrame(rows, columns=["method", "subspace", "upstream", "head", "component", "explained_variance"])


def accuracy_table(fitted: Fitted) -> pd.DataFrame:
    """Return how well a linear classifier still predicts gender after each direction removed, for erasers that record
    it.

    Columns method, setting, place, head ("" outside attention), directions (removed so far), accuracy (balanced, in
    [0, 1]: chance is 0.5)."""
    rows = [
        (active.method, active.setting, place, head, number + 1, value)
        for active in fitted.hooked
        for place, eraser in active.edits
        for head, number, value in _by_direction(eraser, eraser.accuracy)
    ]
    columns = ["method", "setting", "place", "head", "directions", "accuracy"]
    return pd.DataFrame(rows, columns=columns).dropna(ignore_index=True)  # a head may need fewer than another


def _by_direction(eraser: Eraser, values: torch.Tensor | None) -> Iterator[tuple[str, int, float]]:
    """Head ("" where there are none), number of the direction, and what `values` [..., components] says of it."""
    for head, of_head in enumerate([] if values is None else values.reshape(-1, eraser.components).tolist()):
        for number, value in enumerate(of_head):
            yield str(head) if eraser.heads else "", number, value


def movement_table(fitted: Fitted, plain: Mapping[str, States]) -> pd.DataFrame:
    """Return how far each method, and each draw of its control, moves vectors of the untouched model: a row for each
    method, setting and place, with a column for each kind of vectors that were read there (words, pairs, task, and
    tokens, all those of the texts with the words).

    The mean of ||h' - h|| / ||h|| over about MOVED of the vectors. plain: kind -> place -> [n, d] or [n, heads, d]."""
    rows = []
    for each in fitted.hooked:
        for place, eraser in each.edits:
            row = {"method": each.method, "setting": each.setting, "place": place}
            for kind, states in plain.items():
                if place in states:
                    X = states[place][:: max(1, len(states[place]) // MOVED)]
                    row[kind] = float(((eraser.apply(X) - X).flatten(1).norm(dim=1) / X.flatten(1).norm(dim=1)).mean())
            rows.append(row)
    return pd.DataFrame(rows)
