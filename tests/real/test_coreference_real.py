"""Coreference on the real OntoGUM and WinoBias files of the folder that BIASFLOW_DATA names."""

import os
from pathlib import Path

import pytest

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.corpora.conll import read_conll, without_singletons, write_conll

pytestmark = pytest.mark.skipif("BIASFLOW_DATA" not in os.environ, reason="BIASFLOW_DATA names no folder of real files")
ONTOGUM = ("train", "dev", "test")


@pytest.fixture(scope="module")
def data():
    return Path(os.environ["BIASFLOW_DATA"])


@pytest.fixture(scope="module")
def ontogum(data):
    return {part: read_conll(data / f"ontogum/{part}.v4_gold_conll") for part in ONTOGUM}


@pytest.mark.parametrize(
    ("part", "documents", "words", "clusters", "mentions", "merged", "singletons"),
    [
        ("train", 177, 177_410, 5_311, 23_320, 6, 7),
        ("dev", 30, 28_119, 857, 3_818, 1, 2),
        ("test", 30, 28_397, 858, 3_581, 0, 1),
    ],
)
def test_ontogum(ontogum, part, documents, words, clusters, mentions, merged, singletons):
    """Every span that two clusters have makes one of them, and is a mention less."""
    corpus = ontogum[part]
    found = [document.clusters for document in corpus.documents]
    assert (len(corpus.documents), sum(len(document.words) for document in corpus.documents)) == (documents, words)
    assert corpus.repeated == merged and corpus.dropped == ()
    assert sum(map(len, found)) == clusters - merged
    assert sum(len(cluster) for each in found for cluster in each) == mentions - merged
    assert sum(len(each) - len(without_singletons(each)) for each in found) == singletons
    assert {speaker for document in corpus.documents for speaker in document.speakers} == {"Speaker#1"}


def test_ontogum_has_a_second_test_file_with_a_broken_document(data):
    path = data / "ontogum/test2.v4_gold_conll"
    with pytest.raises(BiasflowError, match=r"\(mz/GENTLE_poetry_road\); part 000: line 11755: .*'3'"):
        read_conll(path)
    corpus = read_conll(path, broken="drop")
    assert corpus.dropped == ("(mz/GENTLE_poetry_road); part 000",) and len(corpus.documents) == 25


def test_files_are_written_as_they_were_read(data, tmp_path):
    paths = [*(data / f"ontogum/{part}.v4_gold_conll" for part in ONTOGUM), *(data / "winobias").glob("*conll")]
    assert len(paths) == 11
    for path in paths:
        write_conll(read_conll(path).documents, tmp_path / "copy")
        assert (tmp_path / "copy").read_bytes() == path.read_bytes(), path.name
