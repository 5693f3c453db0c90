"""Scrubbing: the words that tell a person's gender, and the parts of the name, become "_"."""

import functools
import re
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import Literal

import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.tabular import read_text_csv
from scripts.biasflow.corpora.bios import name_parts
from scripts.biasflow.text.gender_lexicon import WORD, default_lexicon

Terms = Literal["pronouns", "gendered"]
TERMS = ("pronouns", "gendered")
BLANK = "_"
NOTHING = "(?!)"  # an expression that nothing matches
WORDS = Path(__file__).resolve().parents[3] / "config" / "scrubbing.csv"
KINDS = ("relation", "person", "title")
PRONOUNS_AND_TITLES = re.compile(r"\b(?:[Hh](?:e|er|ers|erself|im|imself|is)|[Ss]he|(?i:mr|mrs|ms))\b")


def scrub(text: str, names: Sequence[str] = (), *, terms: Terms = "pronouns") -> str:
    """The text with every name part and every word of `terms` replaced by "_"; what stands between stays.

    names  parts of the name, each as it is spelt; a part may hold blanks, empty ones count for nothing. They are
           replaced first, the longest first, where no letter or digit adjoins them ("Ann" is not in "Annual").
    terms  "pronouns": he, she, her, his, him, hers, himself, herself with or without a capital, and mr, mrs, ms in any
           case: the expression of the released crawler (De-Arteaga et al. 2019), which Orgad, Goldfarb-Tarrant &
           Belinkov (2022) use. Capitals all through (HE) stay, and so do nouns, although the paper's section 2.2 says
           otherwise: "husband" is still there to head its table 9.
           "gendered": these, and the nouns of config/scrubbing.csv in any case: spouses and kin, nouns for a person
           that tell the gender, and titles (Miss, Sir, Dame) before a capital or a "_". Words that in a biography are
           rather a field, a degree or a name are not in the list (maternity, bachelor, King, Duke).

    Scrubbing twice is scrubbing once, if no name part holds "_". BiasflowError: other terms."""
    return scrub_all([text], [names], terms=terms)[0]


def scrub_all(
    texts: Sequence[str], names: Sequence[Sequence[str]] | None = None, *, terms: Terms = "pronouns"
) -> list[str]:
    """`scrub` of many texts; names: the name parts of each text, None where none are known."""
    if terms not in TERMS:
        raise BiasflowError(f"scrubbing: terms {terms!r} is none of {', '.join(TERMS)}.")
    scrubbed = list(texts) if names is None else [_without(*pair) for pair in zip(texts, names, strict=True)]
    scrubbed = [PRONOUNS_AND_TITLES.sub(BLANK, text) for text in scrubbed]
    if terms == "gendered":
        nouns, titles = gendered_nouns()
        scrubbed = [titles.sub(BLANK, _without_words(text, nouns, str.lower)) for text in scrubbed]
    return scrubbed


def scrubbed_texts(bios: pd.DataFrame, *, terms: Terms = "pronouns") -> pd.Series:
    """The scrubbed text of every biography (columns text, name, scrubbed of corpora.bios), outer blanks removed.

    Where the source has a scrubbed text of its own, that is taken, and "gendered" scrubs what it leaves; elsewhere the
    text is scrubbed of its name parts and of `terms`."""
    own = bios["scrubbed"] != ""
    if terms == "pronouns" and own.all():
        return bios["scrubbed"]
    texts = bios["scrubbed"].where(own, bios["text"]).str.strip()
    scrubbed = pd.Series(
        scrub_all(list(texts), [name_parts(name) for name in bios["name"]], terms=terms), index=bios.index, dtype="str"
    )
    return scrubbed.rename("scrubbed") if terms == "gendered" else bios["scrubbed"].where(own, scrubbed)


@functools.cache
def gendered_nouns(path: str | Path = WORDS) -> tuple[frozenset[str], re.Pattern]:
    """The nouns of a list (columns word, kind) in lower case, and an expression that finds its titles.

    kind: relation (somebody of the person's family), person (tells the person's own gender) or title (counts with a
    capital, before another one or "_"). BiasflowError names the word that has another kind, is given twice, or is not
    known as gendered to the lexicon of config/gender."""
    table = read_text_csv(path)
    if list(table.columns) != ["word", "kind"] or table.empty:
        raise BiasflowError(f"{path}: the columns must be word, kind, and there must be words.")
    heads = default_lexicon().heads
    for row, (word, kind) in enumerate(table.itertuples(index=False), start=2):
        if kind not in KINDS:
            raise BiasflowError(f"{path}: row {row}: kind {kind!r} of '{word}' is none of {', '.join(KINDS)}.")
        if word not in heads or not heads[word].entries:
            raise BiasflowError(f"{path}: row {row}: '{word}' is no gendered word of config/gender/words.csv.")
    twice = table["word"][table["word"].duplicated()]
    if len(twice):
        raise BiasflowError(f"{path}: '{twice.iloc[0]}' is given twice; keep one of the two.")
    titles = "|".join(table["word"][table["kind"] == "title"].str.capitalize()) or NOTHING
    return frozenset(table["word"][table["kind"] != "title"]), re.compile(rf"\b(?:{titles})\b(?=\s+[A-Z_])")


def _without(text: str, names: Sequence[str]) -> str:
    """The text without the name parts, those that are more than one word first."""
    there = [part for part in names if part.strip() and part in text]
    words = {part for part in there if WORD.fullmatch(part)}
    others = sorted(set(there) - words, key=lambda part: (-len(part), part))
    if others:
        # not \b: a part may end in a full stop (A.)
        text = re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, others))})(?!\w)", BLANK, text)
    return _without_words(text, words, str) if words else text


def _without_words(text: str, words: Set[str], spelling: Callable[[str], str]) -> str:
    """The text without the words that are in `words` when spelt by `spelling`."""
    if words.isdisjoint(WORD.findall(spelling(text))):  # nearly all texts, and several times quicker
        return text
    return WORD.sub(lambda found: BLANK if spelling(found[0]) in words else found[0], text)
