"""Random directions: orthonormal, another draw for each seed, and of small effect."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.erasers import conceptor, hard, inlp, leace, random, splince
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
    control = random.matched(eraser, X, seed)
    assert torch.allclose(change(control, X), change(eraser, X), rtol=1e-4)
    assert control.left.shape == eraser.left.shape and (control.center is None) == (eraser.center is None)
    gram = control.left @ control.left.mT
    assert torch.allclose(gram, torch.eye(len(gram[-1])).expand_as(gram), atol=1e-5)
    assert torch.equal(control.left, random.matched(eraser, X, seed).left)
    if eraser.components < 8:
        assert not torch.allclose(control.left, random.matched(eraser, X, seed + 1).left, atol=1e-3)


def test_a_matched_control_is_a_projection_where_one_moves_vectors_as_far():
    X, z = two_genders(n=400, d=64)
    eraser = hard.fit(X, z)
    assert (
        random.matched(eraser, X * 1.0, 0).weights > 1
    )  # the largest principal component: none of the others moves as far
    weaker = replace(eraser, weights=eraser.weights / 8)
    assert random.matched(weaker, X, 0).weights < 1
    # The change of an oblique map may be larger than that of any projection; then the weight is, too.
    z = torch.rand(400, generator=torch.Generator().manual_seed(0)) < 0.5
    y = z ^ (torch.arange(400) < 4)
    oblique = splince.fit(X, z, y=y)
    assert change(oblique, X) > torch.linalg.eigvalsh(torch.cov(X.T.double()))[-1]
    assert random.matched(oblique, X, 0).weights > 1
    assert torch.allclose(change(random.matched(oblique, X, 0), X), change(oblique, X), rtol=1e-4)


@given(module=st.sampled_from([leace, inlp, hard]), seed=st.integers(0, 999))
@settings(max_examples=15, deadline=None)
def test_a_matched_control_is_orthogonal_to_its_method_also_where_gender_is_what_vectors_vary_along_most(module, seed):
    """Controls that favoured directions of much variance were gender itself in such vectors: cosines of 0.98 to 1."""
    X, z = two_genders(n=300, d=32, seed=seed)
    X[:, 0] += 20 * (2 * z.float() - 1)
    eraser = module.fit(X, z)
    controls = [random.matched(eraser, X, draw) for draw in range(3)]
    for control in controls:
        if 3 * eraser.components <= 32:
            assert (control.left @ torch.cat([eraser.left, eraser.right.T]).T).abs().max() < 1e-4
            assert probe(control.apply(X), z) > 0.95
        assert torch.allclose(change(control, X), change(eraser, X), rtol=1e-4)
    assert (controls[0].left @ controls[1].left.T).abs().max() < 0.999  # draws differ


def test_a_matched_control_keeps_gender_that_its_method_takes_out():
    X, z = two_genders(n=400, d=64)
    eraser = leace.fit(X, z)
    controls = [random.matched(eraser, X, seed) for seed in range(5)]
    assert min(probe(control.apply(X), z) for control in controls) > probe(X, z) - 0.03
