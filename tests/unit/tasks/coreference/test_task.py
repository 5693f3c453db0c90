"""Training of a coreference model, and documents that are cut to what it reads."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from biasflow.base.errors import BiasflowError
from biasflow.corpora.conll import read_conll, without_singletons
from biasflow.encoders.edit import edited
from biasflow.methods.fitted import carried
from biasflow.tasks.coreference import loop, task
from biasflow.tasks.coreference.cuts import cuts
from biasflow.tasks.coreference.f1 import conll_f1
from biasflow.tasks.coreference.model import load_coreference, predict
from biasflow.tasks.coreference.professions import write_rows
from tests.unit.plan.configs import asking, planned
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


BOTH = ["released", "paper"]


def rows_of(feminine: int, masculine: int, per_profession: int = 3) -> pd.DataFrame:
    """Rows of so many professions of either stereotype, one of each after the other."""
    names = [f"woman {i}" for i in range(feminine)] + [f"man {i}" for i in range(masculine)]
    rows = pd.DataFrame({"profession": names * per_profession})
    rows["feminine"] = rows["profession"].str.startswith("woman").astype(int)
    return rows.assign(document=range(len(rows)), first=0, last=0)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("cuts") / "vectors.safetensors"


def cut(path, rows, **options):
    write_rows(rows, path)
    return cuts({"vectors": (path,)}, **{"data": BOTH, "split_seeds": [7], "orders": 2} | options)


@given(st.integers(3, 20), st.integers(3, 20), st.integers(0, 2**32 - 1))
def test_every_profession_is_in_one_part_and_no_row_is_lost(path, feminine, masculine, seed):
    n = feminine + masculine
    if min(feminine, masculine) <= n - int(0.8 * n):
        with pytest.raises(BiasflowError, match=f"of {n} professions"):
            cut(path, rows_of(feminine, masculine))
        return
    rows = rows_of(feminine, masculine)
    labels, found = cut(path, rows, split_seeds=[seed])
    assert labels.tolist() == rows["feminine"].tolist()
    for each in found:
        assert sorted(each.rows) == list(range(len(rows)))
        parts = [rows["profession"][part] for part in (each.train, each.dev, each.test)]
        names = [list(dict.fromkeys(part)) for part in parts]
        assert sorted(name for own in names for name in own) == sorted(set(rows["profession"]))
        assert [len(own) for own in names] == [int(0.8 * n), (n - int(0.8 * n)) // 2, -(-(n - int(0.8 * n)) // 2)]
        assert [name for part in names for name in part for _ in range(3)] == [name for part in parts for name in part]
        control = pd.Series(each.control).groupby(rows["profession"])
        assert (control.nunique() == 1).all() and control.first().sum() == feminine
    again = cut(path, rows, split_seeds=[seed])[1]
    for one, other in zip(found, again, strict=True):
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("rows", "control"))


@pytest.mark.parametrize(("rows", "named"), [(rows_of(3, 2), "5 professions"), (rows_of(2, 8), "2 of 10 professions")])
def test_what_cannot_be_cut_is_named(path, rows, named):
    with pytest.raises(BiasflowError, match=named):
        cut(path, rows)


BLOCK = {
    "encoders": ["own"],
    "task": "coref",
    "trainings": ["finetuned", "pretrained"],
    "seeds": [3, 5],
    "methods": ["none", "leace"],
    "metrics": ["ceat", "compression"],
}


def test_professions_are_read_once_and_probed_in_orders():
    found = planned(asking(BLOCK, ("metrics.compression", {"data": ["paper", "same-seed", "released"], "orders": 3})))
    assert {cell.status for cell in found.cells} == {"run"}
    assert {cell.dataset for cell in found.cells if cell.metric == "compression"} == {"coref-professions"}
    read = {(reading.model.training, reading.readout): reading for reading in found.readings.values()}
    for training, seeds in (("coref/plain/seed3", [3]), ("coref/plain/seed5", [5]), ("pretrained", [3, 5])):
        options = read[training, "probes"].dataset.options
        assert (options["split_seeds"], options["orders"], options["data"]) == (seeds, 3, ["paper", "released"])
        assert read[training, "professions"].methods == ("none", "leace")
