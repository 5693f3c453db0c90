"""Corpora of the folder that BIASFLOW_DATA names: Reddit comments in tables, numbered Wikipedia sentences."""

import pandas as pd
import pytest

from biasflow.corpora.documents import read_texts
from tests.real.files import DATA, needs_data

pytestmark = needs_data

REDDIT = "reddit_comments_gender_female_processed"


@pytest.mark.parametrize(
    ("name", "column", "rows"), [(REDDIT, "comments_processed", 3658), (f"{REDDIT}_phrase", "comment", 13161)]
)
def test_reddit_comments(name, column, rows):
    path = DATA / "reddit" / f"{name}.csv"
    texts = list(read_texts(path))
    assert len(texts) == rows
    assert texts == pd.read_csv(path, dtype=str, keep_default_na=False)[column].tolist()


def test_sentences_of_wikipedia_lose_their_numbers():
    path = DATA / "wikipedia/eng_wikipedia_2016_10K-sentences.txt"
    texts = list(read_texts(path))
    assert len(texts) == 10_000 and texts[1].startswith("13 October 1962 marked")
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    assert [f"{number}\t{text}" for number, text in enumerate(texts, start=1)] == lines
