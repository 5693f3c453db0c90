"""GLUE as a task: classes and numbers."""

import numpy as np
import pytest

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.tabular import write_csv
from scripts.biasflow.corpora.glue import TASKS
from scripts.biasflow.readouts import predictions
from scripts.biasflow.readouts.files import load_arrays
from scripts.biasflow.readouts.source import Source
from scripts.biasflow.tasks.glue import task
from tests.unit.tasks.test_finetune import LABELS, RECIPE, TRAIN, VALIDATION, save_source

LABEL_OF = {
    "cola": dict.fromkeys(LABELS, "acceptable") | {"cold": "unacceptable"},
    "stsb": dict(zip(LABELS, (0.0, 2.5, 5.0), strict=True)),
}


@pytest.mark.parametrize("name", LABEL_OF)
def test_a_trained_encoder_predicts_as_it_was_watched(tmp_path, name):
    save_source(tmp_path / "source")
    texts = dict(zip(("first", "second"), TASKS[name].texts, strict=False))
    for role, frame in (("train", TRAIN), ("validation", VALIDATION)):
        labelled = frame.rename(columns=texts).assign(label=frame["label"].map(LABEL_OF[name]))
        write_csv(labelled[[*TASKS[name].texts, "label"]], tmp_path / f"{role}.csv")
    data = {role: (tmp_path / f"{role}.csv",) for role in ("train", "validation")}
    recipe = vars(RECIPE) | {"epochs": 3}
    facts = task.train(
        tmp_path / "source", tmp_path / "model", tmp_path / "work", data, name=name, strategy="plain", seed=3,
        recipe=recipe,
    )  # fmt: skip
    source = Source(tmp_path / "model", ("none",), "validation", {"examples": data["validation"]})
    predictions.read(source, tmp_path / "output", task=task.__name__, name=name)
    found = load_arrays(tmp_path / "output")
    own, gold = found.arrays["own"][0], np.array(found.meta["gold"])
    watched = (own == gold).mean() if name == "cola" else np.corrcoef(own, gold)[0, 1]
    assert watched == pytest.approx(facts["validation_score"], abs=1e-5)
    assert ("majority_share" in facts) == (name == "cola")
    assert found.meta["name"] == name


@pytest.mark.parametrize(("name", "label"), [("cola", "maybe"), ("stsb", "high")])
def test_a_label_that_is_none_is_named_with_its_row(tmp_path, name, label):
    row = dict.fromkeys(TASKS[name].texts, "red")
    good = (TASKS[name].labels or ("3.5",))[0]
    frame = TRAIN.iloc[:2].assign(**row, label=[good, label])
    write_csv(frame, tmp_path / "examples.csv")
    with pytest.raises(BiasflowError, match=f"row 2.*{label}"):
        task.examples({"examples": (tmp_path / "examples.csv",)}, name=name)
