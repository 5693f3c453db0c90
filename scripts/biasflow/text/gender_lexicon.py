"""The words, names and cues by which sentences are gender-swapped, read from CSV files and checked."""

import functools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE, FEMININE, MALE, MASCULINE
from biasflow.base.shipped import shipped
from biasflow.base.tabular import read_text_csv

DEFAULT_FOLDER = shipped("data/gender")

COLUMNS = {
    "words.csv": ("masculine", "feminine", "direction", "when"),
    "names.csv": ("masculine", "feminine", "ordinary_word"),
    "fixed_phrases.csv": ("phrase", "kind"),
    "cues.csv": ("cue", "word"),
}
DIRECTIONS = ("both", "to_feminine", "to_masculine")
# When a word counts: "title" is Capitalised before another Capitalised word (Miss Smith, not: I miss her), "ruler" not
# the name of an office (the czar, not: the drug czar), "noun" not a verb (the groom, not: to groom).
WHENS = ("title", "capitalised", "lower", "ruler", "noun", "any")
ORDINARY = ("", "masculine", "feminine", "both")
# The lists of words that the rules look up. "her x": x stands right after her; "v her": v stands right before it.
CUES = {
    "not_possessed": "her x: x cannot follow a possessive, so her is him, and his is hers (prepositions, articles ...)",
    "adverb": "her x: x seldom follows a possessive her; of a given his it says nothing (never, soon, twice ...)",
    "predicate": "her x: said of an object where no noun follows (made her happy)",
    "not_adverb": "her x: ends in -ly, but is no adverb (family)",
    "bare_verb": "her x: an infinitive after lets (let her sleep)",
    "gift": "her x: what one is given without an article (gives her advice)",
    "possessed": "her x: what nearly always is somebody's own (gave her hand)",
    "gives": "v her: takes two objects (told her lies)",
    "gives_freely": "v her: so often takes two objects that any noun may be the second (gave her flowers)",
    "lets": "v her: takes an object and an infinitive (saw her leave)",
    "sees": "v her: takes an object and an -ing or -ed form (saw her crying)",
    "moves": "v her: takes an object and back or home (called her back)",
    "calls": "v her: takes an object and a name (called her Mary)",
    "after_name": "Mark x: at the start of a sentence x tells that Mark is a name (Mark is, not: Mark my words)",
    "ruler_before": "x czar: what stands before a ruler; any other word makes it an office (drug czar)",
    "verb_before": "x groom: x tells that groom is a verb (to, will, they ...)",
    "place_before": "x Mary: the name of a place or a storm (St. Mary's)",
    "place_after": "Madison x: the name of a place, prize or company (Madison Avenue)",
    "surname_before": "x James: a surname, unless another one follows (Mr. James, not: Mr. James Smith)",
    "also_surname": "Stephen x: a surname where it is Capitalised right after a first name (King)",
}
WORD = re.compile(r"(\w+)")  # digits and _ belong to a word, so that HER2 or her_name is not taken for her
BY_RULE = ("her", "his")  # both have two counterparts: gender_pronouns decides


@dataclass(frozen=True)
class Entry:
    """What a word becomes: `target` in lower case, the `gender` (M or F) of the word itself, and `when` it counts."""

    target: str
    gender: str
    when: str = "any"


@dataclass(frozen=True)
class Phrase:
    """Several words that count as one: `pieces` are its words and what stands between them; no entry: left as it is."""

    pieces: tuple[str, ...]
    entry: Entry | None = None


@dataclass(frozen=True)
class Name:
    """A first name: its `partner` of the other gender, its own `gender`, and whether it is an `ordinary` word too."""

    partner: str
    gender: str
    ordinary: bool


@dataclass(frozen=True)
class Head:
    """All that may start at a word: phrases (longest first), the word's own entries (the pickiest first), a name."""

    phrases: tuple[Phrase, ...] = ()
    entries: tuple[Entry, ...] = ()
    name: Name | None = None


@dataclass(frozen=True)
class Lexicon:
    """`heads`: lower-case word -> what may start there. `cues`: name of a list -> the lower-case words in it."""

    heads: Mapping[str, Head]
    cues: Mapping[str, frozenset[str]]

    def name(self, word: str) -> Name | None:
        """The first name spelt `word` (in any case), or None."""
        head = self.heads.get(word.lower())
        return head.name if head else None


@functools.cache
def default_lexicon() -> Lexicon:
    """The project's own lexicon (biasflow/data/gender), read once."""
    return load_lexicon(DEFAULT_FOLDER)


def load_lexicon(folder: str | Path) -> Lexicon:
    """Read a lexicon from the four files of `folder`; every column named here must be there.

    words.csv          masculine, feminine, direction (both | to_feminine | to_masculine), when (any | noun | ruler |
                       lower | capitalised | title), and any further columns, such as a note. A word or a phrase is the
                       source of at most one row for each `when`. her and his are swapped by rule: targets only here.
    names.csv          masculine, feminine, ordinary_word (which of the two is an ordinary word as well: empty |
                       masculine | feminine | both). A name stands in one row only: swapping twice gives it back.
    fixed_phrases.csv  phrase, kind: left as they are. A capital letter in the file is asked of the text.
    cues.csv           cue, word: the lists that the rules consult.

    Raises BiasflowError that names file and row for a missing file or column, an empty file or cell, an unknown
    direction, when, ordinary_word or cue, and for a source word, name, phrase or cue word that is given twice.
    """
    folder = Path(folder)
    tables = {name: list(_rows(folder / name, columns)) for name, columns in COLUMNS.items()}
    entries, swapped_phrases = _entries(tables["words.csv"])
    names = _names(tables["names.csv"], entries)
    phrases = swapped_phrases + _fixed_phrases(tables["fixed_phrases.csv"], swapped_phrases)
    phrases.sort(key=lambda phrase: -len(phrase.pieces))
    starting: dict[str, list[Phrase]] = {}
    for phrase in phrases:
        starting.setdefault(phrase.pieces[0].lower(), []).append(phrase)
    heads = {
        word: Head(tuple(starting.get(word, ())), tuple(entries.get(word, ())), names.get(word))
        for word in {*entries, *names, *starting}
    }
    return Lexicon(heads, _cues(tables["cues.csv"]))


