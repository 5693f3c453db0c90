"""Erasers and the pair-centred PCA: known answers and properties."""

import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.erasers import pca
from tests.unit.erasers.vectors import of_pairs


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


def test_it_equals_scikit_learn_on_centred_rows():
    from sklearn.decomposition import PCA

    pairs, _ = planted_pairs(n=60, dimension=8)
    centred = (pairs - pairs.mean(1, keepdim=True)).reshape(-1, 8).double().numpy()
    oracle = PCA(n_components=2).fit(centred)
    ours = pca.fit(**of_pairs(pairs), components=2)
    assert torch.allclose(
        ours.explained_variance.double(), torch.from_numpy(oracle.explained_variance_ratio_), atol=1e-5
    )
    assert torch.allclose(
        (ours.left.double() @ torch.from_numpy(oracle.components_).T).abs(), torch.eye(2).double(), atol=1e-4
    )


@pytest.mark.parametrize(
    ("pairs", "options"),
    [
        (torch.randn(1, 2, 5), {"components": 2}),
        (torch.zeros(9, 2, 5), {"components": 1}),
        (torch.full((9, 2, 5), float("nan")), {"components": 1}),
        (torch.randn(9, 2, 5), {"components": 1, "center": "mean"}),
    ],
)
def test_bad_input_is_a_clear_error(pairs, options):
    with pytest.raises(BiasflowError):
        pca.fit(**of_pairs(pairs), **options)
