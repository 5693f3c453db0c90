"""Queries with documents in masculine, feminine and neutral wording, which a search engine ranks.

Two published sets: Grep-BiasIR (Krieg et al. 2023), where the wordings of a document differ in words of gender, and
GenderBias-QA (Kim et al. 2025), where a language model wrote answers about women and about men, which differ in more
than gender."""

from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.corpora.records import read_columns, without_empty, without_unknown

FEMININE, MASCULINE, NEUTRAL = WORDINGS = ("F", "M", "N")
GREP_COLUMNS = ("q_id", "relevant", "query", "doc_title", "document", "content_gender", "exp_stereotype")
EXPECTED = {"towards female": FEMININE, "towards male": MASCULINE}  # in lower case: the files spell it in two ways
ANSWERS = {"bias1-document1": FEMININE, "bias1-document2": FEMININE} | {
    "bias2-document1": MASCULINE,
    "bias2-document2": MASCULINE,
}
TITLE, DOCUMENT = "title", "document"  # what is read of a document: its title before it, or it alone
UNIT = ("item",)


def items(**files: Path) -> pd.DataFrame:
    """Return a row for each query, document and reading of its text: item (which query), query, text, reading (title or
    document), relevant (whether the document answers the query), wording (F, M, N), and expected (the wording that
    annotators expect, "" where they do not agree).

    files: Grep-BiasIR, a file for each category, or GenderBias-QA (`answers`, and a second file). Documents of another
    wording, or without text, are left out (records.without). BiasflowError: a column that is missing, or a query that
    has several documents of one wording and relevance."""
    if "answers" in files:
        return pd.concat([_answers(path, role) for role, path in files.items()], ignore_index=True)
    table = pd.concat([_worded(path) for path in files.values()], ignore_index=True)
    whole = {TITLE: (table["doc_title"] + " " + table["document"]).str.strip(), DOCUMENT: table["document"]}
    read = [table.assign(text=text, reading=reading) for reading, text in whole.items()]
    return pd.concat(read, ignore_index=True)[["item", "query", "text", "reading", "relevant", "wording", "expected"]]


def _worded(path: Path) -> pd.DataFrame:
    """The documents of one category of Grep-BiasIR."""
    table = read_columns(path, GREP_COLUMNS)
    table.index.name = f"{Path(path).stem} {table.index.name}"  # items are named over all files
    table = without_unknown(path, table, {"content_gender": WORDINGS, "relevant": "01"})
    table = without_empty(path, table, "query", "document")
    twice = table.duplicated(["q_id", "relevant", "content_gender"])
    if twice.any():
        row = table[twice].iloc[0]
        raise BiasflowError(
            f"{path}: {table.index.name} {twice.idxmax()}: query {row['q_id']} has a second document with relevant = "
            f"{row['relevant']} and content_gender = {row['content_gender']}; keep one."
        )
    expected = table["exp_stereotype"].fillna("").str.lower().map(EXPECTED).fillna("")
    table = table.assign(expected=expected, relevant=table["relevant"] == "1", doc_title=table["doc_title"].fillna(""))
    return table.rename(columns={"q_id": "item", "content_gender": "wording"})


def _answers(path: Path, role: str) -> pd.DataFrame:
    """The answers of one file of GenderBias-QA; those to the next question of another topic are not relevant."""
    table = read_columns(path, ["topic", "question", *ANSWERS])
    table = without_empty(path, table, "question", *ANSWERS).reset_index(drop=True)
    topics, n = table["topic"], len(table)
    others = [next((k for k in (*range(i + 1, n), *range(i)) if topics[k] != topics[i]), None) for i in range(n)]
    if None in others:
        raise BiasflowError(f"{path}: column topic: has one topic alone; give questions of two or more.")
    rows = [
        (f"{role}-{number}", table["question"][number], table[column][source], source == number, wording)
        for number, other in enumerate(others)
        for source in (number, other)
        for column, wording in ANSWERS.items()
    ]
    columns = ["item", "query", "text", "relevant", "wording"]
    return pd.DataFrame(rows, columns=columns).assign(reading=DOCUMENT, expected="")
