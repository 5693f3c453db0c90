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


def test_all_right_against_all_wrong():
    """Wrong: ac shares one mention with each of two gold clusters."""
    found = f1_difference(counts(*[RIGHT] * 6), counts(*[WRONG] * 6))
    wrong = conll_f1([RIGHT], [WRONG])
    assert (found.pro, found.anti, found.n) == (100, pytest.approx(100 * wrong.average), 6)
    assert found.value == found.low == found.high == pytest.approx(100 - 100 * wrong.average)
    assert f1_difference(counts(WRONG), counts(RIGHT)).value == pytest.approx(-found.value)


def test_pairs_are_drawn_together():
    """Both of a pair are right or wrong alike: the F1s of resamples vary, but never their difference."""
    some = counts(*[RIGHT, WRONG, []] * 5)
    found = f1_difference(some, some)
    assert found.value == found.low == found.high == 0
    other = f1_difference(some, some[::-1])
    assert other.value == pytest.approx(0) and other.low < -1 < 1 < other.high


def test_the_interval_covers_as_often_as_it_says():
    """Half of 60 documents right on one side, two fifths on the other, 200 times: 95 % of intervals hold the truth."""
    rng = np.random.default_rng(0)
    right, wrong = counts(RIGHT)[0], counts(WRONG)[0]
    sides = [np.where(rng.random((200, 60, 1, 1)) < share, right, wrong) for share in (0.5, 0.4)]
    truth = [f1_difference(share * right[None] + (1 - share) * wrong[None], wrong[None]).pro for share in (0.5, 0.4)]
    found = [f1_difference(*pair, resamples=300) for pair in zip(*sides, strict=True)]
    held = np.mean([each.low <= truth[0] - truth[1] <= each.high for each in found])
    assert 0.9 <= held <= 0.99


def test_same_seed_same_interval():
    sides = counts(*[RIGHT, WRONG, []] * 7), counts(*[[], WRONG, RIGHT] * 7)
    found = f1_difference(*sides)
    assert found == f1_difference(*sides) != f1_difference(*sides, seed=1)
    assert (found.low, found.high) == pytest.approx((-32.85714285714287, 33.80952380952381), abs=1e-12)


@pytest.mark.parametrize(("pro", "anti"), [((2, 4, 4), (3, 4, 4)), ((0, 4, 4), (0, 4, 4)), ((2, 3, 4), (2, 3, 4))])
def test_pairs_of_documents_are_asked_for(pro, anti):
    with pytest.raises(BiasflowError, match="F1 difference"):
        f1_difference(np.zeros(pro), np.zeros(anti))


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
