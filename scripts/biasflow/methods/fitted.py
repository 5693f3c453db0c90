"""The methods that were fitted to one model: what each does where, in the order of the axis that readouts have."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.erasers.eraser import Eraser, load_erasers, load_metadata, save_erasers
from biasflow.methods.grid import Setting, Subspaces, edits_of, name_of_setting, setting_named

CARRIED = "methods.safetensors"  # in the folder of a model that was trained with a method active
NONE, NO_SETTING = "none", "-"  # the method that leaves a model as it is; the setting of a method that has but one
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

    def each(self) -> Iterator[Active]:
        """Every setting with its edits."""
        for setting in self.settings:
            yield Active(self.method, name_of_setting(setting), edits_of(setting, self.subspaces))


@dataclass(frozen=True)
class Fitted:
    """Methods by name, in order: an ordinary one is a tuple of its settings, one of paper B's is a Grid, which has no
    row for its Base: that is the method NONE.

    specifications: what the configuration says of each, kept for whoever opens the file. tables, facts: what `fitting`
    has to say of what was fitted to, for files beside this one; they are not in it. reasons: why a method could not be
    fitted to this model, which lacks its place, by the method's name."""

    methods: Mapping[str, tuple[Active, ...] | Grid]
    specifications: Mapping[str, Specification]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def axis(self) -> tuple[tuple[str, str], ...]:
        """(method, setting) of everything that `each` yields, in its order."""
        return tuple((each.method, each.setting) for each in self.each())

    @property
    def hooked(self) -> tuple[Active, ...]:
        """The settings of the ordinary methods, NONE among them if it is wanted."""
        return tuple(each for found in self.methods.values() if not isinstance(found, Grid) for each in found)

    @property
    def grids(self) -> tuple[Grid, ...]:
        return tuple(found for found in self.methods.values() if isinstance(found, Grid))

    def each(self) -> Iterator[Active]:
        """Every method in every setting, along the axis."""
        for found in self.methods.values():
            yield from found.each() if isinstance(found, Grid) else found


def save(fitted: Fitted, path: str | Path) -> None:
    """Write all methods but NONE, and what the configuration says of them, as one safetensors file."""
    erasers: dict[str, Eraser] = {}
    methods: dict[str, dict[str, object]] = {}
    for name, found in fitted.methods.items():
        if name == NONE:
            continue
        methods[name] = {"specification": fitted.specifications[name]}
        if isinstance(found, Grid):
            keys = sorted(found.subspaces.erasers)
            erasers |= {_key(name, number): found.subspaces.erasers[key] for number, key in enumerate(keys)}
            methods[name] |= {
                "grid": [name_of_setting(setting) for setting in found.settings],
                "sequential": found.subspaces.sequential,
                "subspaces": keys,
            }
        else:
            edits = [(each.setting, *edit) for each in found for edit in each.edits]
            erasers |= {_key(name, number): eraser for number, (*_, eraser) in enumerate(edits)}
            methods[name]["edits"] = [(setting, place) for setting, place, _ in edits]
    save_erasers(erasers, path, {"methods": json.dumps(methods), "reasons": json.dumps(dict(fitted.reasons))})


def load(path: str | Path | None, names: Sequence[str] | None = None) -> Fitted:
    """The methods of those names, in that order, NONE among them if it is named; all of the file's without names.

    path may be None where nothing but NONE is wanted. BiasflowError: a damaged file, or a method that it lacks."""
    stored = {} if path is None else _read_json(path, load_metadata(path))
    names = tuple(stored) if names is None else tuple(names)
    missing = [name for name in names if name != NONE and name not in stored]
    if missing:
        where = f"{path} has {', '.join(stored) or 'no method'}" if path else "no file of methods was given"
        raise BiasflowError(f"method {missing[0]}: {where}; fit the block again")
    keys = [_key(name, i) for name in names if name != NONE for i in range(len(_parts(stored[name])))]
    erasers = load_erasers(path, keys) if keys else {}
    methods = {name: _restored(name, stored[name], erasers) if name != NONE else (Active(NONE),) for name in names}
    return Fitted(methods, {name: stored[name]["specification"] if name != NONE else [] for name in names})


def carried(folder: str | Path) -> Fitted | None:
    """The method that was active when the model in `folder` was trained, None if none was."""
    path = Path(folder) / CARRIED
    return load(path) if path.is_file() else None


def _key(method: str, number: int) -> str:
    return f"{method}/{number}"


def _parts(stored: Mapping) -> Sequence[tuple[str, str]]:
    """What tells one eraser of a method from another: (name, upstream) in a grid, otherwise (setting, place)."""
    return [tuple(part) for part in stored["subspaces" if "grid" in stored else "edits"]]


def _restored(name: str, stored: Mapping, erasers: Mapping[str, Eraser]) -> tuple[Active, ...] | Grid:
    parts = [(*part, erasers[_key(name, number)]) for number, part in enumerate(_parts(stored))]
    if "grid" in stored:
        subspaces = Subspaces({(place, upstream): eraser for place, upstream, eraser in parts}, stored["sequential"])
        return Grid(name, tuple(setting_named(setting) for setting in stored["grid"]), subspaces)
    settings = dict.fromkeys(setting for setting, *_ in parts)
    return tuple(
        Active(name, setting, tuple((place, eraser) for its, place, eraser in parts if its == setting))
        for setting in settings
    )


def _read_json(path: str | Path, metadata: Mapping[str, str]) -> dict[str, dict]:
    try:
        return json.loads(metadata["methods"])
    except (KeyError, ValueError) as error:
        raise BiasflowError(f"{path}: not a file of fitted methods ({error}); delete it and run again") from error
