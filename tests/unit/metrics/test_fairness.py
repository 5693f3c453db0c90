"""Fairness measures: known answers, invariances, and the plain way, one row and one class at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy, pearsonr, wasserstein_distance

from biasflow.base.errors import BiasflowError
from biasflow.metrics.fairness import (
    accuracy,
    counts,
    gaps,
    independence,
    separation,
    separation_distances,
    shuffled_genders,
    sufficiency,
    sufficiency_distances,
)

# Gold class 0 for everybody; of the men 8 of 10 are predicted as 0, of the women 6 of 10.
BY_HAND = np.array([[[8, 2], [0, 0]], [[6, 4], [0, 0]]])

seeds = st.integers(0, 2**32 - 1)
class_numbers = st.integers(3, 6)


def people(seed, n_classes, n=60):
    """Gold classes, predictions and genders; some classes may lack a gender or never be predicted."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    guess = np.minimum(rng.geometric(0.4, size=n) - 1, n_classes - 1)
    return y, np.where(rng.random(n) < 0.5, y, guess), (rng.random(n) < 0.2 + 0.6 * y / n_classes).astype(int)


def table(seed, n_classes, n=60):
    return counts(*people(seed, n_classes, n), n_classes=n_classes)


def shares(n_classes):
    return np.linspace(0.1, 0.9, n_classes) ** 2


def test_independence_and_separation_by_hand():
    d_m = 0.8 * math.log(0.8 / 0.7) + 0.2 * math.log(0.2 / 0.3)
    d_f = 0.6 * math.log(0.6 / 0.7) + 0.4 * math.log(0.4 / 0.3)
    assert (d_m, d_f) == (pytest.approx(0.02573, abs=1e-5), pytest.approx(0.02258, abs=1e-5))
    assert independence(BY_HAND) == separation(BY_HAND, aggregate="sum") == pytest.approx(d_m + d_f)
    assert separation(BY_HAND) == pytest.approx(0.00315, abs=1e-5)
    distances = separation_distances(BY_HAND)
    assert np.isnan(distances.values[:, 1]).all() and distances.undefined == 2
    assert distances.terms("sum")[0] == pytest.approx(d_m + d_f) and np.isnan(distances.terms("sum")[1])


def test_the_variance_of_a_gap_by_hand():
    """p (1 - p) / (n - 1) of 8 in 10 men and 1 in 3 women; the largest that there is, 1/4, of one man and one woman."""
    found = gaps(np.array([[[8, 2], [1, 0]], [[1, 2], [1, 0]]])).tpr.gap_variance
    assert found == pytest.approx([0.8 * 0.2 / 9 + 1 / 3 * 2 / 3 / 2, 0.25 + 0.25])


@pytest.mark.parametrize(("within", "others"), [("gold", -1), ("predicted", -2), ("all", (-1, -2))])
def test_genders_are_shuffled_among_the_people_of_a_class_alone(within, others):
    """All people stay what they are, and as many of each gender as there were within each group."""
    before = np.array([[[8, 2, 0], [1, 4, 3], [0, 6, 2]], [[1, 3, 7], [5, 0, 4], [2, 2, 9]]])
    drawn = shuffled_genders(before, within=within, resamples=200)
    assert (drawn.sum(axis=1) == before.sum(axis=0)).all()
    assert (drawn.sum(axis=others) == before.sum(axis=others)).all()
    free = {"gold": -2, "predicted": -1, "all": -1}[within]
    assert (drawn.sum(axis=free) != before.sum(axis=free)).any()


def test_rates_by_hand():
    """Of 10 men in class 0, 8 are found, of 5 in class 1, 4; of 4 women in class 0, 1, of 20 in class 1, 15."""
    found = gaps(np.array([[[8, 2], [1, 4]], [[1, 3], [5, 15]]]))
    assert found.tpr.gap == pytest.approx([-0.55, -0.05])
    assert found.tpr.gap_sum() == pytest.approx(0.6)
    assert found.fpr.gap_sum() == pytest.approx(0.6)
    assert found.precision.gap_sum() == pytest.approx(8 / 9 - 1 / 6 + 15 / 18 - 4 / 6)
    assert found.tpr.people.tolist() == [[10, 5], [4, 20]]  # men and women of each class
    assert found.fpr.people.tolist() == [[5, 10], [20, 4]]  # of the other class
    assert found.precision.people.tolist() == [[9, 6], [6, 18]]  # that are predicted to be of it


