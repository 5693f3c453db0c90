"""Figures without anything to draw are known before the first job."""

import pytest

from biasflow.asking.matrix import Cell, Model
from biasflow.papers.paper import PaperText, Target, load
from biasflow.plan.cells import plan
from biasflow.plan.configuration import resolve
from biasflow.plan.setup import Setup
from biasflow.registry import METRICS, PAPERS
from tests.unit.plan.configs import SCHEMA, of_file

ONE = [{"option": "extra"}, {"metric": "occtmp", "methods": ["densray-each"]}]


def lacking(options, *cells):
    text = PaperText("a2000", "T", "C", {}, {"one": Target("One.", needs=ONE), "two": Target("Two.")}, {}, {})
    return text.not_drawn(options, cells)


def cell(method="densray-each", **about):
    return Cell("block", Model("bert"), method, "occtmp", "professions", **about)


def test_a_need_is_an_option_or_a_cell_that_runs():
    assert lacking({"extra": True}, cell()) == {}
    assert lacking({}, cell()) == {"a2000_one": "not asked for: the key papers.a2000.extra is not set"}
    assert lacking({"extra": 1}, cell("none")) == {"a2000_one": "not asked for: occtmp under densray-each"}
    absent = cell(status="not run", reason="encoders.bert has no masked-LM head")
    assert lacking({"extra": 1}, absent) == {"a2000_one": "not run: encoders.bert has no masked-LM head"}
    assert lacking({"extra": 1}, absent, cell()) == {}


def test_the_figures_of_the_demo():
    config = resolve(of_file("config"), SCHEMA)
    cells = plan(Setup(config)).cells
    found = {name: load(name).not_drawn(config["papers"][name], cells) for name in config["papers"]}
    assert {name: list(figures) for name, figures in found.items()} == {
        "liang2020": ["liang2020_perplexity_by_layer"],  # papers.liang2020.by_layer has OCCTMP alone
        "dawkins2024": [],
        "orgad2022": [],
    }


@pytest.mark.parametrize("name", PAPERS)
def test_needs_name_metrics_that_there_are(name):
    needs = [need for target in load(name).figures.values() for need in target.needs]
    assert {need["metric"] for need in needs if "metric" in need} <= set(METRICS)
    assert all({*need} <= {"metric", "methods", "option"} for need in needs)


def test_what_is_not_drawn_is_not_linked():
    text = load("liang2020")
    files = [file for _, file in text.links(without=["liang2020_gender_shares"])]
    assert "figures/liang2020_gender_shares.svg" not in files and "figures/liang2020_occtmp_by_layer.svg" in files
