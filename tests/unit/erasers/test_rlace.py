"""R-LACE: a projection of the rank asked for, after which the game is worth as much as a constant classifier."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from biasflow.base.errors import BiasflowError
from biasflow.erasers import mean_projection, rlace
from tests.unit.erasers.vectors import on_an_axis, probe, two_genders


def test_known_answer():
    assert torch.allclose(rlace.fit(*on_an_axis()).left.abs(), torch.tensor([[1.0, 0.0]]), atol=1e-4)


@settings(max_examples=15, deadline=None)
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


def value(P, X, z):
    """The game's value at P as it is printed, by an optimiser of its own."""
    X, z = rlace.standardised("rlace", X.double()), z.double()
    rest = X - X @ P

    def loss(weights):
        w = torch.from_numpy(weights).requires_grad_()
        found = torch.nn.functional.binary_cross_entropy_with_logits(rest @ w[:-1] + w[-1], z)
        found = found + rlace.PENALTY / 2 * w[:-1].square().sum()
        return found.item(), torch.autograd.grad(found, w)[0].numpy()

    return minimize(loss, torch.zeros(X.shape[1] + 1).double().numpy(), jac=True, tol=1e-10).fun


def test_the_adversary_gives_the_value_and_its_gradient():
    X, z = two_genders(n=300, d=6)
    answer = rlace._Adversary(rlace.standardised("rlace", X.double()), z == 1)
    basis, values = torch.linalg.qr(torch.randn(6, 2, dtype=torch.float64)).Q.T, torch.tensor([0.9, 0.3]).double()
    P = basis.T @ (values[:, None] * basis)
    found, w, g = answer(basis, values)
    assert found == pytest.approx(value(P, X, z), rel=1e-5)
    step = torch.randn(6, 6, dtype=torch.float64)
    step = 1e-4 * (step + step.T)
    slope = (value(P + step, X, z) - value(P - step, X, z)) / 2
    gradient = -(torch.outer(w, g) + torch.outer(g, w)) / 2
    assert float((gradient * step).sum()) == pytest.approx(slope, rel=0.02)


@settings(max_examples=50, deadline=None)
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
