"""Erasers in closed form, of subspaces and of means: known answers, properties, errors."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch.nn.functional import one_hot

from biasflow.base.errors import BiasflowError
from biasflow.erasers import conceptor, hard, leace, mean_projection, pca, sal, splince
from tests.unit.erasers.vectors import labelled, of_pairs, probe, two_genders


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
    """h' = c + W+ V (U'V)^-1 U' W (h - c) with the roots and the two bases of the paper."""
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
    return c + (X - c) @ P.T


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
    assert torch.allclose(erased, by_the_book(X, z, y), atol=1e-4)


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


def test_hard_equals_scikit_learn():
    from sklearn.decomposition import PCA

    generator = torch.Generator().manual_seed(0)
    masculine, feminine = torch.randn(30, 8, generator=generator) + 3, torch.randn(20, 8, generator=generator)
    oracle = PCA(n_components=3).fit(torch.cat([masculine, feminine]).double().numpy())
    ours = hard.fit(*labelled(masculine, feminine), components=3)
    assert torch.allclose(ours.explained_variance.double(), torch.from_numpy(oracle.explained_variance_ratio_))
    cosines = ours.left.double() @ torch.from_numpy(oracle.components_).T
    assert torch.allclose(cosines.abs(), torch.eye(3).double(), atol=1e-6)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 20), aperture=st.floats(0.1, 20))
def test_conceptor_equals_its_formula(seed, n, aperture):
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(n, 7, generator=generator) + 1  # not centred; with n < 7, R has no inverse
    h = torch.randn(4, 7, generator=generator)
    R = X.double().T @ X.double() / n
    C = R @ torch.linalg.inv(R + aperture**-2 * torch.eye(7).double())
    eraser = conceptor.fit(X, torch.arange(n) % 2, aperture=aperture)
    assert torch.allclose(eraser.apply(h).double(), h.double() @ (torch.eye(7).double() - C), atol=1e-4)
    assert bool(((eraser.weights >= 0) & (eraser.weights <= 1)).all())
    assert torch.equal(eraser.weights, eraser.weights.sort(descending=True).values)
    wider = conceptor.fit(X, torch.arange(n) % 2, aperture=2 * aperture)
    assert bool((wider.weights >= eraser.weights - 1e-6).all())  # a larger aperture removes more


@pytest.mark.parametrize("aperture", [0.0, -1.0, float("nan"), float("inf")])
def test_conceptor_refuses_an_aperture_that_is_none(aperture):
    with pytest.raises(BiasflowError, match="aperture"):
        conceptor.fit(torch.randn(9, 4), torch.arange(9) % 2, aperture=aperture)


def planted_pairs(n=200, dimension=30, noise=1.0, seed=0):
    """Pairs whose differences share one direction with a constant sign, in noise."""
    generator = torch.Generator().manual_seed(seed)
    direction = torch.nn.functional.normalize(torch.randn(dimension, generator=generator), dim=0)
    middle = 5 * torch.randn(n, dimension, generator=generator)
    difference = 3 * direction + noise * torch.randn(n, dimension, generator=generator)
    return torch.stack([middle + difference / 2, middle - difference / 2], 1), direction


def test_pair_centred_pca_recovers_the_shared_direction_and_the_other_centring_loses_it():
    pairs, direction = planted_pairs()
    found = {
        center: abs(float(pca.fit(**of_pairs(pairs), components=1, center=center).left[0] @ direction))
        for center in pca.CENTERS
    }
    assert found["pairs"] > 0.9
    assert found["differences"] < 0.3


def test_known_answer_in_two_dimensions():
    # Differences (2, 0), (-2, 0), (0, 1): D'D = diag(8, 1), so the axes explain 8/9 and 1/9.
    differences = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0]])
    eraser = pca.fit(**of_pairs(torch.stack([differences, torch.zeros(3, 2)], 1)), components=2)
    assert torch.allclose(eraser.left, torch.eye(2))
    assert torch.allclose(eraser.explained_variance, torch.tensor([8 / 9, 1 / 9]))


def leace_by_the_book(X, z):
    """LEACE as it is printed, h' = h - W+ P W (h - c), with roots."""
    X, z = X.double(), z.double()
    c = X.mean(0)
    S = (X - c).T @ (X - c) / len(X)
    s = (X - c).T @ (z - z.mean()) / len(X)
    values, vectors = torch.linalg.eigh(S)
    W = vectors @ torch.diag(values**-0.5) @ vectors.T
    u = W @ s / (W @ s).norm()
    return X - (X - c) @ (torch.linalg.inv(W) @ torch.outer(u, u) @ W).T


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
    assert torch.allclose((X + moved[0]).double(), leace_by_the_book(X, z), atol=1e-4)
    for change in moved[1:]:  # wherever the mean lies
        assert moved[0].square().sum() <= (change - change.mean(0)).square().sum() * (1 + 1e-4)
    assert torch.allclose(moved[2], moved[3], atol=1e-4)  # of two genders there is one direction


@given(seed=st.integers(0, 9999), classes=st.integers(2, 4))
def test_with_classes_it_is_fitted_to_gender_minus_its_share_in_the_class(seed, classes):
    """Which no class tells, and after which no linear probe that knows the class finds a gender."""
    X, z, y = with_classes(seed, classes=classes)
    columns = one_hot(y, classes).double()[:, y.unique()]
    residual = z - columns @ (columns.T @ z.double() / columns.sum(0))
    assume(residual.square().mean() > 0.02)
    assert covariance(columns, residual).abs().max() < 1e-12
    erasers = {module: module.fit(X, z, y=10 * y) for module in (leace, mean_projection)}
    for eraser in erasers.values():
        erased = eraser.apply(X.double())
        assert eraser.components == 1 and covariance(erased, residual).abs().max() < 1e-5
        known = torch.cat([columns, erased], 1).numpy()
        weights, *_ = np.linalg.lstsq(known, z.double().numpy(), rcond=1e-4)
        assert known @ weights == pytest.approx((z - residual).numpy(), abs=1e-2)
    assert torch.allclose(erasers[leace].apply(X.double()), leace_by_the_book(X, residual), atol=1e-4)
    assert not torch.allclose(erasers[leace].left, leace.fit(X, z).left, atol=1e-3)


@pytest.mark.parametrize("module", [leace, mean_projection])
def test_genders_that_follow_from_the_classes_leave_nothing_to_erase(module):
    X, z = two_genders()
    with pytest.raises(BiasflowError, match=f"^{module.__name__.split('.')[-1]}: both genders have the same mean"):
        module.fit(X, z, y=z)
    with pytest.raises(BiasflowError, match="60 whole numbers"):
        module.fit(X, z, y=z[1:])


def test_shrinkage_holds_better_on_vectors_that_were_not_seen():
    X, z = two_genders(n=600, d=50)
    some = torch.randperm(600, generator=torch.Generator().manual_seed(0))

    def left(shrinkage):
        erased = leace.fit(X[some[:60]], z[some[:60]], shrinkage=shrinkage).apply(X)
        return (erased[z == 1].mean(0) - erased[z == 0].mean(0)).norm(), (erased - X).norm()

    plain, shrunk = left(False), left(True)
    assert shrunk[1] < plain[1] and shrunk[0] < plain[0]
