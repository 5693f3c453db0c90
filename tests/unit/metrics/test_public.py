"""The functions that the library promises by name: known answers, and the same numbers as a run's."""

import numpy as np
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.metrics.association import ceat, weat
from biasflow.metrics.codelength import online_codelength
from biasflow.metrics.combined_effect import draw_effects
from biasflow.metrics.fairness import counts, separation, separation_distances, sufficiency, sufficiency_distances
from biasflow.metrics.nli import by_occupation, fairness_score
from biasflow.metrics.stereoset import distance, stereotype_score, strength
from biasflow.readouts.cosines import drawn_cosines
from tests.unit.reference_probe import codelengths

RANDOM = np.random.default_rng(0)


def test_shares_and_means_of_the_largest():
    assert stereotype_score([0.9, 0.5, 0.1], [0.1, 0.5, 0.2]) == pytest.approx(1 / 3)  # a tie is no stereotype
    values, zero = np.array([0.1, 0.9, 0.5, 0.3, 0.2, 0, 0, 0, 0, 0]), np.zeros(10)
    assert strength(values, zero, zero, zero) == pytest.approx(0.9)
    assert strength(values, zero, zero, zero, top=0.2) == pytest.approx(0.7)
    assert distance(values, zero, top=1) == pytest.approx(0.2)


@pytest.mark.parametrize("p", [([], []), ([0.1, 0.2], [0.1]), ([float("nan")], [0.1]), ([0.1], [1.2]), (0.1, 0.2)])
def test_what_is_not_a_list_of_probabilities_is_refused(p):
    with pytest.raises(BiasflowError):
        stereotype_score(*p)


def test_gaps_of_classifiers_are_the_totals_of_their_distances():
    y, predicted, z = RANDOM.integers(0, 3, 300), RANDOM.integers(0, 3, 300), RANDOM.integers(0, 2, 300)
    table = counts(y, predicted, z, n_classes=3)
    for aggregate in ("absdiff", "sum"):
        assert separation(table, aggregate=aggregate) == separation_distances(table).total(aggregate)
        free = sufficiency_distances(table, distance="order-free").total(aggregate)
        assert sufficiency(table, aggregate=aggregate, distance="order-free") == free


def test_ceat_of_one_occurrence_a_word_is_weat_and_of_several_that_of_a_run():
    words = RANDOM.normal(size=(4, 5, 3, 8)).astype(np.float32)  # four sets of five words with three occurrences each
    once = [[word[:1] for word in of_set] for of_set in words]
    expected = weat(*(of_set[:, 0] for of_set in words), ddof=1).effect_size
    assert ceat(*once, draws=3, ddof=1).effect_size == pytest.approx(expected, abs=1e-5)
    of_run = draw_effects(drawn_cosines(*words, draws=50, seed=2), (5, 5, 5, 5))["genders"].combined("sampling")
    assert ceat(*words, draws=50, seed=2, order="genders", variance="sampling") == of_run
    with pytest.raises(BiasflowError, match="order"):
        ceat(*words, order="none")


def test_a_code_is_as_long_as_in_a_run():
    X, z = RANDOM.normal(size=(400, 6)).astype(np.float32), np.arange(400) % 2
    X[:, 0] += z
    parts = np.split(np.arange(400), [240, 320])
    dev, test = parts[1:]
    sets = {"X_dev": X[dev], "z_dev": z[dev], "X_test": X[test], "z_test": z[test]}
    expected = codelengths(X, z, *parts, seeds=[3, 8], epochs=5)
    for keep, (compressions, accuracies) in expected.items():
        found = online_codelength(X[parts[0]], z[parts[0]], seeds=[3, 8], keep=keep, epochs=5, **sets)
        assert found.compression == pytest.approx(compressions) and found.accuracy == pytest.approx(accuracies)
    for wrong, named in (({"fractions": (0.5, 0.2, 1)}, "fractions"), ({"seeds": []}, "0 probe seeds")):
        with pytest.raises(BiasflowError, match=named):
            online_codelength(X[parts[0]], z[parts[0]], **{"seeds": [1]} | sets | wrong)


@pytest.mark.parametrize("parity", ["majority", "templates"])
def test_nli_fairness_of_rows_in_any_order_is_that_of_the_table(parity):
    table = RANDOM.integers(0, 3, size=(6, 2, 2, 1))
    table[:3, :, 1] = table[:3, :, 0]  # three occupations are treated alike
    means = by_occupation(table).mean(axis=0)
    accuracy, same = means[1], means[3 if parity == "majority" else 4]
    rows = RANDOM.permutation([(*place, table[*place, 0]) for place in np.ndindex(6, 2, 2)])
    occupation, template, gender, predicted = rows.T
    found = fairness_score(predicted, occupation, gender, template, parity=parity)
    assert (found.accuracy, found.parity, found.eta) == pytest.approx((accuracy, same, accuracy * same))


def test_nli_rows_that_cannot_be_compared_are_named():
    with pytest.raises(BiasflowError, match="gender: row 1 holds 'x'; give one of masculine, feminine"):
        fairness_score(["neutral"] * 2, ["nurse"] * 2, ["man", "x"], [0, 0])
    with pytest.raises(BiasflowError, match="row 0: occupation nurse has no feminine row"):
        fairness_score(["neutral"], ["nurse"], ["man"], [0])
