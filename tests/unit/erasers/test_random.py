"""Random directions: orthonormal, another draw for each seed, and of small effect."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.erasers import conceptor, hard, inlp, leace, random
from biasflow.erasers.eraser import Eraser
from tests.unit.erasers.vectors import two_genders


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), components=st.integers(1, 8))
def test_as_many_orthonormal_directions_as_asked_for_and_the_first_ones_are_those_of_fewer(seed, components):
    X, z = two_genders()
    eraser = random.fit(X, z, components=components, seed=seed)
    assert torch.allclose(eraser.left @ eraser.left.T, torch.eye(components), atol=1e-6)
    fewer = random.fit(X, z, components=max(1, components - 1), seed=seed).left
    assert torch.allclose(eraser.left[: len(fewer)], fewer, atol=1e-6)
    assert torch.equal(random.fit(-X, 1 - z, components=components, seed=seed).left, eraser.left)
    assert not torch.allclose(random.fit(X, z, components=components, seed=seed + 1).left, eraser.left, atol=1e-3)


@pytest.mark.parametrize("module", [leace, conceptor, inlp])
@pytest.mark.parametrize("heads", [(), (2,)])
def test_the_control_of_an_eraser_has_its_rank_weights_and_centre(module, heads):
    X, z = two_genders(n=200, heads=heads)
    eraser = module.fit(X, z)
    control, other = random.like(eraser, 0), random.like(eraser, 1)
    assert control.left.shape == eraser.left.shape and torch.equal(control.weights, eraser.weights)
    assert (control.center is None) == (eraser.center is None)
    assert not torch.allclose(control.left, other.left, atol=1e-3)
    if eraser.center is not None:
        assert torch.allclose(control.apply(X).mean(0), X.mean(0), atol=1e-4)
    drawn = random.fit(X, z, components=eraser.components, seed=0)
    assert torch.equal(control.left, drawn.left)
    assert isinstance(control, Eraser) and control.accuracy is None


def change(eraser, X):
    return (eraser.apply(X.double()) - X).square().sum(-1).mean(0)


@settings(max_examples=20, deadline=None)
@given(
    module=st.sampled_from([leace, conceptor, inlp, hard]),
    heads=st.sampled_from([(), (2,)]),
    seed=st.integers(0, 999),
    spread=st.floats(0, 3),
)
def test_a_matched_control_moves_the_vectors_as_far_as_the_method(module, heads, seed, spread):
    X, z = two_genders(n=200, heads=heads, seed=seed)
    X = X * torch.logspace(0, spread, 8)  # directions along which vectors vary little, and much
    eraser = module.fit(X, z)
    control = random.matched(eraser, X)(seed)
    assert torch.allclose(change(control, X), change(eraser, X), rtol=1e-4)
    assert control.left.shape == eraser.left.shape and (control.center is None) == (eraser.center is None)
    gram = control.left @ control.left.mT
    assert torch.allclose(gram, torch.eye(len(gram[-1])).expand_as(gram), atol=1e-5)
    assert torch.equal(control.left, random.matched(eraser, X)(seed).left)
    if 3 * eraser.components <= 8:  # room for as many that are orthogonal to all that the eraser reads and changes
        for directions in (eraser.left.mT, eraser.right):
            shares = control.left @ (directions / directions.norm(dim=-2, keepdim=True))
            assert torch.allclose(shares, torch.zeros_like(shares), atol=1e-4)
    if eraser.components < 8:
        assert not torch.allclose(control.left, random.matched(eraser, X)(seed + 1).left, atol=1e-3)
