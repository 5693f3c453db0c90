"""Association tests as tables of words: four sets, a word a row."""

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.corpora.records import columns_of, read_records, refuse, refuse_unknown
from biasflow.corpora.seat import ROLES, AssociationTest, ExampleSet

COLUMNS = ("role", "set_name", "word")
LEAST = 2  # words of a set: one alone has no spread
SINGLE = re.compile(r"\w+")


def read_word_sets(path: str | Path, name: str, *, single: bool = False) -> AssociationTest:
    """Read an association test, to be called `name`, from a table with the columns role (X, Y, A or B), set_name and
    word, a word a row: CSV, or what else `read_records` reads.

    The words keep the file's order. single: whether every word must be one that texts are searched for (letters, digits
    and underscores). Errors as `word_table` and `test_of`."""
    return test_of(path, name, word_table(path, COLUMNS, single=single))


def word_table(path: str | Path, columns: Sequence[str], *, single: bool = False) -> pd.DataFrame:
    """The columns of a table of words, which are text without spaces around it.

    BiasflowError names the file, the line and what is wrong: a column that is missing, an empty cell, a role that is
    none, a word that is not `single`."""
    table = text_columns(path, columns)
    refuse_unknown(path, table["role"], list(ROLES))
    if single:
        several = ~table["word"].map(lambda word: bool(SINGLE.fullmatch(word)))
        refuse(path, table["word"], several, "is more than one word; texts are searched for single words")
    return table


def text_columns(path: str | Path, columns: Sequence[str]) -> pd.DataFrame:
    """The columns of a table, every cell filled and without spaces around it; index and name as of `read_records`.

    BiasflowError names the file and a column that is missing, the line of an empty cell, or that there is no row."""
    table = read_records(path, columns)
    table = table[list(columns_of(path, table, columns))].map(lambda cell: "" if cell is None else str(cell).strip())
    for _, cells in table.items():
        refuse(path, cells, cells == "", "is an empty cell; fill it, or remove the row")
    return table


def test_of(path: str | Path, name: str, rows: pd.DataFrame) -> AssociationTest:
    """Make the association test from rows of `word_table`.

    BiasflowError names the file, and the line of a word that is in the test twice (most encoders do not tell capitals,
    so they do not make another word); a set with two names, or with fewer than two words."""
    words = rows["word"]
    refuse(path, words, words.str.casefold().duplicated(), f"is in test {name} twice; name a word once")
    return AssociationTest(name, **{role: _set(path, name, role, rows) for role in ROLES})


def _set(path: str | Path, test: str, role: str, rows: pd.DataFrame) -> ExampleSet:
    members = rows[rows["role"] == role]
    if len(members) < LEAST:
        raise BiasflowError(f"{path}: test {test}: role {role} has {len(members)} word(s); give at least {LEAST}.")
    names = members["set_name"].unique()
    if len(names) > 1:
        raise BiasflowError(f"{path}: test {test}: role {role} has two names, {names[0]!r} and {names[1]!r}; keep one.")
    return ExampleSet(names[0], tuple(members["word"]))
