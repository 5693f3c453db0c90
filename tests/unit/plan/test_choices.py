"""What may be written in a configuration: nothing is left out, and what `biasflow init` writes plans at once."""

from pathlib import Path

import pytest
import yaml

from biasflow.base.errors import BiasflowError
from biasflow.encoders.families import HEADS
from biasflow.plan.choices import CHOICES, FIRST_METHODS, OF_FOLDER, SLOW, first_configuration, reasons, with_folder
from biasflow.plan.compiled import prepared
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


def test_what_cannot_be_measured_on_an_encoder_is_said_with_the_reason(tmp_path):
    masked = folder_of(tmp_path / "masked", "masked_lm")
    why = reasons(with_folder(masked))
    assert list(why) == list(METRICS)
    assert why["strength"].startswith("the encoder has no next-sentence head: the weights lack cls.seq_relationship.")
    assert why["weat"] == why["perplexity"] == ""
    assert why["nli_fairness"].startswith("nli_fairness needs a task of kind nli")
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


@pytest.fixture(autouse=True)
def where_nothing_was_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("heads", [HEADS, ["masked_lm"], []])
def test_it_plans_and_every_cell_runs(tmp_path, heads):
    folder = folder_of(tmp_path / "my-bert", *heads)
    first = first_configuration(folder, "mine.yaml")
    plan = prepared(yaml.safe_load(first.text)).plan
    assert {cell.status for cell in plan.cells} == {"run"}
    assert {cell.method for cell in plan.cells} == set(FIRST_METHODS)
    asked = {cell.metric for cell in plan.cells}
    assert asked.isdisjoint({*first.lacking, *SLOW}) and {"weat", "seat", "similarity"} <= asked
    assert ("perplexity" in asked) == ("masked_lm" in heads)
    assert ("strength" in first.lacking) == ("next_sentence" not in heads)
    for metric, reason in first.lacking.items():
        assert f"# Cannot be measured: {metric}, because {reason}\n" in first.text


def test_a_slow_metric_is_named_and_may_be_added(tmp_path):
    first = first_configuration(folder_of(tmp_path / "bert", *HEADS), "mine.yaml")
    named = SLOW[:1]  # no search takes the vectors of what is no sentence encoder
    assert f"left out: {', '.join(named)}\n" in first.text and set(SLOW) <= set(METRICS)
    config = yaml.safe_load(first.text)
    config["ask"]["inside"]["metrics"] += named
    assert {cell.status for cell in prepared(config).plan.cells} == {"run"}


@pytest.mark.parametrize("name", ['My "BERT" #1: ä', "2024", "null", "corpora", "---", "x" * 200])
def test_folders_of_any_name(name):
    config = yaml.safe_load(first_configuration(folder_of(Path(name), *HEADS), "mine.yaml").text)
    (encoder,) = config["encoders"].values()
    assert encoder["path"] == name and prepared(config).plan.scored
