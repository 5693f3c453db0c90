"""Natural language inference as a task: what is asked, and that what is trained is what is read."""

import numpy as np
import pandas as pd
import pytest
import torch

from biasflow.base.errors import BiasflowError
from biasflow.corpora.nli import LABELS, write_nli
from biasflow.encoders.load import new_classifier
from biasflow.methods.fitted import CARRIED, load
from biasflow.methods.fitting import fit_block
from biasflow.readouts import predictions
from biasflow.readouts.files import load_arrays
from biasflow.readouts.source import Source
from biasflow.tasks.nli import examples, task
from biasflow.text.occupation_pairs import OccupationPairs, save_pairs
from tests.unit.training.test_finetune import RECIPE, TRAIN, VALIDATION, save_source

NAMES = {"first": "premise", "second": "hypothesis"}
COLOURS = dict(zip(("warm", "cold", "other"), LABELS, strict=True))


@pytest.fixture
def data(tmp_path):
    """Pairs whose class is told by a word of the premise."""
    save_source(tmp_path / "source")
    for role, frame in (("train", TRAIN), ("validation", VALIDATION)):
        write_nli(frame.rename(columns=NAMES).assign(label=frame["label"].map(COLOURS)), tmp_path / f"{role}.csv")
    return {role: (tmp_path / f"{role}.csv",) for role in ("train", "validation")}


def train(tmp_path, data, **options):
    arguments = {"strategy": "plain", "seed": 3, "recipe": vars(RECIPE)} | options
    return task.train(tmp_path / "source", tmp_path / "model", tmp_path / "work", data, **arguments)


def read(tmp_path, data, methods=("none",)):
    source = Source(tmp_path / "model", methods, "test", {"examples": data["validation"]})
    predictions.read(source, tmp_path / "output", task=examples.__name__)
    return load_arrays(tmp_path / "output")


def accuracy(found) -> float:
    return float((found.arrays["own"][0] == np.array(found.meta["gold"])).mean())


def test_a_trained_encoder_predicts_as_it_was_watched(tmp_path, data):
    facts = train(tmp_path, data)
    found = read(tmp_path, data)
    assert accuracy(found) == pytest.approx(facts["validation_score"])
    assert facts["majority_share"] == VALIDATION["label"].value_counts(normalize=True).max()
    assert facts["train"] == 90 and facts["method"] == ["none", "-"]


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
    facts = train(tmp_path, data, strategy=f"with-{name}", method=method)
    assert facts["method"] == list(axis)
    (active,) = load(tmp_path / "model" / CARRIED).every_setting()
    assert [place for place, _ in active.edits] == places
    model, tokenizer = new_classifier(tmp_path / "source", LABELS, seed=3)
    (again,) = fit_block(model.eval(), tokenizer, **method, origin=model).every_setting()
    for (_, carried), (_, fitted) in zip(active.edits, again.edits, strict=True):
        assert torch.equal(carried.right, fitted.right) and torch.equal(carried.weights, fitted.weights)
    found = read(tmp_path, data, (name,))
    assert found.axis == (axis,) and accuracy(found) == pytest.approx(facts["validation_score"])
    with pytest.raises(BiasflowError, match=name):
        read(tmp_path, data)


def test_pairs_with_an_occupation_are_asked_but_have_no_gold_class(tmp_path):
    pairs = OccupationPairs(("doctor", "nurse"), (("saw", "dog"),), ("man",), ("woman",), "the")
    save_pairs(pairs, tmp_path / "pairs.json")
    found = examples.examples({"pairs": (tmp_path / "pairs.json",)})
    assert (found.shape, found.classes, found.gold) == ((2, 1, 2, 1), LABELS, None)
    assert found.texts(1, 3) == pairs.sentences(1, 3)
