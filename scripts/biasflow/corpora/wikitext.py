"""WikiText (Merity et al. 2017), from *.tokens or Parquet files: the text as released, its sentences in natural text,
and what the sentences leave out."""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import is_parquet, read_text
from biasflow.corpora.documents import parquet_texts

TITLE = re.compile(r"= (?!=).*(?<!=) =")
UNKNOWN = "<unk>"
BLANK = " \n"  # a blank line of wiki.*.tokens
JOINERS = {"@-@": "-", "@,@": ",", "@.@": "."}  # hyphens and numbers that the tokenisation broke up
ENDS = {".", "!", "?"}
CLOSING = {",", ";", ":", "%", "°", "...", ")", "]", "}", "”", "’", *ENDS}  # no space before
OPENING = {"(", "[", "{", "“", "‘", "$", "£", "€", "¥", "#"}  # no space after
QUOTES = {'"', "'"}  # opening and closing look alike: they alternate within a paragraph
STARTS = re.compile(r"[A-Z0-9À-ÞŠŽŒ\"'(\[“‘$£€¥#<]")  # how a sentence may begin; < is from <unk>

# Kinds of pieces in an article; a sentence is of the first kind that fits.
HEADING, UNKNOWN_WORD, NO_FULL_STOP, SHORT, WHOLE = (
    "heading", "sentence with <unk>", "no full stop", "one or two words", "whole sentence",
)  # fmt: skip
KINDS = (HEADING, UNKNOWN_WORD, NO_FULL_STOP, SHORT, WHOLE)
SENTENCES = KINDS[1:]


@dataclass(frozen=True)
class Piece:
    """A heading or a sentence: its kind (of KINDS), its text in natural English, and its words as the file has them."""

    kind: str
    text: str
    words: tuple[str, ...]


def running_text(path: str | Path) -> str:
    """The text as released, as one string: headings, "<unk>" and " @-@ " as they are.

    A Parquet file gives the very bytes of wiki.*.tokens: its rows are the lines, with "" for a blank one. Errors as in
    `read_articles`."""
    return "".join(_rows(Path(path)))


def read_articles(path: str | Path) -> list[list[Piece]]:
    """The articles of a WikiText file, each a list of all its headings and sentences.

    A file is text (wiki.*.tokens) or Parquet (column `text`, as on the hub); its first bytes tell. BiasflowError names
    the file and what is wrong."""
    articles = _articles(Path(path), [row.strip() for row in _rows(Path(path))])
    if not any(piece.kind == WHOLE for article in articles for piece in article):
        raise BiasflowError(f"{path}: no sentence found; is this WikiText?")
    return articles


def sentences_of(articles: Iterable[Iterable[Piece]], *, whole: bool = False) -> list[list[str]]:
    """The sentences of each article in natural text: all of them or, with `whole`, only those that end in a full stop,
    have three words or more and no <unk>. Articles left with none are left out."""
    kinds = {WHOLE} if whole else set(SENTENCES)
    by_article = ([piece.text for piece in article if piece.kind in kinds] for article in articles)
    return [sentences for sentences in by_article if sentences]


def contents(articles: Iterable[Iterable[Piece]], words: tuple[Iterable[str], Iterable[str]]) -> pd.DataFrame:
    """Return what the text consists of, and so what its sentences leave out: a row for each of KINDS, and one for all.

    Columns: kind; pieces (headings or sentences); words (separated by blanks, as the file has them); masculine,
    feminine (occurrences of `words`, lower-cased); in_sentences, in_whole_sentences (yes or no: whether the sentences
    of `sentences_of` have it)."""
    gendered = [set(some) for some in words]
    rows = [
        (piece.kind, 1, len(piece.words), *(sum(word.lower() in some for word in piece.words) for some in gendered))
        for article in articles
        for piece in article
    ]
    counts = pd.DataFrame(rows, columns=["kind", "pieces", "words", "masculine", "feminine"])
    table = counts.groupby("kind").sum().reindex(KINDS, fill_value=0)
    total = table.sum().to_frame("all").T
    table["in_sentences"] = np.where(table.index.isin(SENTENCES), "yes", "no")
    table["in_whole_sentences"] = np.where(table.index == WHOLE, "yes", "no")
    return pd.concat([table, total]).fillna("").rename_axis("kind").reset_index()


def natural_sentences(paragraph: str) -> list[tuple[str, tuple[str, ...]]]:
    """Split a tokenised paragraph into sentences and undo the tokenisation: ` @-@ `, ` , `, ` 's`, quotes, brackets.
    The natural text of each, and its tokens.

    A sentence ends at a full stop that is a token of its own (the tokenisation leaves those of abbreviations and
    initials attached: `Mr.`, `H.`), with the quotes and brackets that close after it, before a token that can begin
    another sentence."""
    tokens = paragraph.split()
    sentences, first, text, glue, opened = [], 0, "", True, dict.fromkeys(QUOTES, False)
    ended = False
    for position, token in enumerate(tokens):
        closing = _closes(token, tokens[position - 1] if position else "", opened)
        if ended and not (closing and token not in ENDS) and STARTS.match(token):
            sentences.append((text, tuple(tokens[first:position])))
            first, text, glue = position, "", True
        ended = token in ENDS or (ended and closing)
        if token in JOINERS or token == "/" or (token == "–" and _between_digits(tokens, position)):
            text, glue = text + JOINERS.get(token, token), True
        else:
            text += token if glue or closing else f" {token}"
            glue = token in OPENING or (token in QUOTES and not closing)
    return [*sentences, (text, tuple(tokens[first:]))] if text else sentences


def _closes(token: str, previous: str, opened: dict[str, bool]) -> bool:
    """Whether the token stands close to the one before it; keeps account of the quotes."""
    if token in QUOTES:
        if token == "'" and not opened[token] and previous.endswith("s"):  # the players ' union
            return True
        opened[token] = not opened[token]
        return not opened[token]
    return token in CLOSING or (token[0] == "'" and len(token) > 1)  # 's, 't (don 't), 'Brien


def _between_digits(tokens: list[str], position: int) -> bool:
    return 0 < position < len(tokens) - 1 and tokens[position - 1][-1].isdigit() and tokens[position + 1][0].isdigit()


def _rows(path: Path) -> Iterator[str]:
    """The lines of a file with their ends."""
    if is_parquet(path):
        return (row or BLANK for row in parquet_texts(path, ["text"]))
    # Not splitlines: the articles hold other characters that it takes for line ends.
    return io.StringIO(read_text(path, exact=True), newline="\n")


def _articles(path: Path, lines: list[str]) -> list[list[Piece]]:
    """The articles of one file: a title is `= Title =` between blank lines (lines of formulas look alike)."""
    articles: list[list[Piece]] = []
    for number, line in enumerate(lines):
        blank_around = not any(lines[max(number - 1, 0) : number]) and not any(lines[number + 1 : number + 2])
        if TITLE.fullmatch(line) and blank_around:
            articles.append([])
        elif line and not articles:
            raise BiasflowError(f"{path}: line {number + 1}: text before the first title (= Title =): not WikiText.")
        if line.startswith("= "):
            articles[-1].append(Piece(HEADING, line, tuple(line.split())))
        elif line:
            articles[-1] += [Piece(_kind(text), text, words) for text, words in natural_sentences(line)]
    return articles


def _kind(sentence: str) -> str:
    if UNKNOWN in sentence:
        return UNKNOWN_WORD
    if sentence.rstrip("\"')]}”’")[-1:] not in ENDS:
        return NO_FULL_STOP
    return WHOLE if sentence.count(" ") >= 2 else SHORT
