"""DensRay: the Laplacian form against the plain loop over pairs, known answers, invariances, errors."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.erasers import densray
from tests.unit.erasers.vectors import labelled

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


@settings(max_examples=30, deadline=None)
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
