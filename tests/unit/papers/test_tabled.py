"""A paper of a CSV and a YAML file alone: no code of its own."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from biasflow.base.errors import BiasflowError
from biasflow.papers import make, paper
from biasflow.papers.frames import Run
from biasflow.papers.ledger import NOT_COMPARABLE, NOT_RUN, OFF, REPRODUCED, of_paper
from biasflow.papers.tabled import pivoted, read_printed
from biasflow.plan.configuration import resolve
from biasflow.results.scores import tidy
from tests.unit.plan.configs import SCHEMA, changed, jobs_of, planned, setup_of

BERT = {"id": "google-bert/bert-base-uncased", "revision": "86b5e0934494bd15c9632b12f734a8a67f723594"}
YAML = """
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
table 2,RoBERTa,crows-pairs,sent-debias,crows_pairs_score,0.518
table 2,RoBERTa,crows-pairs,inlp,crows_pairs_score,0.553
table 2,RoBERTa,stereoset,none,intrasentence_stereotype_score,0.663
table 2,RoBERTa,stereoset,sent-debias,intrasentence_stereotype_score,0.626
"""


@pytest.fixture
def fourth(tmp_path):
    """The folder of the paper, and a run of its first encoder under another name."""
    folder = tmp_path / "papers" / "fourth"
    folder.mkdir(parents=True)
    (folder / "paper.yaml").write_text(YAML)
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
    make.make_paper(text, run, text.files_in(tmp_path))
    table = pd.read_csv(tmp_path / "tables" / "fourth_scores.csv").set_index(["dataset", "method"])
    untouched, debiased = (table.loc[("crows-pairs", method)] for method in ("none", "sent-debias"))
    assert untouched["crows_pairs_score"] == pytest.approx(0.605)  # the mean of the seeds, of all pairs
    assert debiased["crows_pairs_score_difference"] == pytest.approx(0.055)
    assert table.loc[("crows-pairs", "inlp"), "status"] == "not run: no such subspace"
    assert set(table["encoder"]) == {"mine"} and len(table) == 5


def test_the_ledger_has_its_numbers(fourth):
    run, text = fourth
    rows = of_paper(text, run).set_index(["encoder", "row"])
    assert rows["status"].value_counts().to_dict() == {NOT_COMPARABLE: 5, NOT_RUN: 2, REPRODUCED: 2, OFF: 1}
    assert rows.loc[("BERT", "dataset crows-pairs; method inlp"), "reason"] == "no such subspace"
    assert rows.loc[("BERT", "dataset crows-pairs; method sent-debias"), "off_by"] == "55.0 units of the last decimal"
    assert rows.loc[("BERT", "dataset stereoset; method sent-debias"), "reason"] == "not asked for"


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
