"""GLUE as a task: classes and numbers."""

from collections.abc import Mapping

import numpy as np
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import write_csv
from biasflow.corpora.glue import TASKS
from biasflow.plan.configuration import resolve
from biasflow.readouts import predictions
from biasflow.readouts.files import load_arrays
from biasflow.readouts.source import Source
from biasflow.tasks.glue import task
from biasflow.training import loop
from tests.unit.plan.configs import SCHEMA, changed
from tests.unit.training.test_finetune import LABELS, RECIPE, TRAIN, VALIDATION, save_source

LABEL_OF = {
    "cola": dict.fromkeys(LABELS, "acceptable") | {"cold": "unacceptable"},
    "stsb": dict(zip(LABELS, (0.0, 2.5, 5.0), strict=True)),
}


def train(folder, name: str, recipe: Mapping) -> tuple[dict, dict]:
    """What a training on the task says of itself, and its data."""
    save_source(folder / "source")
    texts = dict(zip(("first", "second"), TASKS[name].texts, strict=False))
    for role, frame in (("train", TRAIN), ("validation", VALIDATION)):
        labelled = frame.rename(columns=texts).assign(label=frame["label"].map(LABEL_OF[name]))
        write_csv(labelled[[*TASKS[name].texts, "label"]], folder / f"{role}.csv")
    data = {role: (folder / f"{role}.csv",) for role in ("train", "validation")}
    facts = task.train(
        folder / "source", folder / "model", folder / "work", data, name=name, strategy="plain", seed=3, recipe=recipe
    )
    return facts, data


@pytest.mark.parametrize("name", LABEL_OF)
@pytest.mark.parametrize("max_length", [32, 6])
def test_a_trained_encoder_predicts_as_it_was_watched(tmp_path, name, max_length):
    facts, data = train(tmp_path, name, vars(RECIPE) | {"epochs": 3, "max_length": max_length})
    assert facts["max_length"] == max_length and (facts["cut"] > 60) == (max_length == 6)
    source = Source(tmp_path / "model", ("none",), "validation", {"examples": data["validation"]})
    predictions.read(source, tmp_path / "output", task=task.__name__, name=name, max_length=max_length)
    found = load_arrays(tmp_path / "output")
    own, gold = found.arrays["own"][0], np.array(found.meta["gold"])
    watched = (own == gold).mean() if name == "cola" else np.corrcoef(own, gold)[0, 1]
    assert watched == pytest.approx(facts["validation_score"], abs=1e-4)
    assert ("majority_share" in facts) == (name == "cola")
    assert found.meta["name"] == name


def test_by_default_the_learning_rate_falls_from_its_peak_without_warm_up_and_weights_do_not_decay(
    tmp_path, monkeypatch
):
    config = resolve(changed(("tasks.cola.finetuning", {"epochs": 1, "batch_size": 10})), SCHEMA)
    rates, groups = [], []

    def watch(self, args, state, control, *, optimizer, lr_scheduler, **kwargs):
        rates.extend(lr_scheduler.get_last_lr()[:1])
        groups[:] = optimizer.param_groups

    monkeypatch.setattr(loop.Watch, "on_step_begin", watch, raising=False)
    train(tmp_path, "cola", config["tasks"]["cola"]["finetuning"])
    assert rates == pytest.approx([2e-5 * (1 - step / 9) for step in range(9)])
    assert {(group["weight_decay"], group["eps"]) for group in groups} == {(0, 1e-8)}


@pytest.mark.parametrize(("name", "label"), [("cola", "maybe"), ("stsb", "high")])
def test_a_label_that_is_none_is_named_with_its_row(tmp_path, name, label):
    row = dict.fromkeys(TASKS[name].texts, "red")
    good = (TASKS[name].labels or ("3.5",))[0]
    frame = TRAIN.iloc[:2].assign(**row, label=[good, label])
    write_csv(frame, tmp_path / "examples.csv")
    with pytest.raises(BiasflowError, match=f"row 2.*{label}"):
        task.examples({"examples": (tmp_path / "examples.csv",)}, name=name)
