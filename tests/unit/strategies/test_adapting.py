"""Adversarial training and BLIND: whose gradient goes where, what weight an example has, and what is left after."""

import json
from dataclasses import asdict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, log_softmax
from transformers import BertConfig, BertModel

from biasflow.base.errors import AbsentError
from biasflow.encoders.first_token import FirstTokenClassifier
from biasflow.encoders.linear_head import load_head
from biasflow.metrics.training import score_adversary
from biasflow.strategies.adversarial import AdversarialClassifier, reversed_gradient
from biasflow.strategies.blind import BlindClassifier
from biasflow.tasks.classification.task import train
from biasflow.training.finetune import Recipe
from tests.unit.conftest import SIZES
from tests.unit.synthetic_bios import readable, save_model

RECIPE = asdict(
    Recipe(
        epochs=2, batch_size=16, learning_rate=3e-3, warmup=0.0, weight_decay=0.0, max_length=32, keep="last",
        checkpoint_steps=100, schedule="constant", clip=0.0,
    )
)  # fmt: skip
ADVERSARY = {"weight": 1.0, "hidden": 300}
BIOS = readable(600)
BIOS = BIOS.assign(text=[" ".join([*[text.split()[0]] * 6, text]) for text in BIOS["text"]])  # gender stands out


@given(st.floats(-3, 3), st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=6))
def test_the_gradient_is_reversed_and_nothing_else(weight, numbers):
    states = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
    out = reversed_gradient(states, weight)
    assert torch.equal(out, states)
    (out**2).sum().backward()
    assert torch.allclose(states.grad, -weight * 2 * states.detach(), atol=1e-12)


def batch():
    ids = torch.tensor([[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 1]])
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def classifier():
    return FirstTokenClassifier(BertModel(BertConfig(**SIZES)), torch.nn.Linear(SIZES["hidden_size"], 3))


def gradients(loss, parameters):
    return [torch.zeros_like(p) if g is None else g for p, g in zip(
        parameters, torch.autograd.grad(loss, parameters, allow_unused=True, retain_graph=True), strict=True
    )]  # fmt: skip


def test_the_encoder_goes_up_what_the_adversary_goes_down():
    """Its gradient is that of the task minus weight times what it would get for helping the adversary."""
    torch.manual_seed(0)
    model = AdversarialClassifier(classifier(), weight=0.7, hidden=5).double().eval()
    labels, gender = torch.tensor([0, 2, 1]), torch.tensor([1, 0, 1])
    encoder, adversary = (list(part.parameters()) for part in (model.base_model, model.adversary))
    loss = model(**batch(), labels=labels, gender=gender)["loss"]
    states = model.states(**batch())
    task, told = cross_entropy(model.head(states), labels), cross_entropy(model.adversary(states), gender)
    assert loss.item() == pytest.approx((task + told).item())
    for found, of_task, of_adversary in zip(*(gradients(each, encoder) for each in (loss, task, told)), strict=True):
        assert torch.allclose(found, of_task - 0.7 * of_adversary, atol=1e-12)
    for found, own in zip(gradients(loss, adversary), gradients(told, adversary), strict=True):
        assert torch.equal(found, own)
    assert any(g.abs().max() > 0 for g in gradients(told, encoder))


@pytest.fixture
def folder(tmp_path):
    BIOS.to_parquet(tmp_path / "texts.parquet")
    save_model(tmp_path / "encoder")
    return tmp_path


def run(folder, strategy, *, recipe=RECIPE, **options):
    data = {"texts": (folder / "texts.parquet",)}
    name = f"{strategy}-{len(list(folder.iterdir()))}"
    facts = train(
        folder / "encoder", folder / name, folder / "work", data, strategy=strategy, seed=5, device="cpu",
        recipe=recipe, adaptation={"module": f"strategies.{strategy}", "options": options} if options else None,
    )  # fmt: skip
    return folder / name, facts


def test_weight_0_is_the_training_without_an_adversary_bit_for_bit(folder):
    plain, _ = run(folder, "plain")
    weightless, _ = run(folder, "adversarial", **ADVERSARY | {"weight": 0.0})
    for name in ("model.safetensors", "head.safetensors"):
        assert (plain / name).read_bytes() == (weightless / name).read_bytes()
    assert {path.name for path in plain.iterdir()} == {path.name for path in weightless.iterdir()}
    other, _ = run(folder, "adversarial", **ADVERSARY)
    assert (plain / "model.safetensors").read_bytes() != (other / "model.safetensors").read_bytes()
    with pytest.raises(AbsentError, match="adversar"):
        score_adversary(plain / "training.json")
    assert "gender" not in json.loads((plain / "training.json").read_text())


def model_of(focus, bias=0.0):
    torch.manual_seed(0)
    model = BlindClassifier(classifier(), focus=focus).double().eval()
    torch.nn.init.zeros_(model.detector.weight)
    torch.nn.init.constant_(model.detector.bias, bias)
    return model


LABELS = torch.tensor([0, 2, 1])


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
    assert loss.item() == pytest.approx((task + binary_cross_entropy_with_logits(g, right)).item(), abs=1e-9)
    assert "loss" not in model(**batch())


def test_without_focus_it_is_the_plain_training_and_with_it_another(folder):
    plain, blind, other = (
        run(folder, strategy, **options)[0]
        for strategy, options in (("plain", {}), ("blind", {"focus": 0.0}), ("blind", {"focus": 2.0}))
    )
    heads = [load_head(trained) for trained in (plain, blind, other)]
    assert torch.allclose(heads[0][0], heads[1][0], atol=1e-4)
    assert not torch.allclose(heads[0][0], heads[2][0], atol=1e-4)
    assert {path.name for path in plain.iterdir()} == {path.name for path in other.iterdir()}
