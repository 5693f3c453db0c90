"""A paper.yaml: the blocks that it asks for, what is made of it from whole scores, and what is wrong in one."""

import sys
from dataclasses import replace
from types import ModuleType

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.matrix import Cell, Model
from biasflow.papers import make, paper
from biasflow.papers.frames import Run, scores_and_plan
from biasflow.papers.paper import PaperText, Target, load
from biasflow.plan.configuration import load_schema
from biasflow.registry import METRICS
from biasflow.results.figures import empty_figure
from biasflow.results.scores import CELL, HOLES, tidy, write_scores

YAML = """
title: A title
citation: Somebody (2000)
tables:
  values: {caption: What it is., made_by: targets.values}
  counts: {caption: Counts., decimals: 1, made_by: targets.counts, options: {of: 1.26}}
figures: {lines: {caption: Lines., made_by: targets.lines}}
pages: {words: {caption: Words., made_by: targets.words}}
"""
PLAN = pd.DataFrame(
    [
        ["some2000", "a", "pretrained", "none", "strength", "planted", "run", ""],
        ["some2000", "b", "pretrained", "none", "strength", "planted", "not run", "no head"],
    ],
    columns=["block", "encoder", "training", "method", "metric", "dataset", "status", "reason"],
)
NAMES = pd.DataFrame([["a-mlm", "encoder", "parent", "a"]], columns=["name", "kind", "attribute", "value"])
RUN = Run(pd.DataFrame(), PLAN, NAMES)


def values(run):
    return pd.DataFrame({"encoder": ["a"], "value": [0.123456]})


def counts(run, of):
    frame = pd.DataFrame({"count": [of]})
    frame.attrs["note"] = "In this run one."
    return frame


@pytest.fixture
def some2000(tmp_path, monkeypatch):
    """A paper some2000 with two tables, a figure and a page; the module of its functions."""
    (tmp_path / "some2000").mkdir()
    (tmp_path / "some2000" / "paper.yaml").write_text(YAML)
    module = ModuleType("targets")
    module.values, module.counts = values, counts
    module.lines = lambda run: empty_figure("nothing")
    module.words = lambda run, caption: f"<p>{caption}</p>\n"
    monkeypatch.setitem(sys.modules, "biasflow.papers.some2000.targets", module)
    return module


def make_in(folder, **options):
    """Make all targets of some2000 in a folder beside its own."""
    text = paper.load("some2000", folder.parent / "some2000")
    make.make_paper(text, RUN, text.files_in(folder), **options)


def written(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_of_a_paper_is_written_the_same_each_time(some2000, tmp_path):
    text = paper.load("some2000", tmp_path / "some2000")
    make_in(tmp_path / "run")
    first = written(tmp_path / "run")
    names = ["tables/some2000_values.csv", "tables/some2000_values.tex", "tables/some2000_values.html"]
    assert text.targets("tables") == ["some2000_values", "some2000_counts"]
    assert text.files("tables", "some2000_values") == names
    assert set(first) == {
        f for kind in ("tables", "figures", "pages") for t in text.targets(kind) for f in text.files(kind, t)
    }
    assert b"<p>Words.</p>" in first["figures/some2000_words.html"]
    make_in(tmp_path / "again")
    assert written(tmp_path / "again") == first


def test_a_failing_target_does_not_lose_the_others(some2000, tmp_path):
    def fails(run):
        raise BiasflowError("encoder a: no scores; score it first")

    some2000.values, some2000.words = fails, lambda run, caption: 1 / 0
    with pytest.raises(BiasflowError, match=r"_values: encoder a: no scores.*_words: ZeroDivision") as e:
        make_in(tmp_path / "run")
    assert len(e.value.__cause__.exceptions) == 2 and "\n" not in str(e.value)
    assert {name.partition(".")[0] for name in written(tmp_path / "run")} == {
        "tables/some2000_counts",
        "figures/some2000_lines",
    }


def test_a_function_that_is_not_there_is_named_before_anything_is_written(some2000, tmp_path):
    del some2000.lines
    with pytest.raises(BiasflowError, match=r"function.*targets\.lines"):
        make_in(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title: T\ncitation: C\ntable: {}\n", "unknown key 'table'"),
        ("title: T\n", "citation"),
        ("title: T\ncitation: C\ntables: {one: {caption: ''}}\n", "tables.one.*empty"),
        ("title: T\ncitation: C\ntables: {one: {caption: One.}}\n", "tables.one.*made_by"),
        ("title: T\ncitation: C\nledger: [{made_by: a.b, values: [x]}]\n", "ledger.*keys"),
        ("title: T\ncitation: C\nfigures: {one: {captions: x}}\n", "figures.one"),
    ],
)
def test_a_paper_yaml_with_a_mistake_is_refused(text, message, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "paper.yaml").write_text(text)
    with pytest.raises(BiasflowError, match=message):
        paper.load("p", tmp_path / "p")
    with pytest.raises(BiasflowError, match="no paper 'q'"):
        paper.load("q", tmp_path / "q")


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


