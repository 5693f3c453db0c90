"""The methods that were fitted to one model: where which eraser acts, in the order of the axis of readouts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.encoders.stored import CARRIED
from biasflow.erasers.eraser import Eraser, load_erasers, load_metadata, save_erasers
from biasflow.methods.controls import control_of
from biasflow.methods.grid import Setting, Subspaces, edits_of, name_of_setting, setting_named

NONE, NO_SETTING = "none", "-"  # the method that leaves a model as it is; the setting of a method that has only one
Specification = Mapping[str, object] | Sequence[Mapping[str, object]]  # a method as the configuration has it


@dataclass(frozen=True)
class Active:
    """A method in one setting: the edits (place, eraser) that it makes in every forward pass; see `edit.edited`."""

    method: str
    setting: str = NO_SETTING
    edits: tuple[tuple[str, Eraser], ...] = ()


@dataclass(frozen=True)
class Grid:
    """Settings of Dawkins et al. (2024) under the name of a method, and the subspaces that they share."""

    method: str
    settings: tuple[Setting, ...]
    subspaces: Subspaces

    def every_setting(self) -> Iterator[Active]:
        """Yield every setting with its edits."""
        for setting in self.settings:
            yield Active(self.method, name_of_setting(setting), edits_of(setting, self.subspaces))


@dataclass(frozen=True)
class Fitted:
    """The methods fitted to one model, by name, in order.

    methods: an ordinary one is a tuple of its settings; one of paper B's is a Grid, without its Base, which is the
    method NONE. specifications: the method as the configuration has it, stored for people who open the file. tables,
    facts: about the data that was fitted to; written to other files. reasons: why a method could not be fitted
    to this model (a place is missing), by the method's name."""

    methods: Mapping[str, tuple[Active, ...] | Grid]
    specifications: Mapping[str, Specification]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def axis(self) -> tuple[tuple[str, str], ...]:
        """(method, setting) of all settings, in the order of `every_setting`: the axis of readouts."""
        return tuple((active.method, active.setting) for active in self.every_setting())

    @property
    def hooked(self) -> tuple[Active, ...]:
        """The settings of ordinary methods, which run by hooks; NONE is one of them if it was asked for."""
        return tuple(active for method in self.methods.values() if not isinstance(method, Grid) for active in method)

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The methods that are grids of paper B."""
        return tuple(method for method in self.methods.values() if isinstance(method, Grid))

    def with_draws(self, most: int | None) -> "Fitted":
        """The same methods, of each control the first draws, at most so many (None: all)."""
        controls = {name: method[:most] for name, method in self.methods.items() if control_of(name) is not None}
        return replace(self, methods={**self.methods, **controls})

    def every_setting(self) -> Iterator[Active]:
        """Yield every method in every setting, in the order of the axis."""
        for method in self.methods.values():
            yield from method.every_setting() if isinstance(method, Grid) else method


def save(fitted: Fitted, path: str | Path) -> None:
    """Write all methods but NONE, with their specifications, as one safetensors file."""
    erasers: dict[str, Eraser] = {}
    methods: dict[str, dict[str, object]] = {}
    for name, method in fitted.methods.items():
        if name == NONE:
            continue
        methods[name] = {"specification": fitted.specifications[name]}
        if isinstance(method, Grid):
            keys = sorted(method.subspaces.erasers)
            erasers |= {_key(name, number): method.subspaces.erasers[key] for number, key in enumerate(keys)}
            methods[name] |= {
                "grid": [name_of_setting(setting) for setting in method.settings],
                "sequential": method.subspaces.sequential,
                "subspaces": keys,
            }
        else:
            edits = [(active.setting, *edit) for active in method for edit in active.edits]
            erasers |= {_key(name, number): eraser for number, (*_, eraser) in enumerate(edits)}
            methods[name]["edits"] = [(setting, place) for setting, place, _ in edits]
    save_erasers(erasers, path, {"methods": json.dumps(methods), "reasons": json.dumps(dict(fitted.reasons))})


def load(path: str | Path | None, names: Sequence[str] | None = None) -> Fitted:
    """Read the methods of these names, in this order, NONE included if it is named; without names all of the file.

    path may be None if only NONE is named. BiasflowError: a damaged file, or a method that it lacks."""
    stored = {} if path is None else _stored(path)
    names = tuple(stored) if names is None else tuple(names)
    missing = [name for name in names if name != NONE and name not in stored]
    if missing:
        where = f"{path} has {', '.join(stored) or 'no method'}" if path else "no file of methods was given"
        raise BiasflowError(f"method {missing[0]}: {where}; fit the block again")
    keys = [_key(name, i) for name in names if name != NONE for i in range(len(_parts(stored[name])))]
    erasers = load_erasers(path, keys) if keys else {}
    methods = {name: _restored(name, stored[name], erasers) if name != NONE else (Active(NONE),) for name in names}
    return Fitted(methods, {name: stored[name]["specification"] if name != NONE else [] for name in names})


def stored_names(path: str | Path) -> list[str]:
    """The names of the methods in a file; BiasflowError for one of another kind."""
    return list(_stored(path))


def carried(folder: str | Path) -> Fitted | None:
    """Read the method that was active while the model in `folder` was trained; None if there was none."""
    path = Path(folder) / CARRIED
    return load(path) if path.is_file() else None


def _key(method: str, number: int) -> str:
    return f"{method}/{number}"


def _parts(stored: Mapping) -> Sequence[tuple[str, str]]:
    """The keys of a method's erasers: (name, upstream) in a grid, otherwise (setting, place)."""
    return [tuple(part) for part in stored["subspaces" if "grid" in stored else "edits"]]


def _restored(name: str, stored: Mapping, erasers: Mapping[str, Eraser]) -> tuple[Active, ...] | Grid:
    parts = [(*part, erasers[_key(name, number)]) for number, part in enumerate(_parts(stored))]
    if "grid" in stored:
        subspaces = Subspaces({(place, upstream): eraser for place, upstream, eraser in parts}, stored["sequential"])
        return Grid(name, tuple(setting_named(setting) for setting in stored["grid"]), subspaces)
    settings = dict.fromkeys(setting for setting, *_ in parts)
    return tuple(
        Active(name, setting, tuple((place, eraser) for active_in, place, eraser in parts if active_in == setting))
        for setting in settings
    )


def _stored(path: str | Path) -> dict[str, dict]:
    try:
        return json.loads(load_metadata(path)["methods"])
    except (KeyError, ValueError) as error:
        raise BiasflowError(f"{path}: not a file of fitted methods ({error}); delete it and run again") from error
