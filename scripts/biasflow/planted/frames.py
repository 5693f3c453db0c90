"""Sentence frames: reading them, and filling one with a person, an item or scenery words."""

import contextlib
import functools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter

import yaml

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE, MALE

PRONOUNS = {
    FEMALE: {"subject": "she", "object": "her", "possessive": "her", "own": "hers", "reflexive": "herself"},
    MALE: {"subject": "he", "object": "him", "possessive": "his", "own": "his", "reflexive": "himself"},
}
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


def slots(frame: str) -> set[str]:
    """The names in braces of a frame."""
    return {name for _, name, _, _ in Formatter().parse(frame) if name is not None}


def sentence(frame: str, fillers: Mapping[str, str]) -> str:
    """Return the frame with its slots filled, a capital letter and a full stop."""
    text = frame.format_map(fillers)
    return f"{text[0].upper()}{text[1:]}."


@contextlib.contextmanager
def grammar_file(path: str | Path, name: str) -> Iterator[Mapping]:
    """Yield the contents of a YAML file; BiasflowError with its path and `name`, what it should be, if the body cannot
    read it."""
    try:
        yield _content(Path(path))
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BiasflowError(f"{path}: cannot be read as {name} ({' '.join(str(error).split())}).") from error


@functools.cache
def _content(path: Path) -> Mapping:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def load_themes(path: str | Path, *, known_items: Collection[str]) -> tuple[Theme, ...]:
    """The themes of frames.yaml; BiasflowError names the theme with a missing part or a slot that nothing fills."""
    with grammar_file(path, "YAML with a key 'themes'") as content:
        entries = content["themes"]
    return tuple(_theme(path, name, entry, known_items) for name, entry in entries.items())


def _theme(path: str | Path, name: str, entry: Mapping, known_items: Collection[str]) -> Theme:
    lists = {key: tuple(entry.get(key, ())) for key in ("opening", "neutral", "gendered")}
    words = {key: tuple(values) for key, values in entry.get("words", {}).items()}
    theme = Theme(name=name, weight=float(entry.get("weight", 0)), items=entry.get("items", ""), words=words, **lists)
    if theme.weight <= 0 or not theme.opening or not theme.continuations:
        raise BiasflowError(f"{path}: theme '{name}' needs a weight above 0, openings and continuations.")
    if theme.items and theme.items not in known_items:
        raise BiasflowError(f"{path}: theme '{name}' takes its items from '{theme.items}', which items.csv lacks.")
    allowed = SCENERY_SLOTS if theme.is_scenery else PERSON_SLOTS | set(PRONOUNS[FEMALE])
    if theme.items:
        allowed = allowed | ITEM_SLOTS
    for frame in theme.frames:
        if slots(frame) - allowed:
            raise BiasflowError(f"{path}: theme '{name}': nothing fills {sorted(slots(frame) - allowed)} in '{frame}'.")
    for frame in theme.neutral:
        if slots(frame) & (PERSON_SLOTS | set(PRONOUNS[FEMALE])):
            raise BiasflowError(f"{path}: theme '{name}': '{frame}' is listed as neutral but names a gender.")
    return theme
