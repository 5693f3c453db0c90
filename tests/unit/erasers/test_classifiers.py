"""INLP and R-LACE: what is left when no linear classifier does better than chance."""

import re

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from biasflow.base.errors import BiasflowError
from biasflow.erasers import inlp, mean_projection, rlace
from tests.unit.erasers.vectors import probe, two_genders


@settings(max_examples=15)
@given(seed=st.integers(0, 9999), share=st.floats(0.3, 0.7), components=st.integers(1, 3))
def test_an_orthogonal_projection_of_that_rank_after_which_a_fresh_probe_is_near_the_majority(seed, share, components):
    X, z = two_genders(n=600, d=12, seed=seed, share=share)
    try:
        eraser = rlace.fit(X, z, components=components)
    except BiasflowError as error:  # the game ended before it had a use for so many
        components = int(re.search(r"beyond (\d) direction", str(error))[1])
        eraser = rlace.fit(X, z, components=components)
    P = torch.eye(12) - eraser.apply(torch.eye(12))
    assert torch.allclose(P, P.T, atol=1e-5) and torch.allclose(P @ P, P, atol=1e-5)
    assert torch.linalg.matrix_rank(P, atol=1e-3) == eraser.components == components
    majority = max(float(z.double().mean()), 1 - float(z.double().mean()))
    assert probe(X, z) > majority + 0.05 and probe(eraser.apply(X), z) < majority + 0.03
    if components == 1:  # where the game has its optimum
        assert abs(float(eraser.left[0] @ mean_projection.fit(X, z).left[0])) > 0.999


@given(st.lists(st.floats(-2, 3), min_size=1, max_size=8), st.integers(1, 4))
def test_eigenvalues_come_back_to_the_nearest_ones_on_the_hull(eigenvalues, trace):
    eigenvalues = torch.tensor(eigenvalues, dtype=torch.float64)
    found = rlace.fantope(eigenvalues, trace)
    assert bool(((found >= 0) & (found <= 1)).all()) and float(found.sum()) <= trace + 1e-9
    generator = torch.Generator().manual_seed(0)
    for _ in range(30):  # no point of the hull lies on the far side: <e - found, other - found> <= 0
        other = torch.rand(len(eigenvalues), dtype=torch.float64, generator=generator)
        other *= min(1, trace / float(other.sum()))
        assert float((eigenvalues - found) @ (other - found)) <= 1e-9


def test_what_cannot_be_fitted_is_one_line():
    X = torch.randn(60, 8)
    with pytest.raises(BiasflowError, match="nothing to erase"):
        rlace.fit(torch.cat([X, X]), torch.arange(2 * len(X)) < len(X))
    line = torch.zeros(8, 3)
    line[4:, 0] = 1  # there is but one direction with anything in it
    with pytest.raises(BiasflowError, match=r"beyond 1 direction.*components"):
        rlace.fit(line, torch.arange(8) >= 4, components=2)


def ranking(X, z):
    """AUC of a fresh linear probe for which both genders count the same, on the vectors that it was trained on."""
    probe = LogisticRegression(C=1e4, max_iter=2000, class_weight="balanced").fit(X.numpy(), z.numpy())
    return roc_auc_score(z.numpy(), probe.decision_function(X.numpy()))


@settings(max_examples=15)
@given(seed=st.integers(0, 9999), share=st.floats(0.15, 0.85))
@example(seed=0, share=0.15)
def test_a_fresh_probe_is_near_chance_also_where_a_gender_is_rare(seed, share):
    X, z = two_genders(n=600, d=12, seed=seed, share=share)
    eraser = inlp.fit(X, z)
    assert ranking(X, z) > 0.65
    assert eraser.accuracy[-1] <= 0.5 + 1e-6
    assert bool((eraser.accuracy[:-1] > 0.5 + 1e-6).all())  # not one direction more than it takes
    assert abs(ranking(eraser.apply(X), z) - 0.5) < 0.06


@settings(max_examples=15)
@given(seed=st.integers(0, 9999), classifiers=st.integers(1, 6))
def test_it_is_the_projection_on_the_intersection_of_the_null_spaces(seed, classifiers):
    X, z = two_genders(n=100, d=12, seed=seed)
    fewer, eraser = (inlp.fit(X, z, classifiers=most) for most in (classifiers, 7))
    k = fewer.components
    assert k <= classifiers and torch.allclose(eraser.left[:k], fewer.left, atol=1e-5)  # one after another
    assert torch.equal(eraser.accuracy[:k], fewer.accuracy)
    P = torch.eye(12) - eraser.apply(torch.eye(12))
    assert torch.allclose(P, P.T, atol=1e-5) and torch.allclose(P @ P, P, atol=1e-5)
    assert float(P.trace()) == pytest.approx(eraser.components, abs=1e-4)
    assert torch.allclose(eraser.left @ eraser.left.T, torch.eye(eraser.components), atol=1e-5)
    (only,) = inlp.fit(torch.outer(2.0 * z - 1, X[0]), z).left  # of vectors on a line
    assert torch.allclose(only.abs(), (X[0] / X[0].norm()).abs(), atol=1e-4)
    # A vector that is in all null spaces stays.
    kept = torch.linalg.svd(eraser.left).Vh[eraser.components :]
    assert torch.allclose(eraser.apply(kept), kept, atol=1e-5)


def test_what_inlp_cannot_fit_is_one_line():
    X, z = two_genders()
    with pytest.raises(BiasflowError, match="classifiers is 0"):
        inlp.fit(X, z, classifiers=0)
    with pytest.raises(BiasflowError, match="nothing to erase"):
        inlp.fit(torch.cat([X, X]), torch.arange(2 * len(X)) < len(X))


@settings(max_examples=10)
@given(seed=st.integers(0, 9999))
def test_the_released_rule_stops_at_the_majority_and_leaves_a_rare_gender_readable(seed):
    X, z = two_genders(n=600, d=12, seed=seed, share=0.15)
    released, ours = inlp.fit(X, z, stop_at="majority"), inlp.fit(X, z)
    probe = LogisticRegression(C=1e4, max_iter=2000).fit(released.apply(X).numpy(), z.numpy())
    assert probe.score(released.apply(X).numpy(), z.numpy()) <= 0.85 + 0.01  # no better than to say always the same
    assert abs(ranking(ours.apply(X), z) - 0.5) < 0.06 and ours.components >= released.components
