"""Training encoder and scorer together: what is learnt, what is saved, and which checkpoints are refused."""

import json
import math

import pytest
import torch
from safetensors.torch import load_file

from biasflow.base.errors import BiasflowError
from biasflow.corpora.conll import read_conll, without_singletons
from biasflow.encoders.edit import edited
from biasflow.methods.fitted import carried
from biasflow.tasks.coreference import loop, task
from biasflow.tasks.coreference.f1 import conll_f1
from biasflow.tasks.coreference.model import load_coreference, predict
from tests.unit.synthetic_conll import conll_text
from tests.unit.tasks.coreference.made_up import RECIPE, save_encoder, save_file, text
from tests.unit.training.test_finetune import KilledError, densray, stopping_before  # noqa: F401


def files(tmp_path, train=range(4), validation=range(4, 6), sentences=6):
    return {
        role: (save_file(tmp_path / f"{role}.conll", *(text(number, sentences) for number in numbers)),)
        for role, numbers in (("train", train), ("validation", validation))
    }


def run(tmp_path, name, data=None, **options):
    source = tmp_path / "source"
    if not source.is_dir():
        save_encoder(source)
    arguments = {"strategy": "plain", "seed": 3, "recipe": RECIPE} | options
    return task.train(source, tmp_path / name, tmp_path / "work", data or files(tmp_path), **arguments)


def weights(tmp_path, name):
    return [load_file(tmp_path / name / file) for file in ("model.safetensors", "scorer.safetensors")]


def same(a, b):
    return all(
        x.keys() == y.keys() and all(torch.equal(x[key], y[key]) for key in x) for x, y in zip(a, b, strict=True)
    )


def f1(folder, path, edits=()):
    model, tokenizer = load_coreference(folder)
    documents = read_conll(path).documents
    gold = [without_singletons(document.clusters) for document in documents]
    with edited(model, edits):
        return conll_f1(gold, predict(model, tokenizer, documents)).average


def test_it_learns_and_what_is_saved_predicts(tmp_path):
    data = files(tmp_path, train=range(9), validation=range(9, 13), sentences=3)
    facts = run(tmp_path, "model", data, recipe=RECIPE | {"epochs": 6})
    assert facts["validation_score"] == max(facts["validation_scores"]) > 0.9
    assert facts["validation_scores"][facts["epoch"] - 1] == facts["validation_score"]
    assert facts["mentions_kept"] > 0.9
    assert facts["steps"] == 9 * 6 and (facts["train"], facts["validation"]) == (9, 4)
    assert f1(tmp_path / "model", data["validation"][0]) == pytest.approx(facts["validation_score"])
    assert f1(tmp_path / "model", data["train"][0]) > 0.95
    assert json.loads((tmp_path / "model/training.json").read_text()) == facts
    assert not (tmp_path / "work").exists()


def test_best_keeps_the_first_of_the_best_epochs_and_last_the_last(tmp_path, monkeypatch):
    found, ends = iter([0.2, 0.5, 0.5, 0.1] * 2), []

    def evaluated(scorer, *others):
        ends.append(scorer.pair.first.weight.detach().clone())
        return next(found), 0.5

    monkeypatch.setattr(loop, "evaluate", evaluated)
    for keep, epoch in (("best", 2), ("last", 4)):
        ends.clear()
        facts = run(tmp_path, keep, recipe=RECIPE | {"epochs": 4, "keep": keep})
        assert facts["epoch"] == epoch
        assert torch.equal(weights(tmp_path, keep)[1]["pair.first.weight"], ends[epoch - 1])


def test_checkpoints_of_another_configuration_are_refused_and_kept(tmp_path, monkeypatch):
    with stopping_before(4, monkeypatch), pytest.raises(KilledError):
        run(tmp_path, "model")
    for change, named in (
        ({"seed": 4}, "seed"),
        ({"recipe": RECIPE | {"task_rate": 0.1}}, r"recipe\.task_rate"),
        ({"recipe": RECIPE | {"scorer": RECIPE["scorer"] | {"ffnn": 8}}}, r"recipe\.scorer\.ffnn"),
        ({"strategy": "doubled", "adaptation": {"module": "tasks.coreference.strategies"}}, r"strategy\.name"),
    ):
        with pytest.raises(BiasflowError, match=f"work.*another {named} "):
            run(tmp_path, "model", **change)
    assert list((tmp_path / "work").glob("checkpoint-*/complete"))
    assert not (tmp_path / "model").exists()


def test_a_method_in_training_changes_the_weights_and_is_carried_by_the_model(tmp_path, densray):  # noqa: F811
    plain, facts = run(tmp_path, "plain"), run(tmp_path, "with", strategy="with-densray", method=densray)
    assert not same(weights(tmp_path, "plain"), weights(tmp_path, "with"))
    assert (plain["method"], facts["method"]) == (["none", "-"], ["densray", "-"])
    assert carried(tmp_path / "plain") is None
    (active,) = carried(tmp_path / "with").every_setting()
    found = f1(tmp_path / "with", files(tmp_path)["validation"][0], active.edits)
    assert found == pytest.approx(facts["validation_score"])


def test_what_cannot_be_trained_is_said_before_anything_is_written(tmp_path, monkeypatch):
    empty = files(tmp_path) | {"train": (save_file(tmp_path / "empty.conll", conll_text("nw/empty", [])),)}
    with pytest.raises(BiasflowError, match="no document contains a word"):
        run(tmp_path, "model", empty)
    monkeypatch.setattr(loop, "antecedent_loss", lambda *arguments: torch.tensor(math.nan, requires_grad=True))
    with pytest.raises(BiasflowError, match="the loss is nan after 1 steps"):
        run(tmp_path, "model")
    assert not (tmp_path / "model").exists() and not (tmp_path / "work").exists()
