"""The sentences of a file of WikiText, as several tests take them."""

from pathlib import Path

from biasflow.corpora.wikitext import read_articles, sentences_of


def read_wikitext(path: Path, *, whole: bool = False) -> list[list[str]]:
    """By article."""
    return sentences_of(read_articles(path), whole=whole)
