"""Any system's clusters on WinoBias: systems whose numbers are known, from CoNLL files to scores."""

from pathlib import Path

import pytest

from biasflow.base.errors import AbsentError
from biasflow.corpora.conll import new_document, write_conll
from biasflow.corpora.winobias import ARTICLES, read_pairs, two_professions
from biasflow.metrics import coreference, winobias
from biasflow.readouts.predicted_clusters import read
from biasflow.tasks.coreference.pairs import SIDES, prepare
from biasflow.tasks.coreference.plan import WINOBIAS
from tests.real.files import DATA, needs_data

pytestmark = needs_data


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
        rows = winobias.score(tmp_path / "coref.parquet", **{role: data[role] for role in (*SIDES, "pairs")})
        with pytest.raises(AbsentError, match="test"):
            coreference.score(tmp_path / "coref.parquet", test=data["test"])
        assert (rows[["method", "head", "head_seed"]] == ["none", "own", "-"]).all(axis=None)
        return rows.set_index(["metric", "part", "variant"])["value"].to_dict()

    return scores


@pytest.fixture
def predict(files, tmp_path):
    """A function of a sentence of WinoBias, which gives its clusters -> a file of predictions for all of them."""

    def predict(clusters) -> Path:
        sentences = [
            getattr(pair, side)
            for paths in zip(*files.values(), strict=True)
            for pair in read_pairs(*paths)
            for side in SIDES
        ]
        documents = [
            new_document(
                sentence.document.key,
                [[sentence.document.words[i] for i in numbers] for numbers in sentence.document.sentence_words()],
                clusters(sentence),
                pos=["-"] * len(sentence.document.words),
                names=["*"] * len(sentence.document.words),
            )
            for sentence in sentences
        ]
        write_conll(documents, tmp_path / "theirs.conll")
        return tmp_path / "theirs.conll"

    return predict


def by_stereotype(sentence):
    """Whoever has the stereotype of the pronoun, with a leading article, is the pronoun."""
    words = sentence.document.words
    _, (first, last) = two_professions(sentence)[sentence.gender]
    first -= first > 0 and words[first - 1].lower() in ARTICLES
    return (((first, last), *sentence.pronouns),)


def test_the_gold_clusters_are_a_perfect_system(scores, files):
    found = scores(*(path for paths in files.values() for path in paths))
    assert [found["f1_difference", part, "-"] for part in ("all", "type1", "type2")] == [0, 0, 0]
    for side in SIDES:
        assert found["conll_f1", side, "-"] == 1
        assert found["pronoun_accuracy", "right", side] == 1
        assert found["pronoun_accuracy", "none", side] == 0
    assert found["accuracy", "-", "tokens"] == 1
    assert found["tpr_gap_sum", "-", "tokens"] == 0


def test_a_system_that_goes_by_stereotype(scores, predict):
    """Right where the sentence has the stereotype, and with the other profession where it has not."""
    found = scores(predict(by_stereotype))
    assert found["f1_difference", "all", "-"] > 50
    assert min(found["f1_difference", part, "-"] for part in ("type1", "type2")) > 50
    assert found["conll_f1", "pro", "-"] > 0.99 and found["conll_f1", "anti", "-"] < 0.3
    assert found["pronoun_accuracy", "right", "pro"] == found["pronoun_accuracy", "other", "anti"] == 1
    assert found["tpr_gap_pearson", "-", "tokens"] > 0.5
