"""The glossary of the page: every word, measure and method that it uses, each defined once in the project."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pandas as pd

from biasflow.base.files import read_text
from biasflow.base.shipped import shipped
from biasflow.overview.cards import card
from biasflow.plan.methods import control_of, is_matched, is_permuted
from biasflow.registry import ERASERS, STRATEGIES
from biasflow.results.matrix import PLAIN, by_rows
from biasflow.results.page import meanings
from biasflow.results.scores import NONE

WORDS = shipped("overview/page/words.md")  # the site shows the same file
WORD = "Words"
_ROW = re.compile(r"^\| (\*\*.+?) \| (.+?) \|", re.MULTILINE)
_BETTER = {"low": "Lower", "high": "Higher", "neutral": "Nearer to it"}
_PARTS = re.compile(r" \+ |, | ")  # of the name of a row, such as "scrubbing + leace"


class Entry(NamedTuple):
    """A word with its definition. id: of its place on the page; names: the word, and others that are linked to it;
    card: of a measure (`overview.cards`)."""

    id: str
    names: tuple[str, ...]
    text: str
    card: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Glossary:
    """Entries by their heading. linked: the ids of those that `pieces` has linked so far, by section of the page."""

    groups: Mapping[str, list[Entry]]
    linked: dict[str, set[str]] = field(default_factory=dict)

    def used(self) -> dict[str, list[Entry]]:
        """The entries of a page: the measures and methods that it has, and the words that were linked in it."""
        linked = set().union(*self.linked.values())
        words = [entry for entry in self.groups.get(WORD, ()) if entry.id in linked]
        return {title: entries for title, entries in {**self.groups, WORD: words}.items() if entries}

    def meaning(self, name: str) -> str:
        """The definition of a measure, by its label, or of the parts of a row's name; "" for what is not here."""
        entries = {other: entry for group in self.groups.values() for entry in group for other in entry.names}
        known = [entries[part] for part in dict.fromkeys([name, *_PARTS.split(name)]) if part in entries]
        return " ".join(f"{entry.names[0]}: {entry.text}" for entry in known)

    def pieces(self, text: str, section: str) -> list[tuple[str, str]]:
        """The text cut at the first use of each word in a section: (piece, id of the entry that it is linked to, or
        "")."""
        targets = {name: entry.id for group in self.groups.values() for entry in group for name in entry.names}
        longest_first = sorted(targets, key=len, reverse=True)
        words = re.compile(rf"(?<![\w/-])({'|'.join(map(re.escape, longest_first))})s?(?![\w-])", re.IGNORECASE)
        pieces, end, linked = [], 0, self.linked.setdefault(section, set())
        for match in words.finditer(text):
            target = targets.get(match[1], targets.get(match[1].lower()))
            if target and target not in linked:
                linked.add(target)
                pieces += [(text[end : match.start()], ""), (match[0], target)]
                end = match.end()
        return [*pieces, (text[end:], "")]


def glossary(matrix: pd.DataFrame, names: pd.DataFrame) -> Glossary:
    """The words of results, and the measures, methods and strategies that occur in a matrix (results.matrix). names:
    names.csv as texts."""
    shown = matrix[matrix["value"].notna()]
    groups = {WORD: _words(read_text(WORDS)), "Measures": _measures(shown["measure"])}
    groups["Methods"] = [
        *_methods(shown["method"].unique(), names[names["kind"] == "method"]),
        *(
            Entry(_id(name), (name,), f"{entry.meaning}.")
            for name, entry in STRATEGIES.items()
            if name in set(shown["strategy"]) - set(PLAIN)
        ),
    ]
    return Glossary({title: entries for title, entries in groups.items() if entries})


def _id(name: str) -> str:
    return "word-" + re.sub(r"\W+", "-", name.lower()).strip("-")


def _words(page: str) -> list[Entry]:
    """The rows of the tables of a Markdown page whose first cell begins with a word in bold."""
    entries = []
    for cell, text in _ROW.findall(page):
        first = cell.split(",")[0]
        names = [first.replace("*", ""), re.findall(r"\*\*(.+?)\*\*", first)[0], *cell.split(",")[1:]]
        names = dict.fromkeys(name.replace("*", "").strip() for name in names)
        entries.append(Entry(_id(first), tuple(names), re.sub(r"[*`]|\[([^]]*)\]\([^)]*\)", r"\1", text) + "."))
    return entries


def _measures(measured: Iterable[str]) -> list[Entry]:
    names = set(measured)
    by_label = {
        measure.label: Entry(
            _id(measure.label),
            (measure.label,),
            f"{meanings('measures')[name]}. Neutral value: {measure.neutral:g}. {_BETTER[measure.better]} is "
            f"{'better' if measure.group == 'cost' else 'less biased'}.",
            (*card(name), ("with its definition", f"in the documents of biasflow: measures, {name}")),
        )
        for (name, _, _), measure in by_rows().items()
        if name in names
    }
    return list(by_label.values())


def _methods(shown: Iterable[str], names: pd.DataFrame) -> list[Entry]:
    entries = []
    for name in (name for name in shown if name != NONE):  # a word of its own: untouched
        about = dict(names.loc[names["name"] == name, ["attribute", "value"]].itertuples(index=False, name=None))
        if of := control_of(name):
            strength = ", which move vectors as far" if is_matched(name) else ""
            text = f"the control of {of}: it removes as many random directions at the same places{strength}"
            if is_permuted(name):
                text = f"the control of {of}: the same, fitted to genders permuted within each class"
        elif erasers := [eraser for eraser in about.get("eraser", "").split() if eraser in ERASERS]:
            does = "; then it ".join(meanings("erasers")[eraser] for eraser in erasers)
            where = f" (places: {about['places']})" if "places" in about else ""
            text = f"{' and '.join(ERASERS[eraser].label for eraser in erasers)}{where}: it {does}"
        else:
            text = "a method of this configuration; names.csv lists its parts"
        entries.append(Entry(_id(name), (name,), f"{text}."))
    return entries
