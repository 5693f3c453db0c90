"""Hard debiasing and the conceptor: known answers, properties, errors."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.erasers import conceptor, hard
from tests.unit.erasers.vectors import labelled


def test_hard_known_answer():
    # About the mean (1, 1) the vectors are (+-4, 0) and (0, +-1): the first component is the first axis.
    X = torch.tensor([[5.0, 1.0], [-3.0, 1.0], [1.0, 2.0], [1.0, 0.0]])
    eraser = hard.fit(X, torch.tensor([0, 0, 1, 1]), components=2)
    assert torch.allclose(eraser.left, torch.eye(2))
    assert eraser.weights.tolist() == [1, 1]
    assert torch.allclose(eraser.explained_variance, torch.tensor([32 / 34, 2 / 34]))
    assert eraser.with_setting(weighted=False, components=1).apply(torch.tensor([7.0, 3.0])).tolist() == [0, 3]


def test_hard_equals_scikit_learn():
    from sklearn.decomposition import PCA

    generator = torch.Generator().manual_seed(0)
    masculine, feminine = torch.randn(30, 8, generator=generator) + 3, torch.randn(20, 8, generator=generator)
    oracle = PCA(n_components=3).fit(torch.cat([masculine, feminine]).double().numpy())
    ours = hard.fit(*labelled(masculine, feminine), components=3)
    assert torch.allclose(ours.explained_variance.double(), torch.from_numpy(oracle.explained_variance_ratio_))
    cosines = ours.left.double() @ torch.from_numpy(oracle.components_).T
    assert torch.allclose(cosines.abs(), torch.eye(3).double(), atol=1e-6)


def test_conceptor_known_answer():
    # R = diag(4, 1, 0); with aperture 2 an eigenvalue s becomes s / (s + 1/4).
    X = torch.tensor([[2.0, 1.0, 0.0], [2.0, -1.0, 0.0], [-2.0, 1.0, 0.0], [-2.0, -1.0, 0.0]])
    eraser = conceptor.fit(X, torch.arange(4) % 2)
    assert torch.allclose(eraser.weights, torch.tensor([16 / 17, 4 / 5, 0.0]))
    assert torch.allclose(eraser.apply(torch.tensor([17.0, 5.0, 1.0])), torch.tensor([1.0, 1.0, 1.0]), atol=1e-5)


@settings(max_examples=30, deadline=None)
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
