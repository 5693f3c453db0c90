"""Dry runs: what would run, and how a wrong configuration ends. The plan itself is tested in tests/unit/plan."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from biasflow.base.tabular import read_text_csv
from biasflow.encoders.configured import EXTERNAL
from biasflow.papers.paper import load
from biasflow.plan.compiled import prepared
from biasflow.registry import JOBS_OF_READOUTS, rule_of
from tests.workflow.conftest import ROOT, TINY
from tests.workflow.test_documented import save_encoder


def environment() -> dict[str, str]:
    """Of a process that imports the package from the folder in which it is started."""
    return os.environ | {"PYTHONPATH": "scripts"}


CONFIGS = sorted(path.name for path in (ROOT / "config").glob("*.yaml") if "run:" in path.read_text())
OWN = [name for name in CONFIGS if "{encoder}" in (ROOT / "config" / name).read_text()]  # they need the folder of one


OF_THE_PAPERS = {
    "download_encoder": 6,
    "finetune_nli": 3 * 5,  # encoders and seeds
    "finetune_glue": 2 * 9 * 4 * 3,  # encoders (not the multilingual one), tasks, methods and none, seeds
    "finetune_occupation": 2 * 4 * 10,  # encoders, strategies, seeds
    "read_first_token": 80 + 20 + 2,  # fine-tuned, never trained, pre-trained
    "read_next_sentence": 3 + 1,  # paper A's grid needs the untouched encoders too; of paper B's one has the head
    "continue_encoder": 3,
    "splits": 1,
}


@pytest.mark.parametrize("name", [name for name in CONFIGS if name not in OWN])
def test_every_configuration_plans_without_a_network(project, name):
    jobs = project.jobs(config=f"config/{name}")
    assert jobs["all"] == jobs["scores"] == jobs["matrix"] == 1
    configuration = yaml.safe_load((ROOT / "config" / name).read_text())
    printed = any(load(paper).encoders for paper in configuration.get("papers", {}))
    given = any(encoder["source"] == EXTERNAL for encoder in configuration.get("encoders", {}).values())
    assert jobs.get("paper_ledger", 0) == (printed or given)
    if name == "paper.yaml":
        assert {rule: jobs[rule] for rule in OF_THE_PAPERS} == OF_THE_PAPERS


@pytest.mark.parametrize("name", OWN)
def test_an_encoder_of_ones_own_is_named_in_the_command(project, name):
    save_encoder(project.folder / "my encoder")
    jobs = project.jobs("--config", "encoder=my encoder", config=f"config/{name}")
    fitted = "ask" in yaml.safe_load((ROOT / "config" / name).read_text())  # a calibration has no method
    assert jobs["matrix"] == 1 and jobs["score"] >= 1 and (jobs.get("fit_methods", 0) >= 1) == fitted


def test_the_jobs_that_explain_knows_are_those_of_snakemake(project, monkeypatch):
    monkeypatch.chdir(project.folder)
    known = Counter(job.rule for job in prepared(yaml.safe_load(Path("tiny.yaml").read_text())).jobs.needed)
    planned = project.jobs()
    assert known == {name: planned.get(name, 0) for name in known}
    assert sum(name.startswith("paper_") for name in known) >= 3
    assert {rule_of(name) for name in JOBS_OF_READOUTS} & set(planned) <= set(known)


PLANNED = """
import json, pathlib, sys
from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, OutputSettings, Quietness, ResourceSettings

with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
    files = ConfigSettings(configfiles=[pathlib.Path("tiny.yaml").resolve()])
    workflow = api.workflow(ResourceSettings(cores=1), files, snakefile=pathlib.Path("Snakefile"))
    workflow.dag().printd3dag()
    jobs = [[job.rule.name, [*job.input, *job.output], dict(job.params.items())] for job in workflow._workflow.dag.jobs]
    pathlib.Path("jobs.json").write_text(json.dumps(jobs, default=str))
"""


def planned(project) -> list[tuple[str, list[str], dict[str, object]]]:
    """Rule, files and parameters of all jobs."""
    command = {"cwd": project.folder, "env": environment(), "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", PLANNED], **command, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((project.folder / "jobs.json").read_text())


def test_what_reads_a_world_is_made_again_for_another_one(project):
    """Also of an encoder that was not pre-trained here, which stays as it is."""
    used = {key: TINY[key] for key in ("run", "encoders", "files")}
    ask = {"inside": {"encoders": ["tiny-bert"], "metrics": ["weat", "ceat", "strength"]}}
    project.configure({**used, "ask": ask, "world": "held-out"})
    worlds = {rule: params.get("world") for rule, _, params in planned(project)}
    of_world = {rule for rule in worlds if rule.startswith(("read_", "ceat_contexts", "stimuli_planted"))}
    assert len(of_world) >= 2 and {rule for rule, world in worlds.items() if world == "held-out"} == of_world


def test_it_can_be_started_from_another_folder(project, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for file in project.folder.glob("chinese*.txt"):  # the user's own files lie where Snakemake is started
        shutil.copy(file, tmp_path / "elsewhere")
    done = project.snakemake("-n", "--directory", str(tmp_path / "elsewhere"), config=str(project.folder / "tiny.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_says_what_it_needs():
    for path in (ROOT / "rules").glob("*.smk"):
        blocks = path.read_text().replace("    rule:", "\nrule:").split("\nrule")[1:]
        for block in blocks:
            name = block.split(":")[0]
            for needed in ("log:", "conda:", "threads:", "mem_mb=", "runtime=", "script:"):
                assert needed in block, f"{path.name}: rule {name} has no {needed}"
            assert "scripts/download" in block or "code=" in block, f"{path.name}: rule {name} has no code"


def test_a_table_is_a_target_and_the_ledger_needs_no_table_of_a_paper(project):
    table, ledger = (project.jobs(f"results/tiny/tables/{name}.csv") for name in ("liang2020_main", "ledger"))
    papers = {"paper_liang2020", "paper_dawkins2024", "paper_orgad2022"}
    assert papers & set(table) == {"paper_liang2020"}
    assert ledger["paper_ledger"] == ledger["scores"] == 1 and not {*papers, "matrix"} & set(ledger)


def test_every_readout_has_a_rule(project):
    listed = set(project.snakemake("--list-rules").stdout.split())
    assert {rule_of(name) for name in JOBS_OF_READOUTS} <= listed


def test_a_run_of_which_nothing_can_run_ends_with_the_reason(project):
    config = {
        "run": "own",
        "encoders": {"other": {"source": "local", "path": "other", "optional": True}},
        "ask": {"inside": {"encoders": ["other"], "methods": ["none"], "metrics": ["strength"]}},
    }
    project.configure(config, "own.yaml")
    done = project.snakemake(config="own.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 cell was not run" in done.stderr
    (row,) = read_text_csv(project.folder / "results/own/matrix.csv").query("measure == 'strength'").itertuples()
    assert row.value == "" and row.reason.startswith("encoders.other.path")
