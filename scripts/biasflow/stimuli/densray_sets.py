"""The occupations and association tests of paper A by the names that the configuration gives them, and the sentences
of OCCTMP: an occupation, and [MASK] where the pronoun would be (Liang, Dufter & Schütze 2020). Imports no torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import filled_lines, is_parquet
from biasflow.base.genders import OF_WORDS
from biasflow.base.tabular import table_rows
from biasflow.corpora.records import refuse
from biasflow.corpora.seat import DENSRAY_TESTS, AssociationTest, densray_test, in_sentences, read_association_test
from biasflow.corpora.word_sets import read_chinese_professions, read_professions, read_word_sets, text_columns
from biasflow.planted.association import PLANTED, planted_test
from biasflow.planted.world import load_world
from biasflow.text.articles import article_by_sound

PLANTED_OCCUPATIONS = "planted-occupations"  # for the log-odds, which are compared with the planted shares of women
# Set of occupations -> external file and template of `occupation_sentences`; the planted sets need no file.
OCCUPATIONS = {
    "professions": ("professions", "released"),
    "professions-article": ("professions", "article"),
    "chinese-professions": ("chinese-professions", "chinese"),
    PLANTED: (None, "released"),
    PLANTED_OCCUPATIONS: (None, "said"),
}
READERS = {"professions": read_professions, "chinese-professions": read_chinese_professions}
CHINESE = "chinese-professions"
LONGEST = 200  # characters of an occupation in a user's list
OWN_SLOT = "{occupation}"
UNIT = ("item",)  # whose rows a limited sample keeps together
MASK = "[MASK]"
# The name of a template -> how an occupation goes into it, and the sentence.
# "released": what the authors' code runs, "a" before vowels as well; the paper itself prints "an". Both are kept.
# "said": for the planted occupations, which the planted corpus has in such sentences.
TEMPLATES = {
    "released": ("a {}".format, "[MASK] is {} ."),
    "article": (article_by_sound, "[MASK] is {} ."),
    "chinese": (str, "[MASK]是一个{}。"),
    "said": (str, "The {} said that [MASK] was late."),
}
# The pronouns that stand for [MASK] in each template: masculine, feminine.
PRONOUNS = {"released": ("he", "she"), "article": ("he", "she"), "chinese": ("他", "她"), "said": ("he", "she")}


@dataclass(frozen=True)
class OccupationSet:
    """Occupations, a sentence with one [MASK] for each, the masculine and the feminine pronoun that stand for it, and
    whether a pronoun may have several pieces."""

    occupations: Sequence[str]
    sentences: Sequence[str]
    pronouns: tuple[str, str]
    pieces: bool = False


def read_occupation_set(
    name: str,
    path: str | Path | None = None,
    *,
    templates: Sequence[str] | None = None,
    pronouns: Sequence[str] | None = None,
) -> OccupationSet:
    """Read the set of this name: one of OCCUPATIONS, from `path` if it has a file, or a user's set.

    The file of one's own has an occupation a line, or is a table with the column occupation; each of `templates` has
    [MASK] and {occupation}, and every occupation stands in every one, the first first; `pronouns` are the masculine and
    the feminine one. BiasflowError: a file without occupations, one that is there twice, pronouns as `check_pronouns`.
    """
    if templates is not None:
        return _own_set(path, templates, pronouns)
    file, known = OCCUPATIONS[name]
    occupations = READERS[file](path) if file else list(load_world().occupations)
    return OccupationSet(occupations, occupation_sentences(occupations, known), PRONOUNS[known])


def check_pronouns(masculine: str, feminine: str) -> None:
    """Raise BiasflowError for two pronouns that are equal but for capitals and spaces: a sentence that begins with
    one, and every encoder that lower-cases, has the same word for both."""
    if masculine.strip().casefold() == feminine.strip().casefold():
        raise BiasflowError(
            f"the pronouns {masculine!r} and {feminine!r} are one word for an encoder that lower-cases; give two words."
        )


def _own_set(path: str | Path, templates: Sequence[str], pronouns: Sequence[str]) -> OccupationSet:
    check_pronouns(*pronouns)
    names = _occupations(path)
    refuse(path, names, names.duplicated(), "is there already; name it once")
    refuse(path, names, names.str.len() > LONGEST, f"has more than {LONGEST} characters; write one occupation a line")
    control = ~names.map(str.isprintable)
    refuse(path, names, control, "holds a tab or another control character; write one occupation a line")
    if names.empty:
        raise BiasflowError(f"{path}: no occupation; write one a line.")
    sentences = [template.replace(OWN_SLOT, occupation) for template in templates for occupation in names]
    return OccupationSet(names.tolist() * len(templates), sentences, tuple(pronouns), pieces=True)


def _occupations(path: str | Path) -> pd.Series:
    """Line -> occupation: the column `occupation` of a table, or the lines of a file that is none."""
    lines = {} if is_parquet(path) else filled_lines(path)
    is_table = is_parquet(path) or Path(path).suffix == ".csv" or next(iter(lines.values()), "").startswith("{")
    if is_table or "occupation" in next(table_rows(path, ["occupation"]), (1, []))[1]:
        return text_columns(path, ["occupation"])["occupation"]
    return pd.Series(lines, name="occupation", dtype="str").rename_axis("line")


def read_own_test(
    name: str, path: str | Path, templates: Sequence[str] | None = None
) -> tuple[AssociationTest, AssociationTest]:
    """A user's association test from a table of words (`read_word_sets`), and what is measured: its words, or with
    `templates`, which have {word}, a sentence for every word and template."""
    words = read_word_sets(path, name)
    return words, words if templates is None else in_sentences(words, templates)


def read_test(name: str, path: str | Path | None = None) -> tuple[AssociationTest, bool]:
    """The association test of that name, from `path` unless it is the planted one, and whether it is one of words."""
    if name == PLANTED:
        return planted_test(), True
    test = read_association_test(path, name)
    return (densray_test(test), True) if name in DENSRAY_TESTS else (test, False)


def items(
    occupations: str | Path | None = None,
    *,
    name: str,
    templates: Sequence[str] | None = None,
    pronouns: Sequence[str] | None = None,
) -> pd.DataFrame:
    """What a user's log-probabilities are joined to: both pronouns in the sentences of every occupation, the feminine
    ones after the masculine ones. Columns set (its name), item (the occupation), sentence (with [MASK]), template (its
    number, from 0, if there are several), word, gender.

    Arguments and errors as of `read_occupation_set`."""
    occupation_set = read_occupation_set(name, occupations, templates=templates, pronouns=pronouns)
    table = pd.DataFrame({"set": name, "item": occupation_set.occupations, "sentence": occupation_set.sentences})
    if templates and len(templates) > 1:
        table["template"] = table.groupby("item").cumcount()
    pairs = zip(occupation_set.pronouns, OF_WORDS, strict=True)
    return pd.concat([table.assign(word=word, gender=gender) for word, gender in pairs], ignore_index=True)


def occupation_sentences(occupations: Sequence[str], template: str = "released") -> list[str]:
    """One sentence with one [MASK] per occupation, in their order.

    template: "released" ("[MASK] is a accountant ."), "article" ("[MASK] is an accountant ."), "chinese"
    ("[MASK]是一个会计。") or "said" ("The accountant said that [MASK] was late."); their pronouns are in PRONOUNS.
    """
    phrase, sentence = TEMPLATES[template]
    return [sentence.format(phrase(occupation)) for occupation in occupations]
