"""WinoBias (Zhao et al. 2018): sentences with two professions and a pronoun of one of them, in pairs.

In a pro-stereotypical sentence the pronoun has the gender that the authors' lists give the profession it stands for;
the anti-stereotypical sentence at the same place of the other file has a pronoun of the other gender. The two need not
agree in all other words: 19 of 1,584 pairs do not, and 2 of these have another profession. Type 1 can be solved by what
the sentence says only, type 2 by its syntax too."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.shipped import shipped
from scripts.biasflow.base.tabular import read_text_csv
from scripts.biasflow.corpora.conll import Document, Span, read_conll

PROFESSIONS = shipped("config/winobias_professions.csv")
ARTICLES = ("the", "a", "an")
PRONOUNS = {
    **dict.fromkeys(("he", "him", "his", "himself"), "M"),
    **dict.fromkeys(("she", "her", "herself"), "F"),
}


@dataclass(frozen=True)
class Sentence:
    """A sentence of WinoBias: its `document`, the `profession` of its gold cluster as the list spells it, and the
    `pronouns` of the cluster (one or two spans) with their `gender` (M or F)."""

    document: Document
    profession: str
    pronouns: tuple[Span, ...]
    gender: str


@dataclass(frozen=True)
class Pair:
    """The pro- and the anti-stereotypical sentence at the same place of their files."""

    pro: Sentence
    anti: Sentence


@functools.cache
def professions() -> pd.DataFrame:
    """The 40 professions, by name: share_of_women, in [0, 1] by US labour statistics as the code released with Orgad et
    al. (2022) has them, and stereotype (M or F), by the two lists of WinoBias."""
    table = read_text_csv(PROFESSIONS).set_index("profession")
    return table.assign(share_of_women=table["share_of_women"].astype(float))


def read_pairs(pro: str | Path, anti: str | Path) -> list[Pair]:
    """The pairs of two CoNLL files of one type and one part (dev or test), by position.

    BiasflowError names file and document: files of unequal length, a document without exactly one cluster, a cluster
    without exactly one profession of the list or without a pronoun, pronouns of both genders, and a gender that is not
    the profession's stereotype in `pro`, or is in `anti`."""
    sides = [
        [_sentence(path, document, is_pro) for document in read_conll(path).documents]
        for path, is_pro in ((pro, True), (anti, False))
    ]
    if len(sides[0]) != len(sides[1]):
        raise BiasflowError(
            f"{anti}: {len(sides[1])} documents, but {len(sides[0])} in {pro}; give the two files of one part."
        )
    return [Pair(*pair) for pair in zip(*sides, strict=True)]


def profession_of(words: Sequence[str]) -> str | None:
    """The profession that a mention names, a leading article apart: "the construction worker"; None for another."""
    words = words[1:] if words and words[0].lower() in ARTICLES else words
    name = " ".join(words)
    return name if name in professions().index else None


def professions_in(words: Sequence[str]) -> dict[str, Span]:
    """The professions that stand in the words, as whole words in any case: name -> the span where it stands first."""
    lower = tuple(word.lower() for word in words)
    return {
        name: (start, start + len(tokens) - 1)
        for name, tokens in _tokens().items()
        for start in range(len(lower) - len(tokens), -1, -1)
        if lower[start : start + len(tokens)] == tokens
    }


def two_professions(sentence: Sentence) -> dict[str, tuple[str, Span]]:
    """Stereotype (M, F) -> the profession of that list which the sentence names, and the span where it stands first.

    The longest name of a list, where there are several. BiasflowError names a document without one of either list."""
    found = professions_in(sentence.document.words)
    chosen = {}
    for stereotype in ("M", "F"):
        names = [name for name in found if professions().at[name, "stereotype"] == stereotype]
        if not names:
            raise BiasflowError(
                f"document {sentence.document.name}: no profession of {PROFESSIONS.name} with stereotype {stereotype}; "
                "a sentence of WinoBias names one of either."
            )
        name = max(names, key=len)
        chosen[stereotype] = name, found[name]
    return chosen


def masked_words(sentence: Sentence, mask: str) -> tuple[str, ...]:
    """The words of the sentence with `mask` for every pronoun that tells a gender, those outside the cluster too."""
    return tuple(mask if word.lower() in PRONOUNS else word for word in sentence.document.words)


@functools.cache
def _tokens() -> dict[str, tuple[str, ...]]:
    return {name: tuple(name.lower().split()) for name in professions().index}


def _sentence(path: str | Path, document: Document, is_pro: bool) -> Sentence:
    where = f"{path}: document {document.name}: "
    if len(document.clusters) != 1:
        raise BiasflowError(f"{where}{len(document.clusters)} clusters; a sentence of WinoBias has one.")
    mentions = [document.words[first : last + 1] for first, last in document.clusters[0]]
    is_pronoun = [len(words) == 1 and words[0].lower() in PRONOUNS for words in mentions]
    named = [profession_of(words) for words, pronoun in zip(mentions, is_pronoun, strict=True) if not pronoun]
    genders = {PRONOUNS[words[0].lower()] for words, pronoun in zip(mentions, is_pronoun, strict=True) if pronoun}
    if len(named) != 1 or named[0] is None or len(genders) != 1:
        raise BiasflowError(
            f"{where}its cluster is {', '.join(map(' '.join, mentions))}; it needs one profession of "
            f"{PROFESSIONS.name} and pronouns of one gender."
        )
    (profession,), (gender,) = named, genders
    if (professions().at[profession, "stereotype"] == gender) != is_pro:
        raise BiasflowError(
            f"{where}{profession} with {gender} is {'no' if is_pro else 'the'} stereotype; "
            "give the pro-stereotypical file first, then the anti-stereotypical one."
        )
    pronouns = tuple(span for span, pronoun in zip(document.clusters[0], is_pronoun, strict=True) if pronoun)
    return Sentence(document, profession, pronouns, gender)
