"""Erasers and the pair-centred PCA: known answers and properties."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.erasers import pca
from scripts.biasflow.erasers.eraser import Eraser


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
        center: abs(float(pca.fit(pairs, components=1, center=center).basis[0] @ direction)) for center in pca.CENTERS
    }
    assert found["pairs"] > 0.9
    assert found["differences"] < 0.3


def test_known_answer_in_two_dimensions():
    # Differences (2, 0), (-2, 0), (0, 1): D'D = diag(8, 1), so the axes explain 8/9 and 1/9.
    differences = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0]])
    eraser = pca.fit(torch.stack([differences, torch.zeros(3, 2)], 1), components=2)
    assert torch.allclose(eraser.basis, torch.eye(2))
    assert torch.allclose(eraser.weights, torch.tensor([8 / 9, 1 / 9]))


def test_it_equals_scikit_learn_on_centred_rows():
    from sklearn.decomposition import PCA

    pairs, _ = planted_pairs(n=60, dimension=8)
    centred = (pairs - pairs.mean(1, keepdim=True)).reshape(-1, 8).double().numpy()
    oracle = PCA(n_components=2).fit(centred)
    ours = pca.fit(pairs, components=2)
    assert torch.allclose(ours.weights.double(), torch.from_numpy(oracle.explained_variance_ratio_), atol=1e-5)
    assert torch.allclose(
        (ours.basis.double() @ torch.from_numpy(oracle.components_).T).abs(), torch.eye(2).double(), atol=1e-4
    )


def test_every_head_has_its_own_subspace():
    pairs = torch.randn(50, 2, 3, 6)
    together = pca.fit(pairs, components=1)
    for head in range(3):
        alone = pca.fit(pairs[:, :, head], components=1)
        assert torch.allclose(together.basis[head], alone.basis, atol=1e-5)
        assert torch.allclose(together.weights[head], alone.weights, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), components=st.integers(1, 3), heads=st.sampled_from([(), (2,)]))
def test_properties_of_a_fitted_eraser(seed, components, heads):
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.randn(12, 2, *heads, 7, generator=generator)
    h = torch.randn(5, *heads, 7, generator=generator)
    eraser = pca.fit(pairs, components=components)
    gram = eraser.basis @ eraser.basis.transpose(-1, -2)
    assert torch.allclose(gram, torch.eye(components).expand_as(gram), atol=1e-5)
    assert bool(((eraser.weights >= 0) & (eraser.weights <= 1)).all())
    assert bool((eraser.weights.sum(-1) <= 1 + 1e-6).all())

    hard = eraser.with_setting(weighted=False, components=components)
    once = hard.apply(h)
    assert hard.coordinates(once).abs().max() < 1e-5  # nothing is left
    assert torch.allclose(hard.apply(once), once, atol=1e-5)  # erasing twice is erasing once
    soft = eraser.with_setting(weighted=True, components=components)
    assert torch.allclose(soft.coordinates(soft.apply(h)), (1 - soft.weights) * soft.coordinates(h), atol=1e-5)

    swapped = pca.fit(pairs.flip(1), components=components)  # which gender comes first does not matter
    assert torch.allclose(swapped.basis, eraser.basis, atol=1e-4)


def test_state_round_trip():
    eraser = pca.fit(torch.randn(9, 2, 5), components=2)
    back = Eraser.from_state(eraser.state("x"), "x")
    assert torch.equal(back.basis, eraser.basis)
    assert torch.equal(back.weights, eraser.weights)


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
        pca.fit(pairs, **options)


def test_asking_for_more_directions_than_were_fitted():
    with pytest.raises(BiasflowError):
        pca.fit(torch.randn(9, 2, 5), components=1).with_setting(weighted=False, components=2)
