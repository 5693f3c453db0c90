"""Lists of words: association tests and word pairs as tables, a user's; the word pairs of the Google analogy test set
(Mikolov et al. 2013); 320 English occupations (Bolukbasi et al. 2016) and 302 Chinese ones (Liang et al. 2020)."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import filled_lines, read_json
from biasflow.corpora.records import read_columns, read_records, refuse
from biasflow.corpora.seat import ROLES, AssociationTest, ExampleSet

COLUMNS = ("role", "set_name", "word")
LEAST = 2  # words of a set: one alone has no spread
SINGLE = re.compile(r"\w+")
SECTION = "family"  # of the Google analogy test set: masculine-feminine word pairs
ENGLISH_NAME = re.compile(r"[a-z]+(_[a-z]+)*")
CHINESE_NAME = re.compile(r"[\u4e00-\u9fff]+")


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
    refuse(path, table["role"], ~table["role"].isin([*ROLES]), f"is none of {', '.join(ROLES)}")
    if single:
        several = ~table["word"].map(lambda word: bool(SINGLE.fullmatch(word)))
        refuse(path, table["word"], several, "is more than one word; texts are searched for single words")
    return table


def text_columns(path: str | Path, columns: Sequence[str]) -> pd.DataFrame:
    """The columns of a table, every cell filled and without spaces around it; index and name as of `read_records`.

    BiasflowError names the file and a column that is missing, the line of an empty cell, or that there is no row."""
    table = read_columns(path, columns)[list(columns)].map(lambda cell: "" if cell is None else str(cell).strip())
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


def read_family_pairs(path: str | Path) -> tuple[tuple[str, str], ...]:
    """Read the pairs (masculine, feminine) of the section `family`: each once, in the order in which they first occur.

    A section is a line `: NAME` and the lines up to the next such line; each holds an analogy of four words, a b c d (a
    is to b as c is to d), hence the pairs (a, b) and (c, d). Words are lower-cased. BiasflowError names the file, and
    the line where there is one: not readable, not UTF-8, no such section or an empty one, a line without exactly four
    words, a word that is masculine in one pair and feminine in another."""
    pairs: dict[tuple[str, str], None] = {}
    gender: dict[str, int] = {}
    inside = False
    for number, line in filled_lines(path).items():
        words = line.lower().split()
        if line.startswith(":"):
            inside = line[1:].strip() == SECTION
        elif inside and len(words) != 4:
            raise BiasflowError(f"{path}: line {number}: {len(words)} words; an analogy has four.")
        elif inside:
            pairs |= dict.fromkeys([tuple(words[:2]), tuple(words[2:])])
            for place, word in enumerate(words):
                if gender.setdefault(word, place % 2) != place % 2:
                    raise BiasflowError(
                        f"{path}: line {number}: {word!r} is both masculine and feminine; the first word of a pair "
                        "must be the masculine one."
                    )
    if not pairs:
        raise BiasflowError(f"{path}: no analogies in a section `: {SECTION}`; is this the Google analogy test set?")
    return tuple(pairs)


def read_professions(path: str | Path) -> list[str]:
    """The occupations of professions.json in its order, with spaces for underscores ("adjunct professor").

    The file is a list of [name, definitional score, stereotype score]; the scores are not read. BiasflowError names
    the file and the entry (from 1) that is no such list, or whose name is no lower-case English one or is repeated."""
    entries = read_json(path)
    if not isinstance(entries, list):
        raise BiasflowError(f"{path}: the file holds no list of occupations; is it professions.json?")
    for number, entry in enumerate(entries, start=1):
        if not (isinstance(entry, list) and entry and isinstance(entry[0], str)):
            raise BiasflowError(f"{path}: entry {number}: {entry!r} is no list that begins with a name; mend it.")
    names = pd.Series([entry[0] for entry in entries], range(1, len(entries) + 1), dtype=object)
    return [name.replace("_", " ") for name in _occupations(path, names.rename_axis("entry"), ENGLISH_NAME)]


def read_chinese_professions(path: str | Path) -> list[str]:
    """The occupations of the Chinese list in its order, one a line; blank lines are skipped.

    BiasflowError names the file and the line whose name is not in Chinese characters or is repeated."""
    return _occupations(path, pd.Series(filled_lines(path), dtype=object).rename_axis("line"), CHINESE_NAME)


def _occupations(path: str | Path, names: pd.Series, pattern: re.Pattern) -> list[str]:
    """The names, each of which matches `pattern` and occurs once; their index is the place in the file."""
    names = names.rename("occupation")
    refuse(path, names, ~names.map(lambda name: bool(pattern.fullmatch(name))), "is no occupation; mend the file")
    refuse(path, names, names.duplicated(), "is there already; name it once")
    if names.empty:
        raise BiasflowError(f"{path}: no occupation; check the file.")
    return names.tolist()


class WordPairs(NamedTuple):
    """Pairs of words. groups: the names of the two groups; words: those of the first and of the second, row by row."""

    groups: tuple[str, str]
    words: tuple[Sequence[str], Sequence[str]]


def read_word_pairs(path: str | Path) -> WordPairs:
    """Read a table of two columns, whose header names the two groups, with a pair of words a row: CSV, or what else
    `read_records` reads.

    BiasflowError names the file, the line and what is wrong: another number of columns, an empty cell, more than one
    word in a cell, a word of both groups (capitals do not make another word), a pair that is there twice, no pair."""
    groups = tuple(read_records(path).attrs["columns"])
    if len(groups) != 2 or not all(map(str.strip, groups)):
        raise BiasflowError(
            f"{path}: {len(groups)} columns; give two, headed by the names of the groups, with a pair of words a row."
        )
    table = text_columns(path, groups)
    folded = table.map(str.casefold)
    for group, other in (groups, groups[::-1]):
        several = ~table[group].map(lambda word: bool(SINGLE.fullmatch(word)))
        refuse(path, table[group], several, "is more than one word; texts are searched for single words")
        both = folded[group].isin(folded[other])
        refuse(path, table[group], both, f"is in the column {other}, too; a word belongs to one group")
    refuse(path, table[groups[0]], folded.duplicated(), "appears twice with the same partner; remove one of the rows")
    first, second = (tuple(table[group]) for group in groups)
    return WordPairs(groups, (first, second))


def split_words(tokenizer, words: Iterable[str]) -> list[str]:
    """Return the words that a tokenizer (of the package tokenizers) splits into several tokens within a text, or does
    not know."""
    tokenizer.no_padding()  # which a file may hold, as do those of sentence encoders
    tokenizer.no_truncation()
    unknown = getattr(tokenizer.model, "unk_token", None)
    result = []
    for word in dict.fromkeys(words):
        tokens = tokenizer.encode(f" {word}", add_special_tokens=False).tokens
        if len(tokens) != 1 or tokens[0] == unknown:
            result.append(word)
    return result
