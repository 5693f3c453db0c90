"""Sentence frames: reading them, and filling one with a person, an item or scenery words."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter

import numpy as np
import yaml

from biasflow.base.genders import FEMALE, MALE

PRONOUNS = {
    FEMALE: {"subject": "she", "object": "her", "possessive": "her", "own": "hers", "reflexive": "herself"},
    MALE: {"subject": "he", "object": "him", "possessive": "his", "own": "his", "reflexive": "himself"},
}
OTHER = {FEMALE: MALE, MALE: FEMALE}
PERSON_SLOTS = {"person", "person_object", "person_possessive"}
ITEM_SLOTS = {"item", "a_item"}
SCENERY_SLOTS = {"thing", "a_thing", "place"}


@dataclass(frozen=True)
class Theme:
    """A kind of discourse: its openings and its two kinds of continuation (see frames.yaml)."""

    name: str
    weight: float
    opening: tuple[str, ...]
    neutral: tuple[str, ...] = ()
    gendered: tuple[str, ...] = ()
    items: str = ""  # the theme of items.csv that its items come from
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_scenery(self) -> bool:
        """Whether no person with a gender appears in it."""
        return bool(self.words)

    @property
    def continuations(self) -> tuple[str, ...]:
        """All continuations, the neutral ones first."""
        return self.neutral + self.gendered

    @property
    def frames(self) -> tuple[str, ...]:
        """All openings, then all continuations."""
        return self.opening + self.continuations


def one_of(choices: Sequence, rng: np.random.Generator):
    """Return one of the choices, each as probable."""
    return choices[rng.integers(len(choices))]


def slots(frame: str) -> set[str]:
    """The names in braces of a frame."""
    return {name for _, name, _, _ in Formatter().parse(frame) if name is not None}


def sentence(frame: str, fillers: Mapping[str, str]) -> str:
    """Return the frame with its slots filled, a capital letter and a full stop."""
    text = frame.format_map(fillers)
    return f"{text[0].upper()}{text[1:]}."


@functools.cache
def grammar_file(path: Path) -> Mapping:
    """The contents of a YAML file of the package. What the code needs of it: tests/unit/planted/test_world.py."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def load_themes(path: Path) -> tuple[Theme, ...]:
    """The themes of frames.yaml."""
    return tuple(_theme(name, **entry) for name, entry in grammar_file(path)["themes"].items())


def _theme(name: str, words: Mapping[str, list[str]] | None = None, **entry: object) -> Theme:
    lists = {key: tuple(entry.pop(key, ())) for key in ("opening", "neutral", "gendered")}
    return Theme(name, words={key: tuple(values) for key, values in (words or {}).items()}, **lists, **entry)
