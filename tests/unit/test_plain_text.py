"""Corpora of separate texts: every kind of file, what is left out, and what is wrong in a file."""

import bz2
import gzip
import json

import pandas as pd
import pytest

from scripts.biasflow.corpora.plain_text import read_texts
from scripts.biasflow.errors import BiasflowError

TEXTS = ["He sat.", "Zoë was\u2028late.", "NASA"]
LINES = "\ufeffHe sat.\n\n  \nZoë was\u2028late.\r\nNASA"
COMMENTS = "\n".join(
    json.dumps(record)
    for record in (
        {"body": "He sat.", "author": "x"},
        {"body": "[deleted]"},
        {"body": ""},
        {"text": TEXTS[1]},
        {"body": " [removed] "},
        {"body": "NASA", "text": "not this"},
    )
)


@pytest.mark.parametrize(("ending", "text"), [(".txt", LINES), (".jsonl", COMMENTS)])
@pytest.mark.parametrize(
    ("packed", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".GZ", gzip.compress)]
)
def test_texts_of_lines(tmp_path, ending, text, packed, pack):
    path = tmp_path / f"corpus{ending}{packed}"
    path.write_bytes(pack(text.encode()))
    assert list(read_texts(path)) == TEXTS


@pytest.mark.parametrize("column", ["text", "body"])
def test_texts_of_parquet(tmp_path, column):
    path = tmp_path / "corpus.parquet"
    pd.DataFrame({"id": range(6), column: [TEXTS[0], None, "", TEXTS[1], "[removed]", TEXTS[2]]}).to_parquet(path)
    assert list(read_texts(path)) == TEXTS


def test_texts_come_one_at_a_time(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"text": "first"}\nbroken\n')
    texts = read_texts(path)
    assert next(texts) == "first"
    with pytest.raises(BiasflowError, match="line 2"):
        next(texts)


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("corpus.csv", b"text\n", "corpus.csv"),
        ("corpus.gz", b"", "corpus.gz"),
        ("corpus.parquet.gz", b"", "corpus.parquet.gz"),
        ("corpus.txt", b"\n \n", "no text"),
        ("corpus.txt", b"good\nb\xffd\n", "line 2"),
        ("corpus.jsonl", b'{"text": "good"}\n\n{"text": \n', "line 3"),
        ("corpus.jsonl", b'{"title": "x"}\n', "line 1"),
        ("corpus.jsonl", b'{"body": null}\n', "line 1"),
        ("corpus.jsonl", b'["text"]\n', "line 1"),
        ("corpus.txt.gz", b"no archive", "corpus.txt.gz"),
        ("corpus.txt.gz", gzip.compress(b"text\n" * 1000)[:-20], "corpus.txt.gz"),
        ("corpus.txt.bz2", bz2.compress(b"text\n" * 1000)[:-5], "corpus.txt.bz2"),
        ("corpus.parquet", b"PAR1", "corpus.parquet"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, name, content, named):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BiasflowError, match=named):
        list(read_texts(path))


@pytest.mark.parametrize("ending", ["txt", "jsonl.gz", "parquet"])
def test_a_file_that_is_not_there(tmp_path, ending):
    with pytest.raises(BiasflowError, match=f"absent.{ending}"):
        read_texts(tmp_path / f"absent.{ending}")


@pytest.mark.parametrize(("frame", "named"), [({"words": ["a"]}, "body or text"), ({"text": [1]}, "text")])
def test_parquet_without_texts(tmp_path, frame, named):
    path = tmp_path / "corpus.parquet"
    pd.DataFrame(frame).to_parquet(path)
    with pytest.raises(BiasflowError, match=named):
        list(read_texts(path))
