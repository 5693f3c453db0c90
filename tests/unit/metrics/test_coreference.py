"""F1 of files of predicted clusters; the F1 difference: known answers, its sign, and that its interval draws pairs."""

import numpy as np
import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.metrics.coreference import conll_f1, f1_difference, score
from biasflow.readouts.predicted_clusters import cluster_rows
from biasflow.results.scores import tidy
from tests.unit.synthetic_conll import conll_text

RIGHT, WRONG = ["ab", "cd"], ["ac"]


def counts(*predicted):
    return conll_f1([RIGHT] * len(predicted), predicted).per_document


def test_pairs_are_drawn_together():
    """Both of a pair are right or wrong alike: the F1s of resamples vary, but never their difference."""
    some = counts(*[RIGHT, WRONG, []] * 5)
    found = f1_difference(some, some)
    assert found.value == found.low == found.high == 0
    other = f1_difference(some, some[::-1])
    assert other.value == pytest.approx(0) and other.low < -1 < 1 < other.high


def test_many_predictions_are_scored_as_each_by_itself():
    rng = np.random.default_rng(1)
    right, wrong = counts(RIGHT)[0], counts(WRONG)[0]
    sides = [np.where(rng.random((3, 8, 1, 1)) < 0.5, right, wrong) for _ in "pa"]
    found = f1_difference(*sides)
    for number in range(3):
        alone = f1_difference(*(side[number] for side in sides))
        for name in ("pro", "anti", "value", "low", "high"):
            assert getattr(found, name)[number] == pytest.approx(getattr(alone, name))


WORDS = ["john saw mary and he knew she did".split()]
JOHN, MARY, HE, SHE = (0, 0), (2, 2), (4, 4), (6, 6)
GOLD = ((JOHN, HE), (MARY, SHE))


@pytest.fixture
def documents(tmp_path):
    """Two documents, the second one with a cluster of one mention beside."""
    texts = [conll_text("nw/0", WORDS, GOLD), conll_text("nw/1", WORDS, [GOLD[0], (MARY,)])]
    (tmp_path / "test.conll").write_text("".join(texts))
    return tmp_path / "test.conll"


def test_scores_of_a_file_of_clusters(documents, tmp_path):
    """All right but for singletons, which do not count; and one cluster with another mention in it."""
    names = {"method": "none", "setting": "-"}
    predicted = {
        ("own", "-"): [GOLD, (GOLD[0], (SHE,))],
        ("retrained", "3"): [((JOHN, MARY, HE),), ()],
        ("retrained", "4"): [(), ()],
    }
    tables = [
        cluster_rows({"pro": [()], "test": clusters}, **names, head=head, head_seed=seed)
        for (head, seed), clusters in predicted.items()
    ]
    pd.concat(tables).to_parquet(tmp_path / "coref.parquet")
    rows = score(tmp_path / "coref.parquet", test=documents)
    found = rows.set_index(["head", "head_seed", "metric"])["value"].sort_index()
    metrics = ("conll_f1", "muc_f1", "b_cubed_f1", "ceafe_f1", "lea_f1")
    assert (found["own", "-"][[*metrics]] == 1).all() and (found["retrained", "4"][[*metrics]] == 0).all()
    gold = [GOLD, GOLD[:1]]
    expected = conll_f1(gold, predicted["retrained", "3"])
    assert found["retrained", "3", "conll_f1"] == expected.average
    assert found["retrained", "3", "muc_f1"] == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    assert found["retrained", "3", "lea_f1"] == expected.lea.f1
    assert (rows["n"] == 2).all() and len(tidy(rows, dataset="coref-test")) == 3 * len(metrics)


def test_predictions_of_other_documents_are_refused(documents, tmp_path):
    names = {"method": "none", "setting": "-", "head": "own", "head_seed": "-"}
    cluster_rows({"test": [GOLD]}, **names).to_parquet(tmp_path / "coref.parquet")
    with pytest.raises(BiasflowError, match="predicts 1 documents, not each of the 2"):
        score(tmp_path / "coref.parquet", test=documents)
