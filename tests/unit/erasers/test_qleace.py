"""QLEACE, the oracle: both genders have one mean and one covariance, with the least change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.erasers.qleace import qleace


def two_genders(seed, n=(300, 200), d=4):
    rng = np.random.default_rng(seed)
    own = [rng.normal(size=(size, d)) @ rng.normal(size=(d, d)) + 3 * rng.normal(size=d) for size in n]
    return np.concatenate(own), np.repeat([0, 1], n)


def test_of_one_dimension_the_deviation_is_the_mean_of_both_weighted_by_their_shares():
    X, z = np.array([[-1.0], [1.0], [-3.0], [3.0], [1.0], [9.0]]), np.array([0, 0, 0, 0, 1, 1])
    moved = qleace(X, z, shrinkage=False)  # deviations sqrt(5) and 4; the mean of all is 5 / 3
    deviation = 2 / 3 * np.sqrt(5) + 1 / 3 * 4
    assert moved[:4, 0] == pytest.approx(X[:4, 0] / np.sqrt(5) * deviation + 5 / 3)
    assert moved[4:, 0] == pytest.approx(5 / 3 + np.array([-1, 1]) * deviation)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 9999))
def test_both_genders_have_one_mean_and_one_covariance_and_a_smaller_change_does_not_do(seed):
    X, z = two_genders(seed)
    moved = qleace(X, z, shrinkage=False)
    women, men = moved[z == 1], moved[z == 0]
    assert women.mean(axis=0) == pytest.approx(men.mean(axis=0), abs=1e-6)
    assert np.cov(women.T, bias=True) == pytest.approx(np.cov(men.T, bias=True), rel=1e-4, abs=1e-4)
    # A map that whitens and colours by the covariance of all makes them equal, too, and moves the vectors farther.
    root = np.linalg.cholesky(np.cov(X.T))
    other = np.empty_like(X)
    for label in (0, 1):
        own = X[z == label] - X[z == label].mean(axis=0)
        other[z == label] = own @ np.linalg.inv(np.linalg.cholesky(np.cov(own.T))).T @ root.T + X.mean(axis=0)
    assert ((moved - X) ** 2).sum() < ((other - X) ** 2).sum()


def test_it_is_computed_from_the_rows_that_are_named_alone_and_needs_two_of_each_gender():
    X, z = two_genders(3)
    train = np.arange(0, len(z), 2)
    changed = X.copy()
    changed[1] += 100
    assert qleace(X, z, train=train)[train] == pytest.approx(qleace(changed, z, train=train)[train])
    with pytest.raises(BiasflowError, match="1 vectors"):
        qleace(X, z, train=[0, 1, 2, 400])
