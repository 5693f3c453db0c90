"""The words, names and cues by which sentences are gender-swapped, read from CSV files."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from biasflow.base.genders import FEMALE, FEMININE, MALE, MASCULINE
from biasflow.base.shipped import shipped
from biasflow.base.tabular import read_text_csv

FOLDER = shipped("data/gender")  # words.csv, names.csv, fixed_phrases.csv, cues.csv
# When a word counts: "title" is Capitalised before another Capitalised word (Miss Smith, not: I miss her), "ruler" not
# the name of an office (the czar, not: the drug czar), "noun" not a verb (the groom, not: to groom).
WHENS = ("title", "capitalised", "lower", "ruler", "noun", "any")
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
    """`heads`: lower-case word -> what may start there. `cues`: name of a list -> the lower-case words in it.

    The lists that the rules look up ("her x": x stands right after her; "v her": v stands right before it):

    not_possessed   her x: x cannot follow a possessive, so her is him, and his is hers (prepositions, articles ...)
    adverb          her x: x seldom follows a possessive her; of a given his it says nothing (never, soon, twice ...)
    predicate       her x: said of an object where no noun follows (made her happy)
    degree          her x: said of an object at the end of a clause (like her more)
    not_adverb      her x: ends in -ly, but is no adverb (family)
    bare_verb       her x: an infinitive after lets (let her sleep)
    gift            her x: what one is given without an article (gives her advice)
    possessed       her x: what nearly always is somebody's own (gave her hand)
    gives           v her: takes two objects (told her lies)
    gives_freely    v her: so often takes two objects that any noun may be the second (gave her flowers)
    lets            v her: takes an object and an infinitive (saw her leave)
    sees            v her: takes an object and an -ing or -ed form (saw her crying)
    moves           v her: takes an object and back or home (called her back)
    calls           v her: takes an object and a name (called her Mary)
    likes           v her: more often takes an object and best than somebody's best (like her best)
    after_name      Mark x: at the start of a sentence x tells that Mark is a name (Mark is, not: Mark my words)
    ruler_before    x czar: what stands before a ruler; any other word makes it an office (drug czar)
    verb_before     x groom: x tells that groom is a verb (to, will, they ...)
    place_before    x Mary: the name of a place or a storm (St. Mary's)
    place_after     Madison x: the name of a place, prize or company (Madison Avenue)
    title           x James: a title that stands before a first name, and stays where the name does (Queen Latifah)
    kinship         X James: the same where it is Capitalised, since words of other kinds stand behind it, too
    rank            Queen x: no name (consort)
    surname_before  x James: a surname, unless another one follows (Mr. James, not: Mr. James Smith)
    also_surname    Stephen x: a surname where it is Capitalised right after a first name (King)"""

    heads: Mapping[str, Head]
    cues: Mapping[str, frozenset[str]]


@functools.cache
def default_lexicon() -> Lexicon:
    """Read the lexicon (biasflow/data/gender).

    words.csv          masculine, feminine, direction (both | to_feminine | to_masculine), when (of WHENS), note. A word
                       or a phrase is the source of at most one row for each `when`. her and his are swapped by rule:
                       targets only here.
    names.csv          masculine, feminine, ordinary_word (which of the two is an ordinary word as well: empty |
                       masculine | feminine | both). A name stands in one row only: swapping twice gives it back.
    fixed_phrases.csv  phrase, kind: left as they are. A capital letter in the file is asked of the text.
    cues.csv           cue, word: the lists that the rules consult (`Lexicon`)."""
    tables = {name: read_text_csv(FOLDER / f"{name}.csv") for name in ("words", "names", "fixed_phrases", "cues")}
    sides = ((MASCULINE, FEMININE, MALE), (FEMININE, MASCULINE, FEMALE))
    entries: dict[str, list[Entry]] = {}
    phrases: list[Phrase] = []
    for row in tables["words"].to_dict("records"):
        for source, target, gender in sides:
            if row["direction"] != f"to_{source}":
                pieces, entry = _pieces(row[source].lower()), Entry(row[target].lower(), gender, row["when"])
                if len(pieces) > 1:
                    phrases.append(Phrase(pieces, entry))
                else:
                    entries.setdefault(*pieces, []).append(entry)
    names = {
        row[side].lower(): Name(row[other], gender, row["ordinary_word"] in (side, "both"))
        for row in tables["names"].to_dict("records")
        for side, other, gender in sides
    }
    phrases += map(Phrase, map(_pieces, tables["fixed_phrases"]["phrase"]))
    starting: dict[str, list[Phrase]] = {}
    for phrase in sorted(phrases, key=lambda phrase: -len(phrase.pieces)):
        starting.setdefault(phrase.pieces[0].lower(), []).append(phrase)
    heads = {
        word: Head(
            tuple(starting.get(word, ())),
            tuple(sorted(entries.get(word, ()), key=lambda entry: WHENS.index(entry.when))),
            names.get(word),
        )
        for word in {*entries, *names, *starting}
    }
    words_by_cue = tables["cues"]["word"].str.lower().groupby(tables["cues"]["cue"])
    return Lexicon(heads, {cue: frozenset(words) for cue, words in words_by_cue})


def _pieces(text: str) -> tuple[str, ...]:
    """Words and what stands between them, with one kind of space and of apostrophe."""
    return tuple(map(plain_gap, WORD.split(text)[1:-1]))


def plain_gap(gap: str) -> str:
    """What stands between two words, with one kind of space and of apostrophe; words come back as they are."""
    return " " if gap.isspace() else gap.replace("’", "'")
