"""A paper.yaml: the blocks that it asks for, what is made of it from whole scores, and what is wrong in one."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
import yaml
from snakemake.utils import update_config

from biasflow.base.errors import BiasflowError
from biasflow.corpora.catalogue import read_catalogue
from biasflow.matrix import Cell, Model
from biasflow.papers import make, paper
from biasflow.papers.frames import NOT_ASKED, Run, scores_and_plan
from biasflow.papers.ledger import NOT_COMPARABLE, NOT_RUN, OFF, REPRODUCED, of_paper
from biasflow.papers.paper import Compared, PaperText, Target, load
from biasflow.papers.rows import joined, pivoted, read_printed
from biasflow.plan.compiled import paper_options
from biasflow.plan.configuration import resolve
from biasflow.registry import METRICS
from biasflow.results.figures import empty_figure
from biasflow.results.scores import CELL, HOLES, tidy, write_scores
from tests.unit.papers.files import files_in
from tests.unit.plan.configs import ROOT, SCHEMA, changed, jobs_of, of_file, planned, setup_of

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
    make.make_paper(text, RUN, files_in(text, folder), **options)


def written(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_of_a_paper_is_written(some2000, tmp_path):
    text = paper.load("some2000", tmp_path / "some2000")
    make_in(tmp_path / "run")
    first = written(tmp_path / "run")
    names = ["tables/some2000_values.csv", "tables/some2000_values.tex", "tables/some2000_values.html"]
    assert [target.name for target in text.tables.values()] == ["some2000_values", "some2000_counts"]
    assert text.tables["values"].files == names
    assert set(first) == {file for target in text.targets for file in target.files}
    assert b"<p>Words.</p>" in first["figures/some2000_words.html"]


def test_rows_without_ours_are_counted_where_the_page_shows_them_and_a_figure_has_its_name(some2000, tmp_path):
    states = ["run", "not run: no head", "not run: no head", "not run: no time"]
    some2000.values = lambda run: pd.DataFrame({"value": [1.0] + [None] * 3, "status": states})
    make_in(tmp_path / "run")
    page, figure = (
        written(tmp_path / "run")[f"{name}"].decode()
        for name in ("tables/some2000_values.html", "figures/some2000_lines.svg")
    )
    assert "<p>3 of 4 rows lack values of ours (status: no head, in 2): What it is.</p>" in page
    assert "some2000_lines: Lines." in figure


def test_models_near_chance_are_said_by_task():
    """Accuracy above the largest class: 0.02 and 0.2 of nli; of cola, which has none, its test."""
    rows = [
        {"task": "nli", "seed": seed, "dataset": data, "metric": metric, "value": value}
        for seed, accuracy in (("0", 0.36), ("1", 0.54))
        for data, metric, value in (
            ("validation", "validation_accuracy", accuracy),
            ("validation", "majority_share", 0.34),
            ("test", "accuracy", 0.9),
            ("test", "majority_share", 0.35),
        )
    ]
    of_cola = {"majority_share": 0.69, "majority_p": 0.4}.items()
    rows += [{"task": "cola", "seed": "0", "dataset": "validation", "metric": k, "value": v} for k, v in of_cola]
    run = replace(RUN, scores=tidy(pd.DataFrame(rows), encoder="a", method="none", strategy="plain"))
    assert make.near_chance(run) == (
        "near chance are 1 of 1 models of cola (the largest class is 0.69), 1 of 2 models of nli (the largest class is "
        "0.34, they reach 0.36), whose scores say little"
    )
    good = run.scores["seed"].eq("1") & run.scores["task"].eq("nli")
    assert make.near_chance(replace(run, scores=run.scores[good])) == ""


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
        ("title: T\ncitation: C\ntables: {one: {caption: ''}}\n", "tables.one.*empty"),
        ("title: T\ncitation: C\ntables: {one: {caption: One.}}\n", "tables.one.*made_by"),
        ("title: T\ncitation: C\nledger: [{made_by: a.b, keys: {x: y}}]\n", "ledger.*values"),
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
    text = PaperText(
        "a2000", "T", "C", {}, {"one": Target("One.", needs=ONE, name="a2000_one"), "two": Target("Two.")}, {}, {}
    )
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
    """Two heads on each of two fine-tunings of two strategies, whose probes read the splits of the fine-tuning; what
    the plan says of them. Without the scores of these keys."""
    of_model = (
        {"head": "retrained", "head_seed": "0", "metric": "tpr_gap_pearson", "variant": "test"},
        {"head": "retrained", "head_seed": "1", "metric": "tpr_gap_pearson", "variant": "test"},
        {"head": "own", "metric": "independence"},
        {"readout_seed": "0", "metric": "compression", "variant": "paper-mixed-last"},
    )
    models = [{"strategy": name, "seed": seed, "split_seed": seed} for name in ("plain", "scrubbing") for seed in "05"]
    rows = pd.DataFrame([model | row for model in models for row in of_model]).fillna("-")
    frame = tidy(rows, encoder="tiny", task="bios", dataset="bios-raw", method="none", value=0.5)
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
        assert len(scores_and_plan([paths[0]], paths[1], [paths[2]])[0]) == 16
        return
    with pytest.raises(BiasflowError) as error:
        scores_and_plan([paths[0]], paths[1], [paths[2]])
    assert all(words in str(error.value) for words in ("tiny", *named))
    # What a job says of it is no hole.
    plan.loc[plan["seed"] == "5", CELL].assign(reason="no such head").to_csv(paths[2], index=False)
    scores_and_plan([paths[0]], paths[1], [paths[2]])


def test_a_paper_reads_its_own_scores_alone(tmp_path):
    """Two papers scored the same; what a third one scored is no hole of theirs, and a sample goes by the full name."""
    scores, plan = measured()
    sample = scores.assign(dataset="bios-raw-limit50")
    paths = [tmp_path / name for name in ("scores.csv", "plan.csv", "reasons.csv")]
    write_scores(sample, paths[0])
    plan = plan.assign(dataset="bios-raw-limit50")
    pd.concat([plan, plan.assign(block="other", encoder="large")]).to_csv(paths[1], index=False)
    plan.head(1)[CELL].assign(reason="too few").to_csv(paths[2], index=False)
    own = [("tiny", "bios/a-strategy", "orgad2022")]
    read, planned = scores_and_plan([paths[0]] * 2, paths[1], [paths[2]] * 2, own, limited=True)
    pd.testing.assert_frame_equal(read, scores)
    assert set(planned["encoder"]) == {"tiny"} and set(planned["dataset"]) == {"bios-raw"}
    assert planned["reason"].tolist().count("too few") == 1


def test_a_target_of_a_paper_waits_for_no_other_paper():
    setup = setup_of(of_file("paper"))
    jobs = jobs_of(setup)
    needed = {name: jobs.upstream(jobs.of(f"paper_{name}").outputs[0]) for name in setup.config["papers"]}
    tasks = {
        name: {job.wildcards[1] for job in of_paper if job.rule.startswith("finetune")}
        for name, of_paper in needed.items()
    }
    assert tasks == {
        "liang2020": {*setup.config["tasks"]} - {"nli", "bios", "coref"},
        "dawkins2024": {"nli"},
        "orgad2022": {"bios", "coref"},
    }
    alone = {**setup.config, "papers": {"dawkins2024": setup.config["papers"]["dawkins2024"]}}
    assert len(needed["dawkins2024"]) == len(jobs_of(setup_of(alone)).upstream(jobs.of("paper_dawkins2024").outputs[0]))


def test_an_encoder_of_the_user_takes_the_place_of_all_that_papers_name(tmp_path):
    config = yaml.safe_load((ROOT / "config/paper.yaml").read_text())
    found = resolve({**config, "encoder": str(tmp_path), "limit": 100}, SCHEMA)
    assert found["encoders"].keys() - {"mine-mlm"} == {"mine"} and found["encoders"]["mine"]["path"] == str(tmp_path)
    plan = planned(found)
    assert {cell.model.encoder for cell in plan.cells} == {"mine", "mine-mlm"}
    assert {block.limit for block in plan.blocks} == {100} and found["tasks"]["nli"]["limit"] == 100


def test_a_quick_look_trains_a_few_models_of_each_paper(tmp_path):
    quick = [yaml.safe_load((ROOT / f"config/{name}.yaml").read_text()) for name in ("paper", "quick")]
    update_config(*quick)
    found = resolve({**quick[0], "encoder": str(tmp_path)}, SCHEMA)
    jobs = jobs_of(setup_of(found))
    trained = Counter(job.wildcards[1] for job in jobs.needed if job.rule.startswith("finetune"))
    assert trained == {"cola": 1, "rte": 1, "nli": 1, "bios": 4, "coref": 4}
    assert not any(job.rule == "continue_encoder" for job in jobs.needed)
    limit = quick[1]["limit"]
    assert {block.limit for block in planned(found).blocks} == {limit}
    shown = paper_options(setup_of(found), read_catalogue(), "orgad2022")
    assert (shown["sample"], shown["epochs"]) == (limit, quick[1]["tasks"]["bios"]["finetuning"]["epochs"])
    assert {"nli", "cola", "bios"} <= {*shown["sampled"]} and "rte" not in shown["sampled"]  # of 2,490 items


def test_a_paper_that_is_null_is_left_out():
    config = yaml.safe_load((ROOT / "config/paper.yaml").read_text())
    left_out = {**config["papers"], "liang2020": None}
    assert list(resolve({**config, "papers": left_out}, SCHEMA)["papers"]) == ["dawkins2024", "orgad2022"]


def test_an_encoder_of_another_source_that_is_laid_over_a_papers_is_told_the_one_line():
    config = yaml.safe_load((ROOT / "config/paper.yaml").read_text())
    config["encoders"]["bert-base-uncased"] |= {"source": "local", "path": "some/folder"}
    with pytest.raises(BiasflowError, match=r"bert-base-uncased.*--config encoder=FOLDER"):
        resolve(config, SCHEMA)


CONFIG = {"metrics": {"occtmp": {"chinese": ["a", "zh"]}}}
METHODS = ["none", "hard", "conceptor", "densray"]
FURTHER = ["hard-last", "conceptor-all", "densray-plain"]
BOTH = {"when": ["in_training", "at_evaluation"], "tasks": ["cola"], "seeds": [0, 1]}
COREFERENCE = {"coreference": "coref", "coreference_strategies": ["plain", "ca"], "random_encoders": [1]}


OPTIONS = SCHEMA["properties"]["papers"]["properties"]


def asked(paper, **options):
    properties = OPTIONS[paper]["properties"].items()
    defaults = {key: about["default"] for key, about in properties if "default" in about}
    return load(paper).blocks({**defaults, "encoders": ["a", "b"], **options}, CONFIG)


@pytest.mark.parametrize(
    ("paper", "options", "block", "keys"),
    [
        ("liang2020", {}, "liang2020", {"encoders": ["a", "b"], "methods": METHODS + FURTHER}),
        ("liang2020", {}, "liang2020-chinese", {"encoders": ["zh"], "methods": METHODS + FURTHER}),
        ("liang2020", {"by_layer": []}, "liang2020-by-layer", None),
        ("liang2020", {}, "liang2020-mlm", None),
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
        ("orgad2022", {"seeds": [0, 1]}, "orgad2022-random", {"seeds": [0, 1]}),
        ("orgad2022", {}, "orgad2022-coreference-finetuned", None),
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


BERT = {"id": "google-bert/bert-base-uncased", "revision": "86b5e0934494bd15c9632b12f734a8a67f723594"}
ALONE = """
title: CrowS-Pairs and StereoSet of two encoders
citation: Somebody (2021)
asks:
  scores: {methods: [none, sent-debias], metrics: [strength]}
