"""Mean projection: equal means, a known answer, and the erasers that it is in a special case."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from biasflow.erasers import leace, mean_projection
from tests.unit.erasers.vectors import probe, two_genders


def test_known_answer():
    X = torch.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 5.0], [4.0, 5.0]])  # means (1, 1) and (4, 5): 3, 4, 5
    eraser = mean_projection.fit(X, torch.tensor([0, 0, 1, 1]))
    assert torch.allclose(eraser.left, torch.tensor([[0.6, 0.8]]))
    assert torch.allclose(eraser.apply(torch.tensor([5.0, 0.0])), torch.tensor([3.2, -2.4]))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 9999), share=st.floats(0.15, 0.85))
def test_means_are_equal_and_no_linear_probe_is_better_than_the_majority(seed, share):
    X, z = two_genders(n=80, seed=seed, share=share)
    erased = mean_projection.fit(X, z).apply(X)
    assert torch.allclose(erased[z == 1].mean(0), erased[z == 0].mean(0), atol=1e-5)
    majority = max(float(z.double().mean()), 1 - float(z.double().mean()))
    assert probe(erased, z) == pytest.approx(majority)
    change = (leace.fit(X, z).apply(X) - X).square().sum()
    moved = erased - X
    assert change <= (moved - moved.mean(0)).square().sum() * (1 + 1e-4)  # LEACE changes less, wherever the mean lies
