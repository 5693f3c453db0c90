"""A user's word pairs: two groups of words to which erasers are fitted."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from biasflow.base.errors import BiasflowError
from biasflow.corpora.records import read_records, refuse
from biasflow.corpora.word_sets import SINGLE, text_columns


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
