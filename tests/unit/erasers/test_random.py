"""Random directions: orthonormal, another draw for each seed, and of small effect."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.erasers import conceptor, inlp, leace, random
from biasflow.erasers.eraser import Eraser
from tests.unit.erasers.vectors import probe, two_genders


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


def test_a_vector_loses_the_share_of_directions_on_average():
    X, z = two_genders(d=20)
    h = torch.nn.functional.normalize(torch.randn(5, 20, generator=torch.Generator().manual_seed(1)), dim=1)
    lost = [1 - random.fit(X, z, components=5, seed=seed).apply(h).square().sum(1) for seed in range(400)]
    assert torch.allclose(torch.stack(lost).mean(0), torch.full((5,), 5 / 20), atol=0.02)


def test_gender_stays_where_a_method_of_the_same_rank_takes_it_out():
    X, z = two_genders(n=400, d=64)
    before, erased = probe(X, z), probe(leace.fit(X, z).apply(X), z)
    controls = [probe(random.fit(X, z, seed=seed).apply(X), z) for seed in range(5)]
    assert erased == pytest.approx(0.6) and min(controls) > before - 0.03


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