def test_sufficiency_by_hand():
    """All are predicted as 0: men are 0 and women 2, so that both are 1 from the half-way distribution by order."""
    c = np.zeros((2, 3, 3), dtype=int)
    c[0, 0, 0] = c[1, 2, 0] = 5
    assert sufficiency(c, aggregate="sum") == pytest.approx(2)
    assert sufficiency(c, aggregate="sum", distance="order-free") == pytest.approx(1)
    assert sufficiency(c) == sufficiency(c, distance="order-free") == 0
    assert sufficiency_distances(c).undefined == 4


@given(seeds, class_numbers)
def test_rates_equal_the_plain_way(seed, n_classes):
    y, y_pred, z = people(seed, n_classes)
    found = gaps(counts(y, y_pred, z, n_classes=n_classes))

    def mean(hit, among):
        return hit[among].mean() if among.any() else np.nan

    for k in range(n_classes):
        for gender in (0, 1):
            plain = [
                mean(y_pred == k, (z == gender) & (y == k)),
                mean(y_pred == k, (z == gender) & (y != k)),
                mean(y == k, (z == gender) & (y_pred == k)),
            ]
            rates = [rate.values[gender, k] for rate in (found.tpr, found.fpr, found.precision)]
            assert rates == pytest.approx(plain, nan_ok=True)
    assert accuracy(counts(y, y_pred, z, n_classes=n_classes)) == pytest.approx((y == y_pred).mean())


@given(seeds, class_numbers)
def test_distances_equal_scipy(seed, n_classes):
    c = table(seed, n_classes)
    kl, by_order, free = (
        separation_distances(c),
        sufficiency_distances(c),
        sufficiency_distances(c, distance="order-free"),
    )
    positions = np.arange(n_classes)
    for k in range(n_classes):
        for z in (0, 1):
            if c[z, k].any():
                assert kl.values[z, k] == pytest.approx(entropy(c[z, k], c[:, k].sum(axis=0)), abs=1e-12)
            if c[z, :, k].any():
                gender, both = c[z, :, k], c[:, :, k].sum(axis=0)
                plain = wasserstein_distance(positions, positions, gender, both)
                assert by_order.values[z, k] == pytest.approx(plain, abs=1e-12)
                total_variation = np.abs(gender / gender.sum() - both / both.sum()).sum() / 2
                assert free.values[z, k] == pytest.approx(total_variation, abs=1e-12)
    predicted = c.sum(axis=1)
    assert independence(c) == pytest.approx(
        sum(entropy(predicted[z], predicted.sum(axis=0)) for z in (0, 1)), abs=1e-12
    )


@given(seeds, class_numbers)
def test_pearson_is_that_of_the_classes_which_have_both(seed, n_classes):
    c, share = table(seed, n_classes), shares(n_classes)
    share[seed % n_classes] = np.nan
    for rate in (gaps(c).tpr, gaps(c).fpr, gaps(c).precision):
        both = np.isfinite(rate.gap) & np.isfinite(share)
        found = rate.gap_pearson(share)
        assert isinstance(found, float)
        if both.sum() < 3:
            assert math.isnan(found)
        elif np.ptp(rate.gap[both]) > 1e-9:
            assert found == pytest.approx(pearsonr(share[both], rate.gap[both]).statistic)


def test_pearson_of_too_little_is_none():
    tpr = gaps(table(1, 4, n=400)).tpr
    assert math.isnan(tpr.gap_pearson([0.3] * 4))
    alike = gaps(np.stack([np.eye(4, dtype=int)] * 2)).tpr
    assert math.isnan(alike.gap_pearson([0.1, 0.2, 0.4, 0.9]))


@pytest.mark.parametrize("kind", ["y", "y_pred", "z"])
@pytest.mark.parametrize("value", [-1, 3, np.nan, 0.5, np.inf])
def test_wrong_values_are_named(kind, value):
    rows = {"y": [0, 1, 2, 0], "y_pred": [0, 0, 1, 2], "z": [0, 1, 1, 0]}
    rows[kind] = [*rows[kind][:2], value, rows[kind][3]]
    with pytest.raises(BiasflowError, match=f"{kind}, row 2"):
        counts(**rows, n_classes=3)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"z": [0, 1]}, "z"),
        ({"y_pred": [0]}, "y_pred"),
        ({"y": [], "y_pred": [], "z": []}, "at least one"),
        ({"z": ["M", "F", "M"]}, "z"),
        ({"n_classes": 1}, "n_classes"),
    ],
)
def test_wrong_rows_are_refused(change, name):
    with pytest.raises(BiasflowError, match=name):
        counts(**{"y": [0, 1, 1], "y_pred": [0, 1, 0], "z": [0, 1, 1], "n_classes": 2} | change)
