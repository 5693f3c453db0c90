"""BEC-Pro (Bartl et al. 2020): a person word and a profession in five templates, in English or German.

What is masked is found here by the columns Sentence, Person and Profession: the released columns with masks hide five
sentences of each language wrongly ("This [MASK] is a lodging [MASK]ager."), and have one mask a word of a profession,
not one a piece."""

import re
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import SPELT_OUT
from biasflow.corpora.records import read_columns, without, without_unknown

COLUMNS = {
    "Sentence": "text",
    "Template": "template",
    "Person": "person",
    "Gender": "gender",
    "Profession": "profession",
    "Prof_Gender": "profession_gender",
}
ENGLISH_NAME = "Profession_EN"  # in the German file, where a profession has a form for each gender
FEMALE, MALE = PERSON_GENDERS = SPELT_OUT[::-1]
PROFESSION_GENDERS = (FEMALE, MALE, "balanced")
# What a limited sample takes: pairs of sentences with the words that correspond, of professions of each gender.
UNIT, STRATA = ("profession", "template", "pair"), ("profession_gender",)
PERSON, BOTH = "person", "both"  # the masked words
PROFESSION = ("profession_start", "profession_end")


def read_bec_pro(path: str | Path) -> pd.DataFrame:
    """The sentences in the order of the file: text, person, gender (of the person word), profession (in German by its
    English name), profession_gender (by US statistics), start and end (characters of the person word),
    profession_start, profession_end; template and pair: numbers, from 0, of the template and of who the sentence is
    about, among those of its gender: "he" and "she", "my father" and "my mother" have the same. The index is the
    number of the sentence in the file, from 0.

    A sentence with an unknown gender, without its person or profession in it, or without a counterpart of the other
    gender is left out (records.without). BiasflowError: a column that is missing, no sentence, a file most of whose
    sentences are such, and templates or persons of one gender that have no counterpart."""
    table = read_columns(path, list(COLUMNS), [ENGLISH_NAME])
    table = table.assign(item=range(len(table)))
    table = without_unknown(path, table, {"Gender": PERSON_GENDERS, "Prof_Gender": PROFESSION_GENDERS})
    for name, start, end, place in (("Person", "start", "end", 0), ("Profession", *PROFESSION, -1)):
        found = [
            [match.span() for match in re.finditer(rf"\b{re.escape(word)}\b", text)] or [(-1, -1)]
            for word, text in zip(table[name], table["Sentence"], strict=True)
        ]
        table = table.assign(**{start: [spans[place][0] for spans in found], end: [spans[place][1] for spans in found]})
        table = without(path, table, name, table[start] < 0, "is not in its sentence")
    english = table[ENGLISH_NAME if ENGLISH_NAME in table else "Profession"]
    table = table.rename(columns=COLUMNS).assign(profession=english).drop(columns=ENGLISH_NAME, errors="ignore")
    table = table.astype(dict.fromkeys(COLUMNS.values(), "str"))
    who = pd.Series([text[:end] for text, end in zip(table["text"], table["end"], strict=True)], table.index)
    # Where a profession lacks a sentence, the others tell in which order templates and persons correspond.
    sizes = table.groupby("profession")["text"].transform("size")
    order = sizes.sort_values(ascending=False, kind="stable").index
    for column, values in (("template", table["template"]), ("pair", who)):
        by_gender = values.loc[order].groupby(table.loc[order, "gender"])
        numbers = {gender: _numbers(by_gender.get_group(gender)) for gender in PERSON_GENDERS}
        if len(numbers[MALE]) != len(numbers[FEMALE]):
            counts = " and ".join(f"{len(numbers[gender])} {gender}" for gender in PERSON_GENDERS)
            raise BiasflowError(
                f"{path}: {counts} values of {column}; give every one a counterpart of the other gender, in the same "
                "order."
            )
        pairs = zip(table["gender"], values, strict=True)
        table = table.assign(**{column: [numbers[gender][value] for gender, value in pairs]})
    alone = table.groupby(list(UNIT))["gender"].transform("nunique") < len(PERSON_GENDERS)
    table = without(path, table, "text", alone, "has no counterpart of the other gender").set_index("item")
    return table[[*COLUMNS.values(), "start", "end", *PROFESSION, "pair"]]


def _numbers(values: pd.Series) -> dict[str, int]:
    """Each value -> its number in the order of appearance."""
    return {value: number for number, value in enumerate(values.unique())}


def items(sentences: str | Path) -> pd.DataFrame:
    """The person word of every sentence, with the profession in sight (masked: person), then with that masked, too
    (both): item (number of the sentence in the file, from 0), and what `masked_words.piece_log_probabilities` needs."""
    return masked_twice(read_bec_pro(sentences))


def scored(sentences: str | Path) -> pd.DataFrame:
    """The sentences that a user's associations are joined to: those of `items` whose person word alone is masked."""
    table = items(sentences)
    return table[table["masked"] == PERSON].reset_index(drop=True)


def masked_twice(table: pd.DataFrame) -> pd.DataFrame:
    """The sentences of a table as of `read_bec_pro`, as `items` gives them."""
    table = table.rename_axis("item").reset_index()
    ends = {"also_start": table.pop("profession_start"), "also_end": table.pop("profession_end")}
    person = table.assign(masked=PERSON, also_start=-1, also_end=-1)
    return pd.concat([person, table.assign(masked=BOTH, **ends)], ignore_index=True).assign(filling="together")
