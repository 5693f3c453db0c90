"""The configuration that `biasflow init` writes plans at once, and asks for nothing that the encoder lacks."""

from pathlib import Path

import pytest
import yaml

from biasflow.encoders.families import HEADS
from biasflow.plan.first import METHODS, SLOW, first_configuration
from biasflow.plan.prepared import prepared
from biasflow.registry import METRICS
from tests.unit.plan.configs import folder_of


@pytest.fixture(autouse=True)
def where_nothing_was_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("heads", [HEADS, ["masked_lm"], []])
def test_it_plans_and_every_cell_runs(tmp_path, heads):
    folder = folder_of(tmp_path / "my-bert", *heads)
    first = first_configuration(folder, "mine.yaml")
    plan = prepared(yaml.safe_load(first.text)).plan
    assert {cell.status for cell in plan.cells} == {"run"} and {cell.method for cell in plan.cells} == set(METHODS)
    asked = {cell.metric for cell in plan.cells}
    assert asked.isdisjoint({*first.lacking, *SLOW}) and {"weat", "seat", "similarity"} <= asked
    assert ("perplexity" in asked) == ("masked_lm" in heads)
    assert ("strength" in first.lacking) == ("next_sentence" not in heads)
    for metric, reason in first.lacking.items():
        assert f"# Cannot be measured: {metric}, because {reason}\n" in first.text


def test_a_slow_metric_is_named_and_may_be_added(tmp_path):
    first = first_configuration(folder_of(tmp_path / "bert", *HEADS), "mine.yaml")
    assert f"left out: {', '.join(SLOW)}\n" in first.text and set(SLOW) <= set(METRICS)
    config = yaml.safe_load(first.text)
    config["ask"]["inside"]["metrics"] += SLOW
    assert {cell.status for cell in prepared(config).plan.cells} == {"run"}


@pytest.mark.parametrize("name", ['My "BERT" #1: ä', "2024", "null", "corpora", "---", "x" * 200])
def test_folders_of_any_name(name):
    config = yaml.safe_load(first_configuration(folder_of(Path(name), *HEADS), "mine.yaml").text)
    (encoder,) = config["encoders"].values()
    assert encoder["path"] == name and prepared(config).plan.scored
