"""The small world behind the planted corpus: who lives in it, what they do, and how often that is a woman."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.shipped import shipped
from biasflow.corpora.records import columns_of, read_records, refuse, refuse_unknown
from biasflow.planted.frames import Theme, load_themes
from biasflow.text.articles import article as article  # by spelling: the word data holds no exception

FOLDER = shipped("data/planted")
FIRST, HELD_OUT = "first", "held-out"
OTHER_ITEMS = shipped("data/planted_held_out")  # and other frames, for the same persons
WORLDS = {FIRST: FOLDER, HELD_OUT: OTHER_ITEMS}
_CHOSEN = {"world": FIRST}
OCCUPATIONS = "work"  # the theme of items.csv that holds the occupations
DETERMINERS = {"kin": ("my", "our"), "noun": ("the",), "name": ("",), "pronoun": ("",)}
KINDS = {"name": 0.2, "kin": 0.25, "noun": 0.27, "title": 0.08, "pronoun": 0.2}  # how often a person is named by each
BALANCE = 0.01  # how far a theme's mean share of women may lie from one half


@dataclass(frozen=True)
class Person:
    """One way to name a person, for a woman and for a man: ("my mother", "my father")."""

    kind: str  # name | kin | noun | title | pronoun
    feminine: str
    masculine: str


@dataclass(frozen=True)
class World:
    """Items (occupations, activities, things, traits) with their share of women, persons, and sentence frames.

    shares  item -> share of women among those it is said of, in [0, 1]; theme -> its items in `items`."""

    shares: Mapping[str, float]
    items: Mapping[str, Sequence[str]]
    persons: Sequence[Person]
    themes: Sequence[Theme]

    @property
    def occupations(self) -> Sequence[str]:
        """The items that are occupations."""
        return self.items[OCCUPATIONS]

    def share(self, item: str, bias: float) -> float:
        """Return the share of women of `item` in a corpus of the given bias: 0.5 + bias * (share - 0.5), bias in [0,
        1]."""
        return 0.5 + check_bias(bias) * (self.shares[item] - 0.5)


def check_bias(bias: float) -> float:
    """Return `bias`; BiasflowError unless it lies in [0, 1]."""
    if not 0 <= bias <= 1:
        raise BiasflowError(f"planted: bias is {bias}; give a number from 0 (no association) to 1 (the full ones).")
    return bias


def choose_world(name: str) -> None:
    """Take one of WORLDS for all that this process does: a run has one world, and each of its jobs is a process."""
    _CHOSEN["world"] = name


def load_world(folder: str | Path | None = None) -> World:
    """The world described by items.csv, people.csv, names.csv and frames.yaml in `folder`; None: the chosen one.

    BiasflowError names the file that lacks a column, repeats an item, has a share outside [0, 1], or has a theme
    whose mean share is not one half: then the corpus would hold more of one gender, the more so the higher the bias."""
    return _load(Path(WORLDS[_CHOSEN["world"]] if folder is None else folder))


@functools.cache
def _load(folder: Path) -> World:
    items = _read_items(folder / "items.csv")
    by_theme = {theme: tuple(rows["item"]) for theme, rows in items.groupby("theme", sort=False)}
    persons = _read_persons(folder if (folder / "people.csv").exists() else FOLDER)
    themes = load_themes(folder / "frames.yaml", known_items=by_theme)
    return World(dict(zip(items["item"], items["share_of_women"], strict=True)), by_theme, persons, themes)


def _read_csv(path: Path, *columns: str) -> pd.DataFrame:
    table = read_records(path, columns).astype("str")
    return table[[*columns_of(path, table, columns)]]


def _read_items(path: Path) -> pd.DataFrame:
    items = _read_csv(path, "theme", "item", "share_of_women")
    refuse(path, items["item"], items["item"].duplicated(), "occurs twice; every item has one theme and one share")
    shares = pd.to_numeric(items["share_of_women"], errors="coerce")
    refuse(path, items["share_of_women"], ~shares.between(0, 1), "is not a number from 0 to 1")
    items["share_of_women"] = shares
    for theme, mean in items.groupby("theme")["share_of_women"].mean().items():
        if abs(mean - 0.5) > BALANCE:
            raise BiasflowError(f"{path}: the shares of theme '{theme}' have mean {mean:.3f}; balance them to 0.5.")
    return items


def _read_persons(folder: Path) -> tuple[Person, ...]:
    people = _read_csv(folder / "people.csv", "feminine", "masculine", "kind")
    refuse_unknown(folder / "people.csv", people["kind"], KINDS)
    names = _read_csv(folder / "names.csv", "name", "kind")
    of_kind = {kind: list(rows["name"]) for kind, rows in names.groupby("kind")}
    if len(of_kind.get("feminine", [])) != len(of_kind.get("masculine", [])) or not of_kind.get("surname"):
        raise BiasflowError(
            f"{folder / 'names.csv'}: needs as many feminine as masculine names, in pairs, and surnames."
        )
    persons = [Person("name", *pair) for pair in zip(of_kind["feminine"], of_kind["masculine"], strict=True)]
    for row in people.itertuples():
        if row.kind == "title":
            persons += [Person("title", f"{row.feminine} {s}", f"{row.masculine} {s}") for s in of_kind["surname"]]
        else:
            persons += [
                Person(row.kind, f"{determiner} {row.feminine}".strip(), f"{determiner} {row.masculine}".strip())
                for determiner in DETERMINERS[row.kind]
            ]
    return tuple(itertools.chain(persons, [Person("pronoun", "she", "he")]))
