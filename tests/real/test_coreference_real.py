"""Coreference on the real OntoGUM and WinoBias files of the folder that BIASFLOW_DATA names, and any system's clusters
on WinoBias: a perfect system, from CoNLL files to scores."""

from collections import Counter
from pathlib import Path

import pytest

from biasflow.base.errors import AbsentError
from biasflow.corpora.conll import read_conll, without_singletons, write_conll
from biasflow.corpora.winobias import read_pairs
from biasflow.metrics import coreference
from biasflow.metrics import winobias as metric_of_winobias
from biasflow.readouts.predicted_clusters import read
from biasflow.tasks.coreference.pairs import SIDES, prepare
from biasflow.tasks.coreference.plan import WINOBIAS
from biasflow.tasks.coreference.strategies import STRATEGIES, debias
from tests.real.files import DATA, needs_data

pytestmark = needs_data
ONTOGUM = ("train", "dev", "test")


@pytest.fixture(scope="module")
def ontogum():
    return {part: read_conll(DATA / f"ontogum/{part}.v4_gold_conll") for part in ONTOGUM}


@pytest.fixture(scope="module")
def winobias():
    """The pairs of dev and test, by type."""
    files = {
        (part, type): [DATA / f"winobias/{part}_type{type}_{side}_stereotype.v4_auto_conll" for side in ("pro", "anti")]
        for part in ("dev", "test")
        for type in (1, 2)
    }
    return {type: [pair for part in ("dev", "test") for pair in read_pairs(*files[part, type])] for type in (1, 2)}


@pytest.fixture(scope="module")
def sentences(winobias):
    return [getattr(pair, side) for side in ("pro", "anti") for pairs in winobias.values() for pair in pairs]


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


def test_files_are_written_as_they_were_read(tmp_path):
    paths = [*(DATA / f"ontogum/{part}.v4_gold_conll" for part in ONTOGUM), *(DATA / "winobias").glob("*conll")]
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


def test_winobias(winobias, sentences):
    """8 files of 396 documents; 87 have two gold pronouns; 36 to 42 positives for each profession and gender."""
    assert {type: len(pairs) for type, pairs in winobias.items()} == {1: 2 * 396, 2: 2 * 396}
    assert Counter(len(sentence.pronouns) for sentence in sentences) == {1: 3168 - 87, 2: 87}
    positives = Counter((sentence.profession, sentence.gender) for sentence in sentences)
    assert (len(positives), min(positives.values()), max(positives.values())) == (80, 36, 42)
    assert len({sentence.document.name for sentence in sentences}) == 3168


@pytest.fixture(scope="module")
def files():
    """Side -> its files as released."""
    folder = DATA / "winobias"
    return {
        side: [folder / f"{file['part']}_{file['type']}_{side}_stereotype.v4_auto_conll" for file in WINOBIAS]
        for side in SIDES
    }


@pytest.fixture(scope="module")
def data(files, tmp_path_factory):
    """The data of a task: pairs of WinoBias, and OntoGUM's test part."""
    folder = tmp_path_factory.mktemp("data")
    made = {side: folder / f"{side}.conll" for side in SIDES} | {"pairs": folder / "pairs.csv"}
    prepare(files, made | {"pairs_baseline": folder / "baseline.csv"}, planted=None, files=WINOBIAS)
    return made | {"test": DATA / "ontogum/test.v4_gold_conll"}


@pytest.fixture
def scores(data, tmp_path):
    """Files of predictions -> (metric, part, variant) -> value."""

    def scores(*given: Path) -> dict[tuple[str, str, str], float]:
        facts = read(given, {text: (path,) for text, path in data.items()}, tmp_path / "coref.parquet")
        assert facts["documents"] == {"pro": 1584, "anti": 1584}
        rows = metric_of_winobias.score(tmp_path / "coref.parquet", **{role: data[role] for role in (*SIDES, "pairs")})
        with pytest.raises(AbsentError, match="test"):
            coreference.score(tmp_path / "coref.parquet", test=data["test"])
        assert (rows[["method", "head", "head_seed"]] == ["none", "own", "-"]).all(axis=None)
        return rows.set_index(["metric", "part", "variant"])["value"].to_dict()

    return scores


def test_the_gold_clusters_are_a_perfect_system(scores, files):
    found = scores(*(path for paths in files.values() for path in paths))
    assert [found["f1_difference", part, "-"] for part in ("all", "type1", "type2")] == [0, 0, 0]
    for side in SIDES:
        assert found["conll_f1", side, "-"] == 1
        assert found["pronoun_accuracy", "right", side] == 1
        assert found["pronoun_accuracy", "none", side] == 0
    assert found["accuracy", "-", "tokens"] == 1
    assert found["tpr_gap_sum", "-", "tokens"] == 0