def _pieces(where: str, text: str) -> tuple[str, ...]:
    """Words and what stands between them, with one kind of space and of apostrophe."""
    pieces = WORD.split(text)
    if pieces[0] or pieces[-1]:
        raise BiasflowError(f"{where}: {text!r} must start and end with a letter; leave the sign away.")
    return tuple(map(plain_gap, pieces[1:-1]))


def plain_gap(gap: str) -> str:
    """What stands between two words, with one kind of space and of apostrophe; words come back as they are."""
    return " " if gap.isspace() else gap.replace("’", "'")


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield ("file row n", row) for every row of a CSV file."""
    if not path.is_file():
        raise BiasflowError(f"{path}: no such file; a gender lexicon needs {', '.join(COLUMNS)}.")
    table = read_text_csv(path)
    if missing := [column for column in columns if column not in table]:
        raise BiasflowError(f"{path}: row 1: no column {missing[0]!r}; the columns are {', '.join(columns)}.")
    if table.empty:
        raise BiasflowError(f"{path}: no rows; a gender lexicon needs at least one in each file.")
    for number, row in enumerate(table[list(columns)].fillna("").to_dict("records"), start=2):
        where, row = f"{path}: row {number}", {column: cell.strip() for column, cell in row.items()}
        if blank := [column for column in columns if not row[column] and column != "ordinary_word"]:
            raise BiasflowError(f"{where}: nothing in column {blank[0]!r}; fill it in or delete the row.")
        yield where, row


def _known(where: str, column: str, value: str, known: Collection[str]) -> str:
    if value not in known:
        raise BiasflowError(f"{where}: {column} {value!r} is none of {', '.join(map(repr, known))}.")
    return value


def _once(seen: dict, key: object, where: str, name: str) -> None:
    """Raise if `key` was seen before; `seen` remembers where."""
    if key in seen:
        raise BiasflowError(f"{where}: {name} was given before ({seen[key]}); keep one of the two.")
    seen[key] = where


def _entries(rows: list[tuple[str, dict[str, str]]]) -> tuple[dict[str, list[Entry]], list[Phrase]]:
    entries: dict[str, list[Entry]] = {}
    phrases: list[Phrase] = []
    seen: dict = {}
    for where, row in rows:
        masculine, feminine = row["masculine"].lower(), row["feminine"].lower()
        direction = _known(where, "direction", row["direction"], DIRECTIONS)
        when = _known(where, "when", row["when"], WHENS)
        swaps = []
        if direction != "to_masculine":
            swaps.append((masculine, Entry(feminine, MALE, when)))
        if direction != "to_feminine":
            swaps.append((feminine, Entry(masculine, FEMALE, when)))
        for source, entry in swaps:
            if source in BY_RULE:
                raise BiasflowError(f"{where}: {source!r} is swapped by rule; give the other direction only.")
            _once(seen, (source, when), where, f"the word {source!r} (when: {when})")
            pieces = _pieces(where, source)
            if len(pieces) > 1:
                phrases.append(Phrase(pieces, entry))
            else:
                entries.setdefault(source, []).append(entry)
    for alternatives in entries.values():
        alternatives.sort(key=lambda entry: WHENS.index(entry.when))
    return entries, phrases


def _names(rows: list[tuple[str, dict[str, str]]], entries: Mapping[str, list[Entry]]) -> dict[str, Name]:
    names: dict[str, Name] = {}
    seen: dict = {}
    for where, row in rows:
        ordinary = _known(where, "ordinary_word", row["ordinary_word"], ORDINARY)
        for side, other, gender in ((MASCULINE, FEMININE, MALE), (FEMININE, MASCULINE, FEMALE)):
            name = row[side].lower()
            if not WORD.fullmatch(name):
                raise BiasflowError(f"{where}: the name {row[side]!r} is not a single word; split or delete it.")
            _once(seen, name, where, f"the name {row[side]!r}")
            if name in entries or name in BY_RULE:
                raise BiasflowError(f"{where}: the name {row[side]!r} is a word in words.csv too; keep one of the two.")
            names[name] = Name(row[other], gender, ordinary in (side, "both"))
    return names


def _fixed_phrases(rows: list[tuple[str, dict[str, str]]], swapped: list[Phrase]) -> list[Phrase]:
    seen = {tuple(piece.lower() for piece in phrase.pieces): "words.csv" for phrase in swapped}
    phrases = []
    for where, row in rows:
        pieces = _pieces(where, row["phrase"])
        _once(seen, tuple(piece.lower() for piece in pieces), where, f"the phrase {row['phrase']!r}")
        phrases.append(Phrase(pieces))
    return phrases


def _cues(rows: list[tuple[str, dict[str, str]]]) -> dict[str, frozenset[str]]:
    words: dict[str, set[str]] = {cue: set() for cue in CUES}
    seen: dict = {}
    for where, row in rows:
        cue, word = _known(where, "cue", row["cue"], CUES), row["word"].lower()
        _once(seen, (cue, word), where, f"{word!r} as {cue!r}")
        words[cue].add(word)
    return {cue: frozenset(cue_words) for cue, cue_words in words.items()}
