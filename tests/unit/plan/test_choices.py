"""What may be written in a configuration: nothing is left out; of an encoder's folder it is what a run would say."""

import re

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.encoders.families import HEADS
from biasflow.plan.choices import CHOICES, MEANINGS, OF_FOLDER, reasons, with_folder
from biasflow.plan.methods import PLACE
from biasflow.registry import ERASERS, METRICS, PAPERS, STRATEGIES
from tests.unit.plan.configs import SCHEMA, folder_of


@pytest.mark.parametrize(
    ("what", "known"),
    [
        ("erasers", [name.replace("_", "-") for name in ERASERS]),
        ("metrics", METRICS),
        ("papers", PAPERS),
        ("strategies", STRATEGIES),
        ("measures", [name for entry in METRICS.values() for name in entry.measures]),
        ("methods", ["none", "dawkins2024", *(name.replace("_", "-") for name in ERASERS)]),
        ("keys", [*SCHEMA["properties"], "metrics.ceat.shards", "tasks.<name>.(nli) finetuning.epochs"]),
        ("encoders", [f"source: {name}" for name in SCHEMA["$defs"]["encoder"]["properties"]["source"]["enum"]]),
    ],
)
def test_what_there_is_is_listed(what, known):
    listed = [name for name, _ in CHOICES[what](None)]
    assert [name for name in known if name not in listed] == []


def test_places_are_those_that_methods_may_name():
    assert all(PLACE.fullmatch(place.replace("[i]", "[0]")) for place in MEANINGS)
    parts = re.findall(r"\w+", PLACE.pattern.replace("layer", "").replace("P<", "").replace("d+", ""))
    assert [part for part in parts if part not in " ".join(MEANINGS)] == []


def test_what_cannot_be_measured_on_an_encoder_is_said_with_the_reason(tmp_path):
    masked = folder_of(tmp_path / "masked", "masked_lm")
    why = reasons(with_folder(masked))
    assert list(why) == list(METRICS)
    assert why["strength"].startswith("the encoder has no next-sentence head: the weights lack cls.seq_relationship.")
    assert why["weat"] == why["perplexity"] == ""
    assert why["nli_fairness"].startswith("nli_fairness is for natural language inference")
    assert dict(OF_FOLDER["metrics"](with_folder(masked)))["strength"] == f"no: {why['strength']}"
    assert [about for name, about in OF_FOLDER["measures"](with_folder(masked)) if name == "distance"] == [
        f"no: {why['strength']}"
    ]
    bare = reasons(with_folder(folder_of(tmp_path / "bare")))
    assert bare["gest"].startswith("the encoder has no masked-LM head: the weights lack ") and bare["similarity"] == ""
    assert reasons(with_folder(folder_of(tmp_path / "both", *HEADS)))["strength"] == ""


def test_a_folder_that_is_no_encoder_is_one_line(tmp_path):
    with pytest.raises(BiasflowError, match=r"^there is no folder .*nowhere"):
        with_folder(str(tmp_path / "nowhere"))
    with pytest.raises(BiasflowError, match=r"^there is no encoder in .* \(no config\.json\)"):
        with_folder(str(tmp_path))
    with pytest.raises(
        BiasflowError,
        match=r"config\.json: key 'model_type' is t5: a decoder.*source: external \(docs/howto/item_scores\.md\)$",
    ):
        with_folder(folder_of(tmp_path / "t5", model_type="t5", architectures=["T5Model"]))
