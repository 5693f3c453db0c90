"""NLI and GLUE: their data, how they train, and what they predict."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import write_csv
from biasflow.corpora.glue import TASKS
from biasflow.corpora.nli import LABELS as LABELS_OF_PAIRS
from biasflow.encoders.load import new_classifier
from biasflow.encoders.stored import CARRIED
from biasflow.methods.fitted import load
from biasflow.methods.fitting import fit_block
from biasflow.plan.configuration import resolve
from biasflow.readouts import predictions
from biasflow.readouts.files import load_arrays
from biasflow.readouts.source import Source
from biasflow.tasks.classification import pairs, task
from biasflow.tasks.classification.nli import COLUMNS
from biasflow.text.occupation_pairs import OccupationPairs, save_pairs
from biasflow.training import loop
from tests.unit.plan.configs import SCHEMA, changed
from tests.unit.training.test_finetune import LABELS, RECIPE, TRAIN, VALIDATION, save_source

LABEL_OF = {
    "cola": dict.fromkeys(LABELS, "acceptable") | {"cold": "unacceptable"},
    "stsb": dict(zip(LABELS, (0.0, 2.5, 5.0), strict=True)),
}


def columns(name: str) -> dict[str, object]:
    return {"texts": TASKS[name].texts, "labels": TASKS[name].labels or None}


def train(folder, name: str, recipe: Mapping) -> tuple[dict, dict]:
    """What a training on the task says of itself, and its data."""
    save_source(folder / "source")
    texts = dict(zip(("first", "second"), TASKS[name].texts, strict=False))
    for role, frame in (("train", TRAIN), ("validation", VALIDATION)):
        labelled = frame.rename(columns=texts).assign(label=frame["label"].map(LABEL_OF[name]))
        write_csv(labelled[[*TASKS[name].texts, "label"]], folder / f"{role}.csv")
    data = {role: (folder / f"{role}.csv",) for role in ("train", "validation")}
    places = folder / "source", folder / "model", folder / "work", data
    facts = task.train(*places, **columns(name), strategy="plain", seed=3, recipe=recipe)
    return facts, data


@pytest.mark.parametrize("name", LABEL_OF)
@pytest.mark.parametrize("max_length", [32, 6])
def test_a_trained_encoder_predicts_as_it_was_watched(tmp_path, name, max_length):
    facts, data = train(tmp_path, name, vars(RECIPE) | {"epochs": 3, "max_length": max_length})
    assert facts["max_length"] == max_length and (facts["cut"] > 60) == (max_length == 6)
    source = Source(tmp_path / "model", ("none",), "validation", {"examples": data["validation"]})
    predictions.read(source, tmp_path / "output", task=task.__name__, name=name, max_length=max_length, **columns(name))
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
        task.examples({"examples": (tmp_path / "examples.csv",)}, **columns(name))


NAMES = {"first": "premise", "second": "hypothesis"}
COLOURS = dict(zip(("warm", "cold", "other"), LABELS_OF_PAIRS, strict=True))


@pytest.fixture
def data(tmp_path):
    """Pairs whose class is told by a word of the premise."""
    save_source(tmp_path / "source")
    for role, frame in (("train", TRAIN), ("validation", VALIDATION)):
        write_csv(frame.rename(columns=NAMES).assign(label=frame["label"].map(COLOURS)), tmp_path / f"{role}.csv")
    return {role: (tmp_path / f"{role}.csv",) for role in ("train", "validation")}


def train_nli(tmp_path, data, **options):
    arguments = {"strategy": "plain", "seed": 3, "recipe": vars(RECIPE), **COLUMNS} | options
    return task.train(tmp_path / "source", tmp_path / "model", tmp_path / "work", data, **arguments)


def read(tmp_path, data, methods=("none",)):
    source = Source(tmp_path / "model", methods, "test", {"examples": data["validation"]})
    predictions.read(source, tmp_path / "output", task=task.__name__, **COLUMNS)
    return load_arrays(tmp_path / "output")


def accuracy(found) -> float:
    return float((found.arrays["own"][0] == np.array(found.meta["gold"])).mean())


SENTENCES = [f"{colour} {number} two" for colour in ("red", "blue") for number in ("one", "three", "four") * 8]
# Several differences, so that one direction less does not leave rounding alone.
TEMPLATES = pd.DataFrame(
    {
        "masculine": ["red one two", "red four", "two three", "green one five"],
        "feminine": ["blue one two", "blue four", "five three", "four one five"],
    }
)
DENSRAY, PCA = ({"eraser": name, "module": f"biasflow.erasers.{name}"} for name in ("densray", "pca"))
SOURCES = {
    "sentences": SENTENCES,
    "words": (["red"], ["blue"]),
    "n": 40,
    "sentence_pairs": {"interventions": TEMPLATES, "sentence-debias": TEMPLATES},
}


@pytest.mark.parametrize(
    ("name", "specification", "axis", "places"),
    [
        ("densray", [{**DENSRAY, "places": "last", "fitted_on": "pretrained"}], ("densray", "-"), ["layer[2]"]),
        (
            "twelfth",
            {"grid": "dawkins2024", **PCA, "settings": ["layer-12 0,1,1"], "sequential": True},
            ("twelfth", "layer-12 0,1,1"),
            ["layer[-1].cls", "pooled"],
        ),
    ],
)
def test_what_is_fitted_to_the_model_before_training_is_active_in_it_and_carried(
    tmp_path, data, name, specification, axis, places
):
    method = {"methods": {name: specification}, **SOURCES}
    facts = train_nli(tmp_path, data, strategy=f"with-{name}", method=method)
    assert facts["method"] == list(axis)
    (active,) = load(tmp_path / "model" / CARRIED).every_setting()
    assert [place for place, _ in active.edits] == places
    model, tokenizer = new_classifier(tmp_path / "source", LABELS_OF_PAIRS, seed=3)
    (again,) = fit_block(model.eval(), tokenizer, **method, origin=model).every_setting()
    for (_, carried), (_, fitted) in zip(active.edits, again.edits, strict=True):
        assert torch.equal(carried.right, fitted.right) and torch.equal(carried.weights, fitted.weights)
    found = read(tmp_path, data, (name,))
    assert found.axis == (axis,) and accuracy(found) == pytest.approx(facts["validation_score"])
    with pytest.raises(BiasflowError, match=name):
        read(tmp_path, data)


def test_pairs_with_an_occupation_are_asked_but_have_no_gold_class(tmp_path):
    words = OccupationPairs(("doctor", "nurse"), (("saw", "dog"),), ("man",), ("woman",), "the")
    save_pairs(words, tmp_path / "pairs.json")
    found = pairs.examples({"pairs": (tmp_path / "pairs.json",)})
    assert (found.shape, found.classes, found.gold) == ((2, 1, 2, 1), LABELS_OF_PAIRS, None)
    assert found.texts(1, 3) == words.sentences(1, 3)
