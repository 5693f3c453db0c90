"""Single erasers. DensRay: the Laplacian form against the plain loop over pairs. QLEACE, the oracle: both genders have
one mean and one covariance. Random directions: orthonormal, another draw for each seed, and of small effect."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.erasers import conceptor, densray, hard, inlp, leace, random
from biasflow.erasers.eraser import Eraser
from biasflow.erasers.qleace import qleace
from tests.unit.erasers.vectors import labelled, two_genders

WEIGHTS = [(0.5, 0.5), (0.9, 0.1), (1.0, 0.0), (0.0, 1.0)]


def vectors(n_m=9, n_f=7, dimension=5, shift=1.5, seed=0):
    """Two genders in noise, which differ along the first axis, in float64."""
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(n_m + n_f, dimension, generator=generator, dtype=torch.float64)
    X[n_m:, 0] += shift
    return X[:n_m], X[n_m:]


def matrix_by_pairs(masculine, feminine, weights, normalize):
    """The definition, pair by pair."""
    X, n_m = torch.cat([masculine, feminine]), len(masculine)
    sums, pairs = [torch.zeros(X.shape[1], X.shape[1], dtype=X.dtype) for _ in range(2)], [0, 0]
    for i, x in enumerate(X):
        for j, y in enumerate(X):
            d = x - y
            length = float(d.norm())
            if normalize and length > 0:
                d = d / length
            same = int((i < n_m) == (j < n_m))
            sums[same] += torch.outer(d, d)
            pairs[same] += 1
    return weights[0] * sums[0] / pairs[0] - weights[1] * sums[1] / pairs[1]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("sizes", [(9, 9), (9, 7), (1, 4), (40, 3)])
@pytest.mark.parametrize("chunk", [4, 256])
def test_it_equals_the_loop_over_pairs(weights, normalize, sizes, chunk, monkeypatch):
    monkeypatch.setattr(densray, "CHUNK", chunk)
    masculine, feminine = vectors(*sizes)
    eigenvalues, directions = densray.spectrum(*labelled(masculine, feminine), weights=weights, normalize=normalize)
    matrix = matrix_by_pairs(masculine, feminine, weights, normalize)
    assert (eigenvalues - torch.linalg.eigvalsh(matrix).flip(0)).abs().max() < 1e-10
    assert (directions.T @ torch.diag(eigenvalues) @ directions - matrix).abs().max() < 1e-10
    # Where the first eigenvalue stands alone its direction is that of the loop.
    if eigenvalues[0] - eigenvalues[1] > 1e-3:
        first = torch.linalg.eigh(matrix).eigenvectors[:, -1]
        assert abs(float(first @ directions[0])) == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("normalize", [True, False])
def test_a_planted_direction_is_found_turned_to_feminine_and_erased(normalize):
    generator = torch.Generator().manual_seed(3)
    direction = torch.nn.functional.normalize(torch.randn(30, generator=generator), dim=0)
    noise = torch.randn(400, 30, generator=generator) + 20 * torch.randn(30, generator=generator)
    noise[:, 4] *= 10  # the largest variance is not gender
    masculine, feminine = noise[:200] - 1.5 * direction, noise[200:] + 1.5 * direction
    eraser = densray.fit(*labelled(masculine, feminine), normalize=normalize)
    assert eraser.left.shape == (1, 30) and eraser.weights.tolist() == [1.0]
    assert float(eraser.left[0] @ direction) > 0.7  # the loud axis disturbs
    assert densray.scores(eraser, feminine).mean() > densray.scores(eraser, masculine).mean()
    erased = eraser.apply(torch.cat([masculine, feminine]))
    assert densray.scores(eraser, erased).abs().max() < 1e-4
    swapped = densray.fit(*labelled(feminine, masculine), normalize=normalize)
    assert torch.allclose(swapped.left, -eraser.left, atol=1e-5)


@given(
    seed=st.integers(0, 10_000),
    n_m=st.integers(2, 12),
    n_f=st.integers(2, 12),
    normalize=st.booleans(),
    weights=st.sampled_from(WEIGHTS),
)
def test_rotation_translation_scale_and_order(seed, n_m, n_f, normalize, weights):
    masculine, feminine = vectors(n_m, n_f, seed=seed)
    generator = torch.Generator().manual_seed(seed + 1)
    rotation = torch.linalg.qr(torch.randn(5, 5, generator=generator, dtype=torch.float64))[0]
    offset = 10 * torch.randn(5, generator=generator, dtype=torch.float64)
    options = {"weights": weights, "normalize": normalize}
    eigenvalues, directions = densray.spectrum(*labelled(masculine, feminine), **options)
    assert torch.allclose(directions @ directions.T, torch.eye(5, dtype=torch.float64), atol=1e-10)
    if normalize:
        assert -weights[1] - 1e-12 <= float(eigenvalues[-1]) and float(eigenvalues[0]) <= weights[0] + 1e-12
    if normalize and weights == (0.5, 0.5):
        assert densray.gender_share(*labelled(masculine, feminine)) == pytest.approx(max(2 * float(eigenvalues[0]), 0))

    matrix = directions.T @ torch.diag(eigenvalues) @ directions

    def changed(change, matrix):
        values, rows = densray.spectrum(*labelled(change(masculine), change(feminine)), **options)
        return torch.allclose(rows.T @ torch.diag(values) @ rows, matrix, atol=1e-8)

    assert changed(lambda X: X @ rotation, rotation.T @ matrix @ rotation)
    assert changed(lambda X: X + offset, matrix)
    assert changed(lambda X: 3 * X, matrix * (1 if normalize else 9))
    assert changed(lambda X: X.flip(0), matrix)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(
    ("masculine", "feminine", "weights"),
    [
        (torch.ones(3, 5), torch.ones(2, 5), (0.5, 0.5)),
        (torch.randn(3, 5), torch.randn(3, 5), (-1.0, 1.0)),
        (torch.randn(3, 5), torch.randn(3, 5), (0.0, 0.0)),
        (torch.randn(1, 5), torch.randn(1, 5), (0.0, 1.0)),
    ],
)
def test_bad_input_is_a_clear_error(masculine, feminine, weights, normalize):
    with pytest.raises(BiasflowError):
        densray.spectrum(*labelled(masculine, feminine), weights=weights, normalize=normalize)


def of_two_covariances(seed, n=(300, 200), d=4):
    rng = np.random.default_rng(seed)
    own = [rng.normal(size=(size, d)) @ rng.normal(size=(d, d)) + 3 * rng.normal(size=d) for size in n]
    return np.concatenate(own), np.repeat([0, 1], n)


def test_of_one_dimension_the_deviation_is_the_mean_of_both_weighted_by_their_shares():
    X, z = np.array([[-1.0], [1.0], [-3.0], [3.0], [1.0], [9.0]]), np.array([0, 0, 0, 0, 1, 1])
    moved = qleace(X, z, shrinkage=False)  # deviations sqrt(5) and 4; the mean of all is 5 / 3
    deviation = 2 / 3 * np.sqrt(5) + 1 / 3 * 4
    assert moved[:4, 0] == pytest.approx(X[:4, 0] / np.sqrt(5) * deviation + 5 / 3)
    assert moved[4:, 0] == pytest.approx(5 / 3 + np.array([-1, 1]) * deviation)


@given(seed=st.integers(0, 9999))
def test_both_genders_have_one_mean_and_one_covariance_and_a_smaller_change_does_not_do(seed):
    X, z = of_two_covariances(seed)
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
    X, z = of_two_covariances(3)
    train = np.arange(0, len(z), 2)
    changed = X.copy()
    changed[1] += 100
    assert qleace(X, z, train=train)[train] == pytest.approx(qleace(changed, z, train=train)[train])
    with pytest.raises(BiasflowError, match="1 vectors"):
        qleace(X, z, train=[0, 1, 2, 400])


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
