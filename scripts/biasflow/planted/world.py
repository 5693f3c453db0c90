"""The small world behind the planted corpus: who lives in it, what they do, and how often that is a woman."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from biasflow.base.genders import FEMALE
from biasflow.base.shipped import shipped
from biasflow.planted.frames import Theme, load_themes
from biasflow.text.articles import article as article  # by spelling: the word data holds no exception

FOLDER = shipped("data/planted")
FIRST, HELD_OUT = "first", "held-out"
OTHER_ITEMS = shipped("data/planted_held_out")  # and other frames, for the same persons
WORLDS = {FIRST: FOLDER, HELD_OUT: OTHER_ITEMS}
_CHOSEN = {"world": FIRST}
OCCUPATIONS = "work"  # the theme of items.csv that holds the occupations
NAMED_BY = ("noun", "kin")  # the kinds of persons in the tests: "the woman", "my mother"
DETERMINERS = {"kin": ("my", "our"), "noun": ("the",), "name": ("",), "pronoun": ("",)}
KINDS = {"name": 0.2, "kin": 0.25, "noun": 0.27, "title": 0.08, "pronoun": 0.2}  # how often a person is named by each


@dataclass(frozen=True)
class Person:
    """One way to name a person, for a woman and for a man: ("my mother", "my father")."""

    kind: str  # name | kin | noun | title | pronoun
    feminine: str
    masculine: str

    def named(self, gender: str) -> str:
        """The name for a person of this gender (F or M)."""
        return self.feminine if gender == FEMALE else self.masculine


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

    @property
    def nouns(self) -> list[tuple[str, str]]:
        """The nouns for a man and a woman that differ ("father", "mother"), each pair once."""
        persons = (person for person in self.persons if person.kind in NAMED_BY)
        pairs = dict.fromkeys((person.masculine.split()[-1], person.feminine.split()[-1]) for person in persons)
        return [(masculine, feminine) for masculine, feminine in pairs if masculine != feminine]

    def share(self, item: str, bias: float) -> float:
        """Return the share of women of `item` in a corpus of the given bias: 0.5 + bias * (share - 0.5), bias in [0,
        1]."""
        return 0.5 + bias * (self.shares[item] - 0.5)


def choose_world(name: str) -> None:
    """Take one of WORLDS for all that this process does: a run has one world, and each of its jobs is a process."""
    _CHOSEN["world"] = name


def load_world() -> World:
    """The world that was chosen, described by items.csv, people.csv, names.csv and frames.yaml in its folder.

    A theme's mean share of women is about one half: otherwise the corpus would hold more of one gender, the more so the
    higher the bias (tests/unit/planted/test_world.py)."""
    return _load(WORLDS[_CHOSEN["world"]])


@functools.cache
def _load(folder: Path) -> World:
    items = pd.read_csv(folder / "items.csv", keep_default_na=False)
    by_theme = {theme: tuple(rows["item"]) for theme, rows in items.groupby("theme", sort=False)}
    shares = dict(zip(items["item"], items["share_of_women"], strict=True))
    return World(shares, by_theme, _read_persons(FOLDER), load_themes(folder / "frames.yaml"))


def _read_persons(folder: Path) -> tuple[Person, ...]:
    people, names = (pd.read_csv(folder / name, keep_default_na=False) for name in ("people.csv", "names.csv"))
    of_kind = {kind: list(rows["name"]) for kind, rows in names.groupby("kind")}
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
