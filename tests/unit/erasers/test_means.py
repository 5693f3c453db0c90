"""The erasers that make the genders' means equal: LEACE, mean projection and SAL, of which LEACE changes least."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.erasers import leace, mean_projection, sal
from tests.unit.erasers.vectors import on_an_axis, probe, two_genders


def test_known_answers():
    # S = diag(1 + 1/4, 4) with s = (1/4, 0): the axes are uncorrelated, so all of the first one goes, about the mean.
    X, z = on_an_axis()
    eraser = leace.fit(X, z)
    assert torch.allclose(eraser.apply(X), torch.stack([torch.full((8,), 0.5), X[:, 1]], 1), atol=1e-6)
    assert torch.allclose(eraser.apply(torch.tensor([9.0, 3.0])), torch.tensor([0.5, 3.0]), atol=1e-6)
    X = torch.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 5.0], [4.0, 5.0]])  # means (1, 1) and (4, 5): 3, 4, 5
    for module in (mean_projection, sal):
        eraser = module.fit(X, torch.tensor([0, 0, 1, 1]))
        assert torch.allclose(eraser.left.abs(), torch.tensor([[0.6, 0.8]]))
        assert torch.allclose(eraser.apply(torch.tensor([5.0, 0.0])), torch.tensor([3.2, -2.4]))


def by_the_book(X, z):
    """LEACE as it is printed, h' = h - W+ P W (h - c), with roots."""
    X, z = X.double(), z.double()
    c = X.mean(0)
    S = (X - c).T @ (X - c) / len(X)
    s = (X - c).T @ (z - z.mean()) / len(X)
    values, vectors = torch.linalg.eigh(S)
    W = vectors @ torch.diag(values**-0.5) @ vectors.T
    u = W @ s / (W @ s).norm()
    return X - (X - c) @ (torch.linalg.inv(W) @ torch.outer(u, u) @ W).T


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 9999), share=st.floats(0.15, 0.85))
def test_no_linear_probe_is_better_than_the_majority_and_leace_changes_least(seed, share):
    X, z = two_genders(n=80, seed=seed, share=share)
    majority = max(float(z.double().mean()), 1 - float(z.double().mean()))
    erasers = [leace.fit(X, z), leace.fit(X, z, shrinkage=True), mean_projection.fit(X, z), sal.fit(X, z)]
    moved = []
    for eraser in erasers:
        erased = eraser.apply(X)
        assert torch.allclose(erased[z == 1].mean(0), erased[z == 0].mean(0), atol=1e-5)
        assert eraser.components == 1 and probe(erased, z) == pytest.approx(majority)
        moved.append(erased - X)
    for change in moved[:2]:  # about the mean: it stays
        assert torch.allclose(change.mean(0), torch.zeros(8), atol=1e-5)
    assert torch.allclose((X + moved[0]).double(), by_the_book(X, z), atol=1e-4)
    for change in moved[1:]:  # wherever the mean lies
        assert moved[0].square().sum() <= (change - change.mean(0)).square().sum() * (1 + 1e-4)
    assert torch.allclose(moved[2], moved[3], atol=1e-4)  # of two genders there is one direction


def test_shrinkage_holds_better_on_vectors_that_were_not_seen():
    X, z = two_genders(n=600, d=50)
    some = torch.randperm(600, generator=torch.Generator().manual_seed(0))

    def left(shrinkage):
        erased = leace.fit(X[some[:60]], z[some[:60]], shrinkage=shrinkage).apply(X)
        return (erased[z == 1].mean(0) - erased[z == 0].mean(0)).norm(), (erased - X).norm()

    plain, shrunk = left(False), left(True)
    assert shrunk[1] < plain[1] and shrunk[0] < plain[0]
