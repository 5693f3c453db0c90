"""Coreference on the real OntoGUM and WinoBias files of the folder that BIASFLOW_DATA names."""

import os
from pathlib import Path

import pytest

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.corpora.conll import read_conll, without_singletons, write_conll
from scripts.biasflow.tasks.coreference.strategies import STRATEGIES, debias

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


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strategies_lose_no_document_of_ontogum(ontogum, strategy):
    documents = ontogum["train"].documents
    found = debias(strategy, documents)
    copies = 2 if strategy in ("ca", "anon+ca", "doubled") else 1
    assert len(found.documents) == len({document.name for document in found.documents}) == copies * 177
    assert [document.clusters for document in found.documents] == [each.clusters for each in documents] * copies
    assert found.documents[-1].key.startswith(documents[-1].key)
    assert ("anonymised" in found.counts, "swapped" in found.counts) == ("anon" in strategy, "ca" in strategy)


def test_names_and_gender_in_ontogum(ontogum):
    documents = ontogum["train"].documents
    assert sum(cell.count("(PERSON") for document in documents for cell in document.names) == 1386
    words = [{word.lower() for document in found.documents for word in document.words} for found in ontogum.values()]
    anonymous = debias("anon", documents)
    assert anonymous.counts["anonymised"] == sum(
        word.startswith("ANON_") for document in anonymous.documents for word in document.words
    )
    assert not any(word.startswith("anon_") for each in words for word in each)
    pronouns = {"she": "he", "he": "she", "him": "her", "himself": "herself", "herself": "himself"}
    copies = debias("ca", documents).documents[177:]
    swaps = [
        pair for old, new in zip(documents, copies, strict=True) for pair in zip(old.words, new.words, strict=True)
    ]
    found = {pair for pair in swaps if pair[0] in pronouns}
    assert found == set(pronouns.items())
