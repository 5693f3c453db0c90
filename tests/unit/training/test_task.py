"""A task with a loop of its own: it needs the protocol, and no Trainer."""

import json
import sys
import types

import pandas as pd
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_text
from biasflow.encoders.edit import edited
from biasflow.encoders.load import new_classifier
from biasflow.metrics import glue
from biasflow.metrics.training import score
from biasflow.readouts import predictions
from biasflow.readouts.source import Source
from biasflow.training import task
from biasflow.training.checkpoints import claim
from biasflow.training.examples import of_table
from biasflow.training.task import check_strategy, fit_method, origin, save_training
from tests.unit.training.test_finetune import LABELS, TRAIN, VALIDATION, save_source


def examples(data):
    (path,) = data["examples"]
    return of_table(pd.read_json(path), texts=["first"], classes=LABELS)


def train(encoder_folder, folder, work, data, *, strategy, seed, recipe, device="cpu", method=None):
    """Plain gradient descent on all examples at once."""
    check_strategy(strategy, method)
    model, tokenizer = new_classifier(encoder_folder, LABELS, seed=seed, device=device)
    carried = fit_method(model.eval(), tokenizer, method)
    settings = {"recipe": recipe, "seed": seed, "method": carried.claim()}
    claim(work, settings | origin(encoder_folder, model.device, [__file__]))
    asked = examples({"examples": data["train"]})
    batch = tokenizer(*asked.texts(0, len(asked)), padding=True, return_tensors="pt")
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe["learning_rate"])
    with edited(model, carried.edits):
        for _ in range(recipe["steps"]):
            optimizer.zero_grad()
            model(**batch, labels=torch.tensor(asked.gold)).loss.backward()
            optimizer.step()
    facts = {"validation_metric": "accuracy", "validation_score": 0.5, "majority_share": 0.4}
    facts |= {"train": len(asked), "validation": 30, "cut": 0}
    return save_training(folder, model, tokenizer, facts, carried)


@pytest.fixture
def toy(monkeypatch):
    """The module of the task, under a name that is in no registry."""
    module = types.ModuleType("toy_task")
    module.examples, module.train = examples, train
    monkeypatch.setitem(sys.modules, "toy_task", module)
    return module


RECIPE = {"learning_rate": 0.003, "steps": 25}


def run(toy, tmp_path, **options):
    save_source(tmp_path / "source")
    for role, frame in (("train", TRAIN), ("validation", VALIDATION)):
        frame.to_json(tmp_path / f"{role}.json")
    data = {role: (tmp_path / f"{role}.json",) for role in ("train", "validation")}
    arguments = {"strategy": "plain", "seed": 0, "recipe": RECIPE} | options
    facts = toy.train(tmp_path / "source", tmp_path / "model", tmp_path / "work", data, **arguments)
    return facts, {"examples": data["validation"]}


def test_what_it_trains_is_read_and_scored_like_any_other(toy, tmp_path):
    facts, data = run(toy, tmp_path)
    assert json.loads(read_text(tmp_path / "model/training.json")) == facts
    source = Source(tmp_path / "model", ("none",), "validation", data)
    predictions.read(source, tmp_path / "output", task="toy_task")
    assert glue.score(tmp_path / "output").set_index("metric")["value"]["accuracy"] > 0.8
    found = score(tmp_path / "model/training.json")
    assert {"validation_accuracy", "majority_share", "diverged", "train_size"} <= set(found["metric"])


def test_its_checkpoints_are_claimed_by_nested_settings(tmp_path):
    claim(tmp_path, {"recipe": {"steps": 3}})  # nothing was saved: there is nothing to mix
    claim(tmp_path, {"recipe": {"steps": 1}, "labels": ("a", "b"), "method": None})
    (tmp_path / "checkpoint-1").mkdir()
    claim(tmp_path, {"recipe": {"steps": 1}, "labels": ["a", "b"], "method": None})
    for settings, named in (
        ({"recipe": {"steps": 2}, "labels": ["a", "b"]}, r"recipe\.steps \(1, now 2\)"),
        ({"recipe": {"steps": 1}, "labels": ["b", "a"]}, "labels"),
        (
            {"recipe": {"steps": 1}, "labels": ["a", "b"], "method": {"name": "leace"}},
            r"method\.name \(None, now leace",
        ),
        ({"recipe": {}, "labels": ["a", "b"]}, r"recipe"),
    ):
        with pytest.raises(BiasflowError, match=f"another {named}"):
            claim(tmp_path, settings)


@pytest.mark.parametrize("mark", [None, "", "[]"])
def test_checkpoints_that_nobody_has_marked_are_not_gone_on_from(tmp_path, mark):
    (tmp_path / "checkpoint-1").mkdir()
    if mark is not None:
        (tmp_path / "settings.json").write_text(mark)
    with pytest.raises(BiasflowError, match="whose checkpoints"):
        claim(tmp_path, {"seed": 1})


def test_a_failed_save_leaves_no_folder(tmp_path, monkeypatch):
    class Full:
        def save_pretrained(self, folder):
            raise OSError(28, "no space")

    with pytest.raises(BiasflowError, match="no space"):
        save_training(tmp_path / "model", Full(), Full(), {}, task.Carried())
    assert not any(tmp_path.iterdir())
