"""SPLINCE: no linear classifier tells the genders apart afterwards, and the covariance with the classes stays."""

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.nn.functional import one_hot

from biasflow.base.errors import BiasflowError
from biasflow.erasers import leace, splince
from tests.unit.erasers.vectors import probe, two_genders


def with_classes(seed, n=80, d=8, classes=3):
    """Vectors, genders, and classes that the vectors show and that are commoner in one gender than in the other."""
    X, z = two_genders(n=n, d=d, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    y = (torch.rand(n, generator=generator) * classes + 0.5 * z).long().clamp_max(classes - 1)
    return X + torch.randn(classes, d, generator=generator)[y], z, y


def covariance(X, columns):
    columns = columns.double().reshape(len(X), -1)
    return (X.double() - X.double().mean(0)).T @ (columns - columns.mean(0)) / len(X)


def by_the_book(X, z, y):
    """h' = c + W+ V (U'V)^-1 U' W (h - c) with the roots and the two bases of the paper, and the W of it."""
    X = X.double()
    c = X.mean(0)
    values, vectors = torch.linalg.eigh((X - c).T @ (X - c) / len(X))
    W = vectors @ torch.diag(values**-0.5) @ vectors.T
    kernel = W @ covariance(X, z)
    kept = torch.linalg.qr(W @ covariance(X, one_hot(y)[:, 1:])).Q  # the columns of all classes add up to 0
    both = torch.linalg.qr(torch.cat([kernel, kept], 1)).Q
    V = torch.cat([kept, torch.linalg.svd(both).U[:, both.shape[1] :]], 1)
    U = torch.linalg.svd(kernel).U[:, 1:]
    P = torch.linalg.inv(W) @ V @ torch.linalg.inv(U.T @ V) @ U.T @ W
    return c + (X - c) @ P.T, W


def test_known_answer():
    # The corners of a square have S = I. Cov(x, z) = (1/2, 0), Cov(x, y) = (1/4, 1/4), so q = (1/4, -1/4): the first
    # coordinate loses x1 - x2, that is, it becomes the second one. LEACE makes it 0, and with it half of Cov(x, y).
    X, z, y = torch.tensor([[-1.0, -1], [-1, 1], [1, -1], [1, 1]]), torch.tensor([0, 0, 1, 1]), torch.arange(4) == 3
    assert torch.allclose(splince.fit(X, z, y=y).apply(X), X[:, [1, 1]], atol=1e-6)
    assert torch.allclose(leace.fit(X, z).apply(X), X * torch.tensor([0, 1]), atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 9999), classes=st.integers(2, 4))
def test_gender_goes_the_classes_stay_and_it_is_the_printed_projection(seed, classes):
    X, z, y = with_classes(seed, classes=classes)
    assume(len(y.unique()) == classes)
    eraser = splince.fit(X, z, y=y)
    erased = eraser.apply(X.double())
    assert eraser.components == 1
    assert covariance(erased, z).abs().max() < 1e-5
    assert torch.allclose(covariance(erased, one_hot(y)), covariance(X, one_hot(y)), atol=1e-5)
    assert torch.allclose(erased.mean(0), X.double().mean(0), atol=1e-5)
    majority = max(float(z.double().mean()), 1 - float(z.double().mean()))
    assert probe(eraser.apply(X), z) == pytest.approx(majority)
    assert torch.allclose(erased, by_the_book(X, z, y)[0], atol=1e-4)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 9999))
def test_of_the_maps_that_do_both_it_changes_the_vectors_least_in_any_metric(seed):
    X, z, y = with_classes(seed)
    X = X.double()
    centred, (_, W) = X - X.mean(0), by_the_book(X, z, y)
    change = splince.fit(X, z, y=y).apply(X) - X
    fixed = torch.linalg.qr(torch.cat([covariance(X, z), covariance(X, one_hot(y))[:, 1:]], 1)).Q
    generator = torch.Generator().manual_seed(seed)
    for metric in (torch.eye(8).double(), W):
        for _ in range(5):  # any other map with both properties: beside it, what does not touch the two covariances
            other = torch.randn(8, 8, generator=generator).double()
            other -= other @ fixed @ fixed.T
            others = change + centred @ other.T
            assert covariance(X + others, z).abs().max() < 1e-5
            assert ((change @ metric) ** 2).sum() <= ((others @ metric) ** 2).sum() * (1 + 1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 9999))
def test_where_no_class_varies_with_the_vectors_it_is_leace(seed):
    X, z = two_genders(n=40, seed=seed)
    X, z, y = torch.cat([X, X]), torch.cat([z, z]), torch.arange(80) >= 40  # every vector once in each class
    assert torch.allclose(splince.fit(X, z, y=y).apply(X), leace.fit(X, z).apply(X), atol=1e-4)


@pytest.mark.parametrize(
    ("y", "why"),
    [
        (None, "needs y, the class"),
        (torch.zeros(60).long(), "single class"),
        (torch.arange(59) % 3, "60 whole numbers"),
        (torch.rand(60), "60 whole numbers"),
        (two_genders()[1], "gender follows from the classes"),
        (2 * two_genders()[1] + torch.arange(60) % 2, "gender follows from the classes"),  # each class has one gender
        (torch.arange(60), "gender follows from the classes"),  # every vector is a class of its own
    ],
)
@pytest.mark.parametrize("d", [8, 80])
def test_classes_that_it_cannot_keep_are_one_clear_line(y, why, d):
    with pytest.raises(BiasflowError, match=f"^splince: .*{why}[^\n]*$"):
        splince.fit(*two_genders(d=d), y=y)
