"""WikiText (Merity et al. 2017): articles as lists of sentences in natural text, from *.tokens or Parquet files."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.biasflow.base.errors import BiasflowError

TITLE = re.compile(r"= (?!=).*(?<!=) =")
UNKNOWN = "<unk>"
JOINERS = {"@-@": "-", "@,@": ",", "@.@": "."}  # hyphens and numbers that the tokenisation broke up
ENDS = {".", "!", "?"}
CLOSING = {",", ";", ":", "%", "°", "...", ")", "]", "}", "”", "’", *ENDS}  # no space before
OPENING = {"(", "[", "{", "“", "‘", "$", "£", "€", "¥", "#"}  # no space after
QUOTES = {'"', "'"}  # opening and closing look alike: they alternate within a paragraph
STARTS = re.compile(r"[A-Z0-9À-ÞŠŽŒ\"'(\[“‘$£€¥#<]")  # what a sentence may begin with: < of <unk>, too


def read_wikitext(paths: str | Path | Iterable[str | Path]) -> list[list[str]]:
    """Read WikiText files; returns the articles, each a list of its sentences in natural text.

    A file is text (wiki.*.tokens) or Parquet (column `text`, as on the hub); its first bytes tell. Left out: headings,
    what ends in no full stop (table rows, list items), sentences of one or two words, and sentences with an <unk>:
    its word is lost and no tokenizer knows the mark, so an encoder would learn its pieces as if they were English.
    Articles left with no sentence are left out, too. BiasflowError names the file and what is wrong."""
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    documents = [document for path in paths for document in _documents(Path(path), list(_lines(Path(path))))]
    if not documents:
        raise BiasflowError(f"{', '.join(map(str, paths))}: no sentence found; is this WikiText?")
    return documents


def natural_sentences(paragraph: str) -> list[str]:
    """Split a tokenised paragraph into sentences and undo the tokenisation: ` @-@ `, ` , `, ` 's`, quotes, brackets.

    A sentence ends at a full stop that is a token of its own (the tokenisation leaves those of abbreviations and
    initials attached: `Mr.`, `H.`), with the quotes and brackets that close after it, before a token that can begin
    another sentence."""
    tokens = paragraph.split()
    sentences, text, glue, opened = [], "", True, dict.fromkeys(QUOTES, False)
    ended = False
    for position, token in enumerate(tokens):
        closing = _closes(token, tokens[position - 1] if position else "", opened)
        if ended and not (closing and token not in ENDS) and STARTS.match(token):
            sentences.append(text)
            text, glue = "", True
        ended = token in ENDS or (ended and closing)
        if token in JOINERS or token == "/" or (token == "–" and _between_digits(tokens, position)):
            text, glue = text + JOINERS.get(token, token), True
        else:
            text += token if glue or closing else f" {token}"
            glue = token in OPENING or (token in QUOTES and not closing)
    return [sentence for sentence in [*sentences, text] if sentence]


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


def _lines(path: Path) -> Iterator[str]:
    try:
        with open(path, "rb") as stream:
            parquet = stream.read(4) == b"PAR1"
        text = "" if parquet else path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BiasflowError(f"{path}: byte {error.start + 1}: neither UTF-8 text nor Parquet.") from error
    except OSError as error:
        raise BiasflowError(f"{path}: cannot be read: {error.strerror}.") from error
    # Not splitlines: the articles hold other characters that it takes for line ends.
    return (line.strip() for line in (_parquet_text(path) if parquet else text.split("\n")))


def _parquet_text(path: Path) -> list[str]:
    from pyarrow import ArrowException  # slow to load, and needed for files from the hub only
    from pyarrow.parquet import read_table

    try:
        return [row or "" for row in read_table(path, columns=["text"])["text"].to_pylist()]
    except (ArrowException, KeyError, OSError) as error:
        raise BiasflowError(f"{path}: column text cannot be read as Parquet: {' '.join(str(error).split())}") from error


def _documents(path: Path, lines: list[str]) -> list[list[str]]:
    """The articles of one file: a title is `= Title =` between blank lines (lines of formulas look alike)."""
    documents: list[list[str]] = []
    for number, line in enumerate(lines):
        blank_around = not any(lines[max(number - 1, 0) : number]) and not any(lines[number + 1 : number + 2])
        if TITLE.fullmatch(line) and blank_around:
            documents.append([])
        elif line and not line.startswith("= "):
            if not documents:
                raise BiasflowError(
                    f"{path}: line {number + 1}: text before the first title (= Title =): not WikiText."
                )
            documents[-1] += [sentence for sentence in natural_sentences(line) if _is_whole(sentence)]
    return [document for document in documents if document]


def _is_whole(sentence: str) -> bool:
    return UNKNOWN not in sentence and sentence.rstrip("\"')]}”’")[-1:] in ENDS and sentence.count(" ") >= 2
