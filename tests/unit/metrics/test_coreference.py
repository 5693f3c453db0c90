"""The F1 difference: known answers, its sign, and that its interval draws pairs."""

import numpy as np
import pytest

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics.coreference import conll_f1, f1_difference

RIGHT, WRONG = ["ab", "cd"], ["ac"]


def counts(*predicted):
    return conll_f1([RIGHT] * len(predicted), predicted).per_document


def test_all_right_against_all_wrong():
    """Wrong: ac shares one mention with each of two gold clusters."""
    found = f1_difference(counts(RIGHT, RIGHT), counts(WRONG, WRONG))
    wrong = conll_f1([RIGHT], [WRONG])
    assert (found.pro, found.anti, found.n) == (100, pytest.approx(100 * wrong.average), 2)
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
    assert f1_difference(*sides) == f1_difference(*sides) != f1_difference(*sides, seed=1)


@pytest.mark.parametrize(("pro", "anti"), [((2, 4, 4), (3, 4, 4)), ((0, 4, 4), (0, 4, 4)), ((2, 3, 4), (2, 3, 4))])
def test_pairs_of_documents_are_asked_for(pro, anti):
    with pytest.raises(BiasflowError, match="F1 difference"):
        f1_difference(np.zeros(pro), np.zeros(anti))
