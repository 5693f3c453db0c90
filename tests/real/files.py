"""The folder of real files that BIASFLOW_DATA names, the encoders in models/ beside it, and sentences of WikiText."""

import os
from pathlib import Path

import pytest

from biasflow.corpora.wikitext import read_articles, sentences_of

DATA = Path(os.environ.get("BIASFLOW_DATA", ""))
LITWIKI, SPLADE = (DATA.parent / "models" / name for name in ("litwiki-bert", "splade-tiny"))
needs_data = pytest.mark.skipif("BIASFLOW_DATA" not in os.environ, reason="BIASFLOW_DATA names no folder of real files")


def needs(encoder: Path) -> pytest.MarkDecorator:
    there = "BIASFLOW_DATA" in os.environ and encoder.is_dir()
    return pytest.mark.skipif(not there, reason=f"BIASFLOW_DATA names no folder with models/{encoder.name} beside it")


def read_wikitext(path: Path, *, whole: bool = False) -> list[list[str]]:
    """The sentences of a file of WikiText, by article."""
    return sentences_of(read_articles(path), whole=whole)
