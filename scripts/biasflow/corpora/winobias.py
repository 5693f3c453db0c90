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

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMALE, GENDERS, MALE
from biasflow.base.shipped import shipped
from biasflow.base.tabular import read_text_csv
from biasflow.corpora.conll import Document, Span, read_conll

PROFESSIONS = shipped("data/winobias_professions.csv")
ARTICLES = ("the", "a", "an")
PRONOUNS = {
    **dict.fromkeys(("he", "him", "his", "himself"), MALE),
    **dict.fromkeys(("she", "her", "herself"), FEMALE),
}


@dataclass(frozen=True)
class Sentence:
    """A sentence of WinoBias: its `document`, the `profession` of its gold cluster as the list spells it, and the
    `pronouns` of the cluster (one or two spans) with their `gender` (M or F)."""

    document: Document
    profession: str
    pronouns: tuple[Span, ...]
    gender: str

    @property
    def named(self) -> Span:
        """Where the gold cluster names the profession, without the article."""
        ((first, last),) = set(self.document.clusters[0]) - set(self.pronouns)
        return first + (self.document.words[first].lower() in ARTICLES), last


@dataclass(frozen=True)
class Pair:
    """The pro- and the anti-stereotypical sentence at the same place of their files."""

    pro: Sentence
    anti: Sentence


@functools.cache
def professions() -> pd.DataFrame:
    """The 40 professions of WinoBias, by name: share_of_women, in [0, 1], by US labour statistics as the code released
    with Orgad et al. (2022) has them, and stereotype (M or F) by the two lists of WinoBias."""
    return read_text_csv(PROFESSIONS).astype({"share_of_women": float}).set_index("profession")


def read_pairs(pro: str | Path, anti: str | Path) -> list[Pair]:
    """The pairs of two CoNLL files, by position.

    BiasflowError names file and document: files of unequal length, and whatever `read_sentences` refuses."""
    sides = [read_sentences(path, pro=is_pro) for path, is_pro in ((pro, True), (anti, False))]
    if len(sides[0]) != len(sides[1]):
        raise BiasflowError(
            f"{anti}: {len(sides[1])} documents, but {len(sides[0])} in {pro}; give the two files of one part."
        )
    return [Pair(*pair) for pair in zip(*sides, strict=True)]


def read_sentences(path: str | Path, *, pro: bool) -> list[Sentence]:
    """The sentences of a CoNLL file, all of them pro-stereotypical or none.

    BiasflowError names file and document: one without exactly one cluster, a cluster without exactly one known
    profession or without a pronoun, pronouns of both genders, and a gender that is not the profession's stereotype
    (`pro`), or is."""
    return [_sentence(path, document, pro) for document in read_conll(path).documents]


def profession_of(words: Sequence[str]) -> str | None:
    """The profession that a mention names, a leading article apart: "the construction worker"; None for another."""
    words = words[1:] if words and words[0].lower() in ARTICLES else words
    name = " ".join(words)
    return name if name in professions().index else None


def professions_in(words: Sequence[str]) -> dict[str, Span]:
    """Return the professions among the words, as whole words in any case: name -> the span of the first occurrence."""
    lower = tuple(word.lower() for word in words)
    return {
        name: (start, start + len(tokens) - 1)
        for name, tokens in ((name, tuple(name.lower().split())) for name in professions().index)
        for start in range(len(lower) - len(tokens), -1, -1)
        if lower[start : start + len(tokens)] == tokens
    }


def two_professions(sentence: Sentence) -> dict[str, tuple[str, Span]]:
    """Return stereotype (M, F) -> the profession of that list in the sentence, and the span of its first occurrence.

    The longest name of a list, where there are several. BiasflowError names a document without one of either list."""
    spans = professions_in(sentence.document.words)
    chosen = {}
    for stereotype in GENDERS:
        names = [name for name in spans if professions().at[name, "stereotype"] == stereotype]
        if not names:
            raise BiasflowError(
                f"document {sentence.document.name}: no profession of the list with stereotype {stereotype}; "
                "a sentence of WinoBias names one of either."
            )
        name = max(names, key=len)
        chosen[stereotype] = name, spans[name]
    return chosen


def masked_words(sentence: Sentence, mask: str) -> tuple[str, ...]:
    """The words of the sentence with `mask` for every pronoun that tells a gender, those outside the cluster too."""
    return tuple(mask if word.lower() in PRONOUNS else word for word in sentence.document.words)


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
            "the list and pronouns of one gender."
        )
    (profession,), (gender,) = named, genders
    if (professions().at[profession, "stereotype"] == gender) != is_pro:
        raise BiasflowError(
            f"{where}{profession} with {gender} is {'no' if is_pro else 'the'} stereotype; "
            "give the pro-stereotypical file first, then the anti-stereotypical one."
        )
    pronouns = tuple(span for span, pronoun in zip(document.clusters[0], is_pronoun, strict=True) if pronoun)
    return Sentence(document, profession, pronouns, gender)
