"""Scrubbing: replace the words that reveal a person's gender, and the parts of the name, by "_"."""

import functools
import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from biasflow.base.shipped import shipped
from biasflow.base.tabular import read_text_csv
from biasflow.text.gender_lexicon import WORD

Terms = Literal["released", "pronouns", "gendered"]
TERMS = ("released", "pronouns", "gendered")
BLANK = "_"
WORDS = shipped("data/scrubbing.csv")
RELEASED = re.compile(r"\b(?:[Hh](?:e|er|ers|erself|im|imself|is)|[Ss]he|(?i:mr|mrs|ms))\b")
PRONOUNS = re.compile(r"\b(?:s?he|her|hers|herself|him|himself|his|mr|mrs|ms)\b", re.IGNORECASE)


@dataclass(frozen=True)
class GenderedNouns:
    """Words to scrub, in lower case: in any spelling or in lower case only, and an expression that matches titles."""

    any_case: frozenset[str]
    lower_case: frozenset[str]
    titles: re.Pattern


def scrub(text: str, names: Sequence[str] = (), *, terms: Terms = "pronouns") -> str:
    """Return the text with every name part and every word of `terms` replaced by "_", and all else unchanged.

    names  parts of the name, each as it is spelt; a part may hold blanks, empty ones count for nothing. They are
           replaced first, the longest first, where no letter or digit adjoins them ("Ann" is not in "Annual").
    terms  "released": he, she, her, his, him, hers, himself, herself with or without a capital, and mr, mrs, ms in any
           case: the expression of the released crawler (De-Arteaga et al. 2019), which Orgad, Goldfarb-Tarrant &
           Belinkov (2022) use. It leaves SHe and HE, Miss, Sir and Dame, and nouns, although the paper's section 2.2
           says otherwise: "husband" is still there to head its table 9.
           "pronouns": the same in any case, and the titles of data/scrubbing.csv (Miss, Sir, Dame) before a capital
           or a "_".
           "gendered": these, and the nouns of data/scrubbing.csv: spouses and kin, nouns for a person that tell the
           gender; king and queen in lower case only, since King is a name. Words that in a biography are rather a field
           or a degree are not in the list (maternity, bachelor).

    Scrubbing twice is scrubbing once, if no name part holds "_"."""
    return scrub_all([text], [names], terms=terms)[0]


def scrub_all(
    texts: Sequence[str], names: Sequence[Sequence[str]] | None = None, *, terms: Terms = "pronouns"
) -> list[str]:
    """Scrub many texts; names: the name parts of each text, or None if they are unknown."""
    scrubbed = list(texts) if names is None else [_without(*pair) for pair in zip(texts, names, strict=True)]
    if terms == "released":
        return [RELEASED.sub(BLANK, text) for text in scrubbed]
    scrubbed, nouns = [PRONOUNS.sub(BLANK, text) for text in scrubbed], gendered_nouns()
    if terms == "gendered":
        scrubbed = [_without_words(text, nouns.any_case, str.lower) for text in scrubbed]
        scrubbed = [_without_words(text, nouns.lower_case, str) for text in scrubbed]
    return [nouns.titles.sub(BLANK, text) for text in scrubbed]


@functools.cache
def gendered_nouns() -> GenderedNouns:
    """The nouns and titles of data/scrubbing.csv (columns word, kind).

    kind: relation (somebody of the person's family), person (tells the person's own gender), alone (tells it, but has
    no counterpart: midwife), lower (counts in lower case only, being a name with a capital) or title (counts with a
    capital, before another one or "_")."""
    table = read_text_csv(WORDS)
    of_kind = {kind: frozenset(words) for kind, words in table.groupby("kind")["word"]}
    titles = "|".join(sorted(map(str.capitalize, of_kind["title"])))
    return GenderedNouns(
        any_case=of_kind["relation"] | of_kind["person"] | of_kind["alone"],
        lower_case=of_kind["lower"],
        titles=re.compile(rf"\b(?:{titles})\b(?=\s+[A-Z_])"),
    )


def _without(text: str, names: Sequence[str]) -> str:
    """The text without the name parts, those that are more than one word first."""
    present = [part for part in names if part.strip() and part in text]
    words = {part for part in present if WORD.fullmatch(part)}
    others = sorted(set(present) - words, key=lambda part: (-len(part), part))
    if others:
        # not \b: a part may end in a full stop (A.)
        text = re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, others))})(?!\w)", BLANK, text)
    return _without_words(text, words, str) if words else text


def _without_words(text: str, words: Set[str], spelling: Callable[[str], str]) -> str:
    """The text without the words that are in `words` when spelt by `spelling`."""
    if words.isdisjoint(WORD.findall(spelling(text))):  # nearly all texts, and several times quicker
        return text
    return WORD.sub(lambda match: BLANK if spelling(match[0]) in words else match[0], text)
