"""Ranked lists of a user's search engine, and what is known of the documents in them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import text_lines
from biasflow.base.genders import GENDERS
from biasflow.corpora.bios import GENDER_OF
from biasflow.corpora.records import read_columns, refuse
from biasflow.text.gender_lexicon import WORD
from biasflow.text.gender_swap import genders_in

RUN = ("query", "q0", "document", "rank", "score", "run")  # columns of a TREC run, which has no header
GENDER, TEXT, WORDS = "genders", "texts", "words"  # roles of the files that say something of documents


def read_rankings(runs: Sequence[Path], **about: Path) -> pd.DataFrame:
    """Return the documents of ranked lists: query, document, score (larger is nearer), and what the other files say of
    them: gender ("" where none is known), and how many masculine and feminine words they have (NaN without a text).

    runs: TREC runs (six columns without a header, by score), or tables with query, document, and rank or score.
    genders: a table with document and gender; texts: one with document and text, whose words are those of the swapper,
    names apart, or of the table `words` (word, gender). BiasflowError in one line for what cannot be read, a document
    that is twice in a list, and files that say nothing of the documents."""
    lists = pd.concat([_read(path) for path in runs], ignore_index=True)
    twice = lists.duplicated(["query", "document"])
    if twice.any():
        row = lists[twice].iloc[0]
        raise BiasflowError(f"{runs[-1]}: query {row['query']}: document {row['document']} is there twice; keep one")
    table = lists.assign(gender="", masculine=float("nan"), feminine=float("nan"))
    if GENDER in about:
        table["gender"] = lists["document"].map(_by_document(about[GENDER], "gender")).fillna("")
        missing = [gender for gender in GENDERS if not (table["gender"] == gender).any()]
        if missing:
            raise BiasflowError(f"{about[GENDER]}: no document of the lists has gender {missing[0]}; give both genders")
    if TEXT in about:
        counts = _by_document(about[TEXT], "text").map(_counter(about.get(WORDS)))
        found = lists["document"].map(counts)
        if found.isna().all():
            raise BiasflowError(f"{about[TEXT]}: has no document of the lists; are the names those of the lists?")
        for place, gender in enumerate(("masculine", "feminine")):
            table[gender] = found.str[place]
    return table


def _read(path: Path) -> pd.DataFrame:
    """The lists of one file: query, document, score."""
    first = next((line.split() for line in text_lines(path) if line.strip()), [])
    if len(first) == len(RUN) and "," not in "".join(first) and first[0] != RUN[0]:
        rows = [(number, line.split()) for number, line in enumerate(text_lines(path), start=1) if line.strip()]
        short = [number for number, row in rows if len(row) != len(RUN)]
        if short:
            raise BiasflowError(f"{path}: line {short[0]}: has no six columns, as a TREC run has; mend it")
        places, records = zip(*rows, strict=True)
        table, by = pd.DataFrame(records, columns=RUN, index=pd.Index(places, name="line")), "score"
    else:
        table = read_columns(path, ("query", "document"), ("rank", "score"))
        by = next((name for name in ("rank", "score") if name in table), None)
        if by is None:
            raise BiasflowError(f"{path}: no column rank or score; give one of them")
    for name in ("query", "document"):
        refuse(path, table[name], table[name].fillna("").astype(str).str.strip() == "", "is empty; fill it in")
    number = pd.to_numeric(table[by], errors="coerce")
    refuse(path, table[by], ~number.abs().lt(float("inf")), "is no finite number")
    return table[["query", "document"]].astype(str).assign(score=-number if by == "rank" else number)


def _by_document(path: Path, column: str) -> pd.Series:
    """A column of a table by document; a gender as F, M or ""."""
    table = read_columns(path, ("document", column))
    refuse(path, table["document"], table["document"].duplicated(), "is there a second time; keep one row of each")
    values = table[column].fillna("").astype(str)
    if column == "gender":
        values = values.str.strip().str.lower()
        refuse(path, table[column], (values != "") & ~values.isin(GENDER_OF), "is neither F, M nor empty")
        values = values.map(GENDER_OF).fillna("")
    return values.set_axis(table["document"].astype(str))


def _counter(words: Path | None) -> Callable[[str], tuple[int, ...]]:
    """The function that counts the masculine and the feminine words of a text."""
    if words is None:
        known = None
    else:
        table = read_columns(words, ("word", "gender"))
        gender = table["gender"].astype(str).str.strip().str.lower().map(GENDER_OF)
        refuse(words, table["gender"], gender.isna(), "is neither F nor M")
        known = dict(zip(table["word"].astype(str).str.strip().str.lower(), gender, strict=True))

    def counts(text: str) -> tuple[int, ...]:
        if known is None:
            found = [gender for gender, is_name in genders_in(text) if not is_name]
        else:
            found = [known.get(piece) for piece in WORD.findall(text.lower())]
        return tuple(found.count(gender) for gender in GENDERS)

    return counts
