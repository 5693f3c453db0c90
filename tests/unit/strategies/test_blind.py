"""BLIND: what weight an example has, whose gradient goes where, and what it is without its focus."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy, log_softmax

from biasflow.encoders.linear_head import load_head
from biasflow.strategies.blind import BlindClassifier
from tests.unit.strategies.test_adversarial import batch, classifier, folder, gradients, run

__all__ = ["folder"]  # a fixture


def model_of(focus, bias=0.0):
    torch.manual_seed(0)
    model = BlindClassifier(classifier(), focus=focus).double().eval()
    torch.nn.init.zeros_(model.detector.weight)
    torch.nn.init.constant_(model.detector.bias, bias)
    return model


LABELS = torch.tensor([0, 2, 1])


def test_known_answer():
    # A detector that always says ln 3 expects success with 3/4; with a focus of 2 every example has a weight of 1/16.
    model = model_of(2.0, bias=float(torch.tensor(3.0).double().log()))
    found = model(**batch(), labels=LABELS)
    right = (found["logits"].argmax(1) == LABELS).double().mean()
    detector = -(right * torch.tensor(0.75).log() + (1 - right) * torch.tensor(0.25).log())
    expected = cross_entropy(found["logits"], LABELS) / 16 + detector
    assert found["loss"].item() == pytest.approx(expected.item(), abs=1e-6)
    assert "loss" not in model(**batch())


@given(focus=st.floats(0, 8), bias=st.floats(-4, 4))
def test_the_two_losses_train_different_parts(focus, bias):
    model = model_of(focus, bias)
    torch.nn.init.normal_(model.detector.weight)
    states = model.states(**batch())
    logits, g = model.head(states), model.detector(states)[:, 0]
    weights = (1 - torch.sigmoid(g.detach())) ** focus
    task = -(weights * log_softmax(logits, 1)[torch.arange(3), LABELS]).mean()
    loss = model(**batch(), labels=LABELS)["loss"]
    classifier = [*model.base_model.parameters(), *model.head.parameters()]
    for ours, of_task in zip(gradients(loss, classifier), gradients(task, classifier), strict=True):
        assert torch.allclose(ours, of_task, atol=1e-10)
    right = (logits.argmax(1) == LABELS).double()
    (found,) = gradients(loss, [model.detector.bias])
    assert found.item() == pytest.approx((torch.sigmoid(g) - right).mean().item(), abs=1e-9)


def test_without_focus_it_is_the_plain_training_and_with_it_another(folder):
    plain, blind, other = (
        run(folder, strategy, **options)[0]
        for strategy, options in (("plain", {}), ("blind", {"focus": 0.0}), ("blind", {"focus": 2.0}))
    )
    heads = [load_head(trained) for trained in (plain, blind, other)]
    assert torch.allclose(heads[0][0], heads[1][0], atol=1e-4)
    assert not torch.allclose(heads[0][0], heads[2][0], atol=1e-4)
    assert {path.name for path in plain.iterdir()} == {path.name for path in other.iterdir()}
