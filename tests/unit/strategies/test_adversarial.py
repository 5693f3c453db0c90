"""Adversarial training: whose gradient goes where, what it is without its adversary, and what is left after it."""

import json
from dataclasses import asdict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy
from transformers import BertConfig, BertModel

from biasflow.base.errors import AbsentError
from biasflow.encoders.first_token import FirstTokenClassifier
from biasflow.metrics.training import score_adversary
from biasflow.strategies.adversarial import AdversarialClassifier, reversed_gradient
from biasflow.tasks.occupation.task import train
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
    BIOS.to_parquet(tmp_path / "biographies.parquet")
    save_model(tmp_path / "encoder")
    return tmp_path


def run(folder, strategy, *, recipe=RECIPE, **options):
    data = {"biographies": (folder / "biographies.parquet",)}
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


def test_a_training_without_an_adversary_has_no_accuracy_of_it(folder):
    plain, _ = run(folder, "plain")
    with pytest.raises(AbsentError, match="adversar"):
        score_adversary(plain / "training.json")
    assert "gender" not in json.loads((plain / "training.json").read_text())
