"""Articles of Wikipedias: of the Chinese one as lists of sentences, from `<doc>` blocks (WikiExtractor) or Parquet (the
hub); of the English one paragraph by paragraph, from Parquet of any size."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.files import is_parquet, read_text
from biasflow.corpora.documents import ROWS, parquet_texts
from biasflow.corpora.records import parquet_file

ENGLISH_WIKIPEDIA = "english-wikipedia"  # a sharded data set of the catalogue
CHARACTERS = 1_000_000  # of the hub's file a small part does
ARTICLE = re.compile(r'<doc id="([^"]*)"[^>]* title="([^"]*)">\n(.*?)</doc>', re.DOTALL)
SENTENCE_ENDS = (".", "!", "?")
CLOSING = "\"'”’)] "  # characters that may follow them
SENTENCE = re.compile(r"[^。！？]*[。！？]+[」』”’）》]*|[^。！？]+")  # with its end, and closing characters after it


def read_chinese_wikipedia(paths: Iterable[str | Path], *, characters: int = CHARACTERS) -> list[list[str]]:
    """The first articles of the files, up to that many characters in all, each a list of its sentences.

    A file has `<doc id= title=>` blocks, or the columns id and text (Parquet); its first bytes tell. A sentence ends at
    a Chinese full stop, at an exclamation or question mark, and at a line's end; nothing but titles is left out. An
    article with an id that was there before is passed over: of a file that is given twice nothing is read twice.
    BiasflowError names a file without articles, or that cannot be read."""
    articles: dict[str, list[str]] = {}
    for path in map(Path, paths):
        empty = True
        for identity, text in _articles(path):
            empty = False
            if characters <= 0:
                break
            if identity not in articles and (sentences := chinese_sentences(text)):
                articles[identity] = sentences
                characters -= len(text)
        if empty:
            raise BiasflowError(f"{path}: no article; it needs <doc> blocks, or Parquet with the columns id and text.")
    return list(articles.values())


def chinese_sentences(text: str) -> list[str]:
    """The sentences of a text, line by line."""
    return [sentence.strip() for line in text.split("\n") for sentence in SENTENCE.findall(line) if sentence.strip()]


def read_paragraphs(path: str | Path) -> Iterator[str]:
    """The paragraphs of the articles in a Parquet file with the column text, one at a time, in the file's order.

    A paragraph is a line that ends as a sentence does. So headings ("Career", "Family"), captions, the items of most
    lists and what is left of tables are passed over: a word in them has no context. BiasflowError names a file that is
    no Parquet or has no such column, when the first paragraph is asked for."""
    for article in parquet_texts(path):
        for line in article.split("\n"):
            paragraph = line.strip()
            if paragraph.rstrip(CLOSING).endswith(SENTENCE_ENDS):
                yield paragraph


def _articles(path: Path) -> Iterator[tuple[str, str]]:
    """Id and text of the articles, one at a time."""
    if not is_parquet(path):
        for identity, title, text in ARTICLE.findall(read_text(path)):
            yield identity, text.removeprefix(f"{title}\n")
        return
    with parquet_file(path) as file:
        if not {"id", "text"} <= {*file.schema_arrow.names}:
            raise BiasflowError(f"{path}: needs the columns id and text; it has {', '.join(file.schema_arrow.names)}.")
        for batch in file.iter_batches(ROWS, columns=["id", "text"]):
            for row in batch.to_pylist():
                yield str(row["id"]), row["text"] or ""