def measured(**keys):
    """Two heads on each of two fine-tunings of two strategies, whose probes read the splits of the fine-tuning, and a
    model that is not fine-tuned, read on both splits; what the plan says of them."""
    bios = {"task": "bios", "dataset": "bios-raw", "method": "none"}
    rows = [
        bios | {"strategy": strategy, "seed": seed, "split_seed": seed, **row}
        for strategy in ("plain", "scrubbing")
        for seed in ("0", "5")
        for row in (
            {"head": "retrained", "head_seed": "0", "metric": "tpr_gap_pearson", "variant": "test"},
            {"head": "retrained", "head_seed": "1", "metric": "tpr_gap_pearson", "variant": "test"},
            {"head": "own", "metric": "independence"},
            {"readout_seed": "0", "metric": "compression", "variant": "paper-mixed-last"},
        )
    ]
    rows += [
        {"dataset": "bios-raw", "method": "none", "split_seed": seed, "readout_seed": "0", "metric": "compression"}
        for seed in ("0", "5")
    ]
    frame = tidy(pd.DataFrame(rows).fillna("-"), encoder="tiny", value=0.5)
    plan = frame.assign(metric=frame["metric"].where(frame["metric"] == "compression", "fairness"))[CELL]
    plan = plan.drop_duplicates().assign(block="orgad2022", training="bios/a-strategy", status="run", reason="")
    return frame[~frame[[*keys]].eq(pd.Series(keys)).all(axis=1) if keys else slice(None)], plan


@pytest.mark.parametrize(
    ("lost", "named"),
    [
        ({}, ()),
        ({"strategy": "plain", "seed": "5", "metric": "compression"}, ("plain", "seed 5", "compression")),
        ({"strategy": "plain", "seed": "5", "metric": "independence"}, ("plain", "seed 5", "independence")),
        ({"strategy": "plain", "seed": "5", "head_seed": "1"}, ("plain", "seed 5", "head_seed 1")),
    ],
    ids=["nothing", "a cell", "a measure", "a head"],
)
def test_a_score_of_one_seed_that_is_lost_is_named(tmp_path, lost, named):
    """The tables of a paper are means over seeds: of one fewer, they would be wrong and nobody would know."""
    scores, plan = measured(**lost)
    paths = [tmp_path / name for name in ("scores.csv", "plan.csv", "reasons.csv")]
    write_scores(scores, paths[0])
    plan.to_csv(paths[1], index=False)
    pd.DataFrame(columns=HOLES).to_csv(paths[2], index=False)
    if not lost:
        assert len(scores_and_plan(*paths)[0]) == 18
        return
    with pytest.raises(BiasflowError) as error:
        scores_and_plan(*paths)
    assert all(words in str(error.value) for words in ("tiny", *named))
    # What a job says of it is no hole.
    plan.loc[plan["seed"] == "5", CELL].assign(reason="no such head").to_csv(paths[2], index=False)
    scores_and_plan(*paths)


SCHEMA = load_schema()["properties"]["papers"]["properties"]
CONFIG = {"metrics": {"occtmp": {"chinese": ["a", "zh"]}}}
METHODS = ["none", "hard", "conceptor", "densray"]
FURTHER = ["hard-last", "conceptor-all", "densray-plain"]
BOTH = {"when": ["in_training", "at_evaluation"], "tasks": ["cola"], "seeds": [0, 1]}
COREFERENCE = {"coreference": "coref", "coreference_strategies": ["plain", "ca"], "random_encoders": [1]}


