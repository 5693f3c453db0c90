"""LEACE: nothing linear is left on the vectors it was fitted to, and no other map changes them less."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.erasers import leace
from tests.unit.erasers.vectors import on_an_axis, probe, two_genders


def test_known_answer():
    # S = diag(1 + 1/4, 4) with s = (1/4, 0): the axes are uncorrelated, so all of the first one goes, about the mean.
    X, z = on_an_axis()
    eraser = leace.fit(X, z)
    assert torch.allclose(eraser.apply(X), torch.stack([torch.full((8,), 0.5), X[:, 1]], 1), atol=1e-6)
    assert torch.allclose(eraser.apply(torch.tensor([9.0, 3.0])), torch.tensor([0.5, 3.0]), atol=1e-6)


def by_the_book(X, z):
    """h' = h - W+ P W (h - c), with roots, as it is printed."""
    X, z = X.double(), z.double()
    c = X.mean(0)
    S = (X - c).T @ (X - c) / len(X)
    s = (X - c).T @ (z - z.mean()) / len(X)
    values, vectors = torch.linalg.eigh(S)
    W = vectors @ torch.diag(values**-0.5) @ vectors.T
    u = W @ s / (W @ s).norm()
    return X - (X - c) @ (torch.linalg.inv(W) @ torch.outer(u, u) @ W).T


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 9999), share=st.floats(0.15, 0.85), shrinkage=st.booleans())
def test_no_linear_probe_is_better_than_the_majority(seed, share, shrinkage):
    X, z = two_genders(n=80, seed=seed, share=share)
    eraser = leace.fit(X, z, shrinkage=shrinkage)
    erased = eraser.apply(X)
    assert eraser.components == 1
    assert torch.allclose(erased[z == 1].mean(0), erased[z == 0].mean(0), atol=1e-5)
    majority = max(float(z.double().mean()), 1 - float(z.double().mean()))
    assert probe(erased, z) == pytest.approx(majority)
    assert torch.allclose(erased.mean(0), X.mean(0), atol=1e-5)  # about the mean: it stays
    if not shrinkage:
        assert torch.allclose(erased.double(), by_the_book(X, z), atol=1e-4)
        change = (erased - X).square().sum()
        moved = leace.fit(X, z, shrinkage=True).apply(X) - X
        assert change <= moved.square().sum() * (1 + 1e-4)


def test_shrinkage_holds_better_on_vectors_that_were_not_seen():
    X, z = two_genders(n=600, d=50)
    some = torch.randperm(600, generator=torch.Generator().manual_seed(0))

    def left(shrinkage):
        erased = leace.fit(X[some[:60]], z[some[:60]], shrinkage=shrinkage).apply(X)
        return (erased[z == 1].mean(0) - erased[z == 0].mean(0)).norm(), (erased - X).norm()

    plain, shrunk = left(False), left(True)
    assert shrunk[1] < plain[1] and shrunk[0] < plain[0]
