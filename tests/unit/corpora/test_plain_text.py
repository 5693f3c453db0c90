"""Corpora of separate texts: every kind of file, what is left out, and what is wrong in a file."""

import bz2
import gzip
import json
import lzma

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.corpora.documents import COLUMNS, FIRST, read_sentences, read_texts

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


CSV = (
    "\ufeffid, Comments_Processed\r\n1,He sat.\r\n\r\n2,[deleted]\r\n3,\r\n"
    f'4,"{TEXTS[1]}"\r\n5," [removed] "\r\n,NASA\r\n'
)
TSV = f"text\tid\nHe sat.\t1\n[removed]\t2\n{TEXTS[1]}\t\nNASA\t3"
LEIPZIG = f"1\tHe sat.\r\n2\t\n\n3\t{TEXTS[1]}\n10\tNASA"


@pytest.mark.parametrize(
    ("ending", "text"), [(".txt", LINES), (".txt", LEIPZIG), (".jsonl", COMMENTS), (".csv", CSV), (".tsv", TSV)]
)
@pytest.mark.parametrize(
    ("packed", "pack"),
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".GZ", gzip.compress)],
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


@pytest.mark.parametrize("column", COLUMNS)
def test_a_table_has_its_texts_in_the_column_of_that_name(tmp_path, column):
    frame = pd.DataFrame({"id": ["a", "b", "c"], column.capitalize(): TEXTS, "phrase": "not this"})
    frame.to_csv(tmp_path / "corpus.csv", index_label="")
    frame.to_csv(tmp_path / "corpus.tsv", sep="\t", index=False)
    assert list(read_texts(tmp_path / "corpus.csv")) == list(read_texts(tmp_path / "corpus.tsv")) == TEXTS


def test_a_table_of_one_column_has_the_separator_that_its_ending_names(tmp_path):
    (tmp_path / "corpus.tsv").write_text("text\nfirst, then\n")
    assert list(read_texts(tmp_path / "corpus.tsv")) == ["first, then"]


def test_a_long_text_of_a_table(tmp_path):
    path = tmp_path / "corpus.csv"
    path.write_text("text\n" + "long " * 40_000 + "\nshort\n")
    assert [len(text) for text in read_texts(path)] == [200_000, 5]


def test_numbers_are_left_out_only_where_all_of_the_first_lines_have_them(tmp_path):
    path = tmp_path / "corpus.txt"
    numbered = [f"{number}\tsentence" for number in range(FIRST)]
    path.write_text("\n".join([*numbered, "3\t4\tof 5", "no number"]))
    assert list(read_texts(path)) == ["sentence"] * FIRST + ["4\tof 5", "no number"]
    path.write_text("\n".join([*numbered[:-1], "no number", "3\tof 5"]))
    assert list(read_texts(path)) == [*numbered[:-1], "no number", "3\tof 5"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_rows_come_one_at_a_time(tmp_path, ending):
    path = tmp_path / f"corpus.{ending}"
    path.write_bytes(b"text\n" + b"a text\n" * 10_000 + b"b\xffd\n")
    texts = read_texts(path)
    assert [next(texts) for _ in range(10_000)] == ["a text"] * 10_000
    with pytest.raises(BiasflowError, match="line 10002"):
        next(texts)


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("corpus.csv", b"text\n", "corpus.csv"),
        ("corpus.csv", b"id,words\n1,a\n", "corpus.csv.*'id', 'words'"),
        ("corpus.csv", b"id,text,Body\n1,a,b\n", "text, Body"),
        ("corpus.csv", b"text,text\na,b\n", "text, text"),
        ("corpus.tsv", b"text|id\na|1\n", "corpus.tsv.*'text|id'"),
        ("corpus.tsv.gz", gzip.compress(b"text\n" + bytes(range(32, 127)) * 1000, mtime=0)[:-20], "corpus.tsv.gz"),
        ("corpus.doc", b"text", "corpus.doc"),
        ("corpus.parquet.gz", b"", "corpus.parquet.gz"),
        ("corpus.txt", b"\n \n", "no text"),
        ("corpus.txt", b"good\nb\xffd\n", "line 2"),
        ("corpus.jsonl", b'{"text": "good"}\n\n{"text": \n', "line 3"),
        ("corpus.jsonl", b'{"title": "x"}\n', "line 1"),
        ("corpus.jsonl", b'{"body": null}\n', "line 1"),
        ("corpus.jsonl", b'["text"]\n', "line 1"),
        ("corpus.txt.gz", gzip.compress(b"text\n" * 1000, mtime=0)[:-20], "corpus.txt.gz"),
        ("corpus.txt.bz2", bz2.compress(b"text\n" * 1000)[:-5], "corpus.txt.bz2"),
        ("corpus.parquet", b"PAR1", "corpus.parquet"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, name, content, named):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BiasflowError, match=named):
        list(read_texts(path))


@pytest.mark.parametrize(("frame", "named"), [({"words": ["a"]}, "body or text"), ({"text": [1]}, "text")])
def test_parquet_without_texts(tmp_path, frame, named):
    path = tmp_path / "corpus.parquet"
    pd.DataFrame(frame).to_parquet(path)
    with pytest.raises(BiasflowError, match=named):
        list(read_texts(path))


def test_sentences_come_from_any_of_these_files(tmp_path):
    (tmp_path / "a.txt").write_text("  one two \n\nthree\n")
    (tmp_path / "a.csv").write_text('id,sentence\n1," one two "\n2,three\n')
    assert read_sentences(tmp_path / "a.txt") == read_sentences(tmp_path / "a.csv") == ["one two", "three"]