def asked(paper, **options):
    properties = SCHEMA[paper]["properties"].items()
    defaults = {key: about["default"] for key, about in properties if "default" in about}
    return load(paper).blocks({**defaults, "encoders": ["a", "b"], **options}, CONFIG)


@pytest.mark.parametrize(
    ("paper", "options", "block", "keys"),
    [
        ("liang2020", {}, "liang2020", {"encoders": ["a", "b"], "methods": METHODS + FURTHER}),
        ("liang2020", {}, "liang2020-shares", {"metrics": ["gender_share"]}),
        ("liang2020", {}, "liang2020-chinese", {"encoders": ["zh"], "methods": METHODS + FURTHER}),
        ("liang2020", {}, "liang2020-by-layer", {"methods": ["densray-each"], "metrics": ["occtmp"]}),
        ("liang2020", {"by_layer": []}, "liang2020-by-layer", None),
        ("liang2020", {}, "liang2020-mlm", None),
        ("liang2020", {"finetuned_perplexity": True}, "liang2020-mlm", {"encoders": ["a-mlm", "b-mlm"]}),
        (
            "liang2020",
            {"finetuned_perplexity": True, "inside_only": []},
            "liang2020-mlm",
            {"methods": ["none", "hard-pretrained", "conceptor-pretrained", "densray-pretrained"]},
        ),
        ("liang2020", {"finetuned_perplexity": True}, "liang2020-mlm-by-layer", None),
        (
            "liang2020",
            {"finetuned_perplexity": True, "by_layer": ["perplexity"]},
            "liang2020-mlm-by-layer",
            {"encoders": ["a-mlm", "b-mlm"], "methods": ["densray-each-pretrained"], "metrics": ["perplexity"]},
        ),
        ("liang2020", BOTH, "liang2020-cola", {"strategies": ["plain"], "methods": METHODS, "seeds": [0, 1]}),
        (
            "liang2020",
            BOTH,
            "liang2020-cola-in-training",
            {"strategies": ["with-hard", "with-conceptor", "with-densray"], "methods": ["none"], "task": "cola"},
        ),
        ("liang2020", BOTH | {"glue_encoders": ["b"]}, "liang2020-cola", {"encoders": ["b"]}),
        ("orgad2022", {}, "orgad2022-finetuned", {"encoders": ["a", "b"], "task": "bios", "methods": ["none"]}),
        ("orgad2022", {}, "orgad2022-pretrained", {"trainings": ["pretrained"]}),
        ("orgad2022", {"random_encoders": [1]}, "orgad2022-random", {"trainings": ["random"], "seeds": [1]}),
        ("orgad2022", {"seeds": [0, 1]}, "orgad2022-random", {"seeds": [0, 1]}),
        ("orgad2022", {}, "orgad2022-coreference-finetuned", None),
        (
            "orgad2022",
            COREFERENCE,
            "orgad2022-coreference-finetuned",
            {
                "strategies": ["plain", "ca"],
                "metrics": ["coreference", "winobias", "compression", "ceat", "training"],
            },
        ),
        ("orgad2022", COREFERENCE, "orgad2022-coreference-pretrained", {"metrics": ["compression", "ceat"]}),
        ("orgad2022", COREFERENCE | {"coreference_encoders": ["b"]}, "orgad2022-coreference-random", {"seeds": [1]}),
    ],
)
def test_a_block_of_a_paper(paper, options, block, keys):
    """keys: some of the block, None if it is not asked for."""
    found = asked(paper, **options)
    assert (block in found) == (keys is not None)
    assert not keys or {key: found[block][key] for key in keys} == keys
    assert {metric for about in found.values() for metric in about.get("metrics", ())} <= set(METRICS)


@pytest.mark.parametrize("paper", ["liang2020", "orgad2022"])
def test_without_encoders_there_is_no_block(paper):
    assert asked(paper, encoders=[]) == {}


def test_an_expression_of_no_option_is_named():
    text = replace(load("orgad2022"), asks={"mine": {"seeds": "{{ sedes }}"}})
    with pytest.raises(BiasflowError, match=r"paper\.yaml.*asks.*sedes"):
        text.blocks({"encoders": ["a"]}, {})
