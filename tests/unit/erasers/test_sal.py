"""SAL: the vectors do not vary with gender afterwards; of two genders there is one direction, the means' difference."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.erasers import mean_projection, sal
from tests.unit.erasers.vectors import probe, two_genders


def test_known_answer():
    X = torch.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 5.0], [4.0, 5.0]])  # means (1, 1) and (4, 5): 3, 4, 5
    eraser = sal.fit(X, torch.tensor([0, 0, 1, 1]))
    assert torch.allclose(eraser.left.abs(), torch.tensor([[0.6, 0.8]]))
    assert torch.allclose(eraser.apply(torch.tensor([5.0, 0.0])), torch.tensor([3.2, -2.4]))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 9999), share=st.floats(0.15, 0.85))
def test_the_covariance_with_gender_is_zero_and_the_direction_is_that_of_mean_projection(seed, share):
    X, z = two_genders(n=80, seed=seed, share=share)
    eraser = sal.fit(X, z)
    erased = eraser.apply(X.double())
    centred = z.double() - z.double().mean()
    assert (X.double().T @ centred).norm() > 1
    assert (erased.T @ centred).abs().max() < 1e-4
    assert torch.allclose(erased, mean_projection.fit(X, z).apply(X.double()), atol=1e-4)
    majority = max(float(z.double().mean()), 1 - float(z.double().mean()))
    assert probe(eraser.apply(X), z) == pytest.approx(majority)