encoders:
  BERT: {id: google-bert/bert-base-uncased, revision: 86b5e0934494bd15c9632b12f734a8a67f723594}
  RoBERTa: {id: FacebookAI/roberta-base, revision: e2da8e2f811d1448a5b465c236feacd80ffbac7b}
tables:
  scores:
    caption: Scores of two encoders.
    metrics: [crows_pairs_score, intrasentence_stereotype_score]
    rows: [encoder, dataset, method]
    only: {part: [all, "-"]}
    printed_in: table 2
"""
CSV = """table,encoder,dataset,method,metric,printed
table 2,BERT,crows-pairs,none,crows_pairs_score,0.605
table 2,BERT,crows-pairs,sent-debias,crows_pairs_score,0.525
table 2,BERT,crows-pairs,inlp,crows_pairs_score,0.512
table 2,BERT,stereoset,none,intrasentence_stereotype_score,0.603
table 2,BERT,stereoset,sent-debias,intrasentence_stereotype_score,0.594
table 2,RoBERTa,crows-pairs,none,crows_pairs_score,0.602
"""


@pytest.fixture
def fourth(tmp_path):
    """The folder of the paper, and a run of its first encoder under another name."""
    folder = tmp_path / "papers" / "fourth"
    folder.mkdir(parents=True)
    (folder / "paper.yaml").write_text(ALONE)
    (folder / "printed.csv").write_text(CSV)
    rows = [
        {"dataset": data, "method": method, "metric": metric, "part": part, "readout_seed": seed, "value": value}
        for data, method, metric, part, values in (
            ("crows-pairs", "none", "crows_pairs_score", "all", (0.60, 0.61)),
            ("crows-pairs", "none", "crows_pairs_score", "stereo", (0.1, 0.1)),
            ("crows-pairs", "sent-debias", "crows_pairs_score", "all", (0.58, 0.58)),
            ("stereoset", "none", "intrasentence_stereotype_score", "-", (0.603, 0.603)),
        )
        for seed, value in enumerate(map(float, values))
    ]
    plan = [("mine", "inlp", "crows-pairs", "not run", "no such subspace")]
    names = [("mine", "encoder", key, value) for key, value in BERT.items()]
    return Run(
        tidy(pd.DataFrame(rows).astype({"readout_seed": str}), encoder="mine"),
        pd.DataFrame(plan, columns=["encoder", "method", "dataset", "status", "reason"]),
        pd.DataFrame(names, columns=["name", "kind", "attribute", "value"]),
        read_printed("fourth", folder),
    ), paper.load("fourth", folder)


def test_a_table_needs_no_code(fourth, tmp_path):
    run, text = fourth
    make.make_paper(text, run, files_in(text, tmp_path))
    table = pd.read_csv(tmp_path / "tables" / "fourth_scores.csv").set_index(["dataset", "method"])
    untouched, debiased = (table.loc[("crows-pairs", method)] for method in ("none", "sent-debias"))
    assert untouched["crows_pairs_score"] == pytest.approx(0.605)  # the mean of the seeds, of all pairs
    assert debiased["crows_pairs_score_difference"] == pytest.approx(0.055)
    assert table.loc[("crows-pairs", "inlp"), "status"] == "not run: no such subspace"
    assert set(table["encoder"]) == {"mine"} and len(table) == 5


def test_the_ledger_has_its_numbers(fourth):
    run, text = fourth
    rows = of_paper(text, run).set_index(["encoder", "row"])
    assert rows["status"].value_counts().to_dict() == {NOT_COMPARABLE: 1, NOT_RUN: 2, REPRODUCED: 2, OFF: 1}
    assert rows.loc[("BERT", "dataset crows-pairs; method inlp"), "reason"] == "no such subspace"
    assert rows.loc[("BERT", "dataset crows-pairs; method sent-debias"), "off_by"] == "55.0 units of the last decimal"
    assert rows.loc[("BERT", "dataset stereoset; method sent-debias"), "reason"] == "not asked for"


def test_a_column_may_stand_for_keys_of_a_number_and_has_those_that_it_is_called_as(some2000, tmp_path):
    some2000.values = lambda run: pd.DataFrame(
        {"encoder": ["mine"], "text": ["t"], "variant": ["a"], "first": [0.5], "second": [0.7]}
    )
    columns = {name: {"metric": "m", "stage": name} for name in ("first", "second")}
    compared = Compared(columns, {"dataset": "text"}, "targets.values", everywhere=True, status="")
    text = replace(paper.load("some2000", tmp_path / "some2000"), encoders={"BERT": BERT}, ledger=[compared])
    keys = ["first,t,a", "second,t,a", "second,t,b", "second,u,a"]
    lines = ["encoder,metric,stage,dataset,variant,printed", *(f"BERT,m,{key},0.6" for key in keys)]
    (tmp_path / "printed.csv").write_text("\n".join(lines))
    names = pd.DataFrame([("mine", "encoder", *each) for each in BERT.items()], columns=list(NAMES))
    rows = joined(Run(pd.DataFrame(), PLAN, names, read_printed("some2000", tmp_path)), text)
    assert rows["ours"].fillna(-1).tolist() == [0.5, 0.7, -1, -1]
    assert rows["absent"].tolist()[2:] == [NOT_ASKED] * 2


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"only": {}}, "crows_pairs_score.*part.*all, stereo.*rows or only"),
        ({"metrics": ["crows_pairs_score"]}, "table 2 prints intrasentence_stereotype_score"),
    ],
)
def test_what_a_table_would_mix_or_lose_is_named(fourth, change, named):
    run, text = fourth
    with pytest.raises(BiasflowError, match=named):
        pivoted(run, text, replace(text.tables["scores"], **change))


@pytest.mark.parametrize(("column", "value"), [("encoder", "GPT"), ("of", "reddit")])
def test_numbers_of_unknown_encoders_or_data_are_named(fourth, column, value):
    run, text = fourth
    with pytest.raises(BiasflowError, match=f"fourth/printed.csv: {column} '{value}'"):
        of_paper(text, replace(run, printed=run.printed.assign(**{column: value})))


def test_a_run_makes_the_tables_of_a_folder(fourth):
    _, text = fourth
    options = {"folder": str(text.folder), "encoders": ["own"]}
    config = changed(("ask", {}), ("papers.fourth", options), ("methods", {"sent-debias": [{"eraser": "densray"}]}))
    jobs = jobs_of(setup_of(resolve(config, SCHEMA)))
    paper_job, ledger_job = jobs.of("paper_fourth"), jobs.of("paper_ledger")
    assert "results/test/tables/fourth_scores.csv" in paper_job.outputs
    for job in (paper_job, ledger_job):
        assert [Path(file).name for file in job.inputs["printed"]] == ["printed.csv"]
    assert {job.wildcards[-1] for job in jobs if job.rule == "score"} == {"fourth-scores"}


def test_a_folder_without_a_paper_is_named(tmp_path):
    config = changed(("papers.fourth", {"folder": str(tmp_path), "encoders": ["own"]}))
    with pytest.raises(BiasflowError, match=f"fourth.*{tmp_path}"):
        planned(config)
