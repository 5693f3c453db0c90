"""Dry runs: what would run, on what machine, and how a wrong configuration ends. The plan itself: tests/unit/plan."""

import copy
import logging
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml
from snakemake_executor_plugin_slurm.partitions import get_best_partition, read_partition_file

from biasflow.base.tabular import read_text_csv
from biasflow.encoders.configured import EXTERNAL
from biasflow.papers.paper import load
from biasflow.plan.compiled import prepared
from biasflow.registry import JOBS_OF_READOUTS, PAPERS, READOUTS, rule_of
from tests.unit.conftest import with_modules
from tests.workflow.conftest import ROOT, TINY
from tests.workflow.test_documented import save_encoder

# One of each kind; tests/unit/plan plans all, and checks that each input is made by a rule.
CONFIGS = ("config", "conformance", "paper", "planted")
OWN = ("calibrate", "mine", "retrieval")  # they need the folder of an encoder
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


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_plans_without_a_network(project, name):
    jobs = project.jobs(config=f"config/{name}.yaml")
    assert jobs["all"] == jobs["scores"] == jobs["matrix"] == 1
    configuration = yaml.safe_load((ROOT / f"config/{name}.yaml").read_text())
    printed = any(load(paper).encoders for paper in configuration.get("papers", {}))
    given = any(encoder["source"] == EXTERNAL for encoder in configuration.get("encoders", {}).values())
    assert jobs.get("paper_ledger", 0) == (printed or given)
    if name == "paper":
        assert {rule: jobs[rule] for rule in OF_THE_PAPERS} == OF_THE_PAPERS


@pytest.mark.parametrize("name", OWN)
def test_an_encoder_of_ones_own_is_named_in_the_command(project, name):
    save_encoder(folder := project.folder / "my encoder")
    if name == "retrieval":
        with_modules(folder, "Pooling", pooling_mode_mean_tokens=True)
    jobs = project.jobs("--config", "encoder=my encoder", config=f"config/{name}.yaml")
    assert jobs["matrix"] == 1 and jobs["score"] >= 1
    assert (jobs.get("fit_methods", 0) >= 1) == (name != "calibrate")  # which has no method


@pytest.mark.parametrize(("group", "rule"), [("sex", "labelled_texts"), (None, "labelled_parts")])
def test_texts_of_the_user_are_prepared_by_one_rule(project, group, rule):
    save_encoder(project.folder / "mine")
    lines = [f"text {k},{k % 2},{'MF'[k // 2 % 2]}" for k in range(400)]
    (project.folder / "own.csv").write_text("\n".join(["text,label,sex", *lines]))
    task = {"kind": "classification", "data": {"files": ["own.csv"]}, "columns": {"group": group}}
    ask = {"encoders": ["mine"], "task": "own", "metrics": ["fairness" if group else "accuracy"]}
    encoders = {"mine": {"source": "local", "path": "mine"}}
    project.configure({"run": "own", "encoders": encoders, "tasks": {"own": task}, "ask": {"own": ask}})
    jobs = project.jobs()
    assert jobs[rule] == jobs["finetune_classification"] == 1
    assert {"labelled_texts", "labelled_parts"} & {*jobs} == {rule}


def test_the_jobs_that_explain_knows_are_those_of_snakemake(project, monkeypatch):
    monkeypatch.chdir(project.folder)
    known = Counter(job.rule for job in prepared(yaml.safe_load(Path("tiny.yaml").read_text())).jobs.needed)
    planned = project.jobs()
    assert known == {name: planned.get(name, 0) for name in known}
    assert sum(name.startswith("paper_") for name in known) >= 3
    assert {rule_of(name) for name in JOBS_OF_READOUTS} & set(planned) <= set(known)


def test_it_can_be_started_from_another_folder(project, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for file in project.folder.glob("chinese*.txt"):  # the user's own files lie where Snakemake is started
        shutil.copy(file, tmp_path / "elsewhere")
    project.succeeds("-n", "--directory", str(tmp_path / "elsewhere"), config=str(project.folder / "tiny.yaml"))


def test_the_code_of_a_group_is_read_only_and_results_lie_in_a_folder_of_each_person(project, tmp_path):
    """As documented in docs/cluster.md."""
    code, person = project.folder, copy.copy(project)
    person.folder = tmp_path / "person"
    person.folder.mkdir()
    for file in ["tiny.yaml", *(file.name for file in code.glob("chinese*.txt"))]:
        (code / file).rename(person.folder / file)
    places = [code, *code.rglob("*")]
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    before = {place: place.stat().st_mtime_ns for place in places if place.is_file() and place.suffix != ".pyc"}
    options = ("-s", str(code / "Snakefile"), "--workflow-profile", str(code / "profiles/default"))
    try:
        person.succeeds(*options, "results/tiny/data/stimuli/planted.csv")
    finally:
        for place in places:
            place.chmod(0o755 if place.is_dir() else 0o644)
    result = person.folder / "results/tiny/data/stimuli/planted.csv"
    assert result.is_file() and (person.folder / "results/tiny/provenance").is_dir()
    now = (place for place in code.rglob("*") if place.is_file() and place.suffix != ".pyc")  # root may write anywhere
    assert before == {place: place.stat().st_mtime_ns for place in now}
    assert (
        "jobs for Slurm"
        in person.succeeds(
            "-n", "-s", str(code / "Snakefile"), "--workflow-profile", str(slurm_profile(project))
        ).stderr
    )


def test_every_rule_says_what_it_needs():
    seen = Counter()
    for path in (ROOT / "rules").glob("*.smk"):
        blocks = f"\n{path.read_text()}".replace("    rule:", "\nrule:").split("\nrule")[1:]
        seen[path.stem] += len(blocks)
        for block in blocks:
            name = block.split(":")[0]
            for needed in ("log:", "conda:", "threads:", "mem_mb=", "runtime=", "script:"):
                assert needed in block, f"{path.name}: rule {name} has no {needed}"
            assert "scripts/download" in block or "code=" in block, f"{path.name}: rule {name} has no code"
            reads_world = re.search(r"scripts/(read|external_readout|stimuli_planted|ceat_contexts)\.py", block)
            assert ('world=config["world"]' in block) == bool(reads_world), f"{path.name}: rule {name}: its world"
    assert len(seen) >= 5 and seen.total() >= 25


def test_a_table_is_a_target_and_the_ledger_needs_no_table_of_a_paper(project):
    table, ledger = (project.jobs(f"results/tiny/tables/{name}.csv") for name in ("liang2020_occtmp", "ledger"))
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
    done = project.succeeds(config="own.yaml")
    assert "1 cell was not run" in done.stderr
    (row,) = read_text_csv(project.folder / "results/own/matrix.csv").query("measure == 'strength'").itertuples()
    assert row.value == "" and row.reason.startswith("encoders.other.path")


SLURM = ROOT / "profiles/slurm"
JOB = re.compile(r"^\s*rule (?P<rule>\w+):\n(?:\s+\w+: .*\n)*?\s+resources: (?P<resources>.*)", re.MULTILINE)


class Job:
    """What the executor looks at to choose a partition."""

    def __init__(self, rule: str, resources: str):
        self.name, self.threads = rule, 1
        pairs = (each.split("=") for each in resources.split(", "))
        self.resources = {name: int(value) if value.isdigit() else value for name, value in pairs}


def test_jobs_go_to_the_partition_of_their_resources(project):
    """As the executor chooses it, at the first try and at the second, of which memory is doubled. A dry run says which
    partitions these are, and for how long, and refuses the names to fill in, if a job would go there."""
    project.configure({**TINY, "device": "cuda"})
    path, in_slurm = project.folder / "profiles/slurm/partitions.yaml", ("-n", "--workflow-profile", "profiles/slurm")
    unfilled = project.snakemake(*in_slurm)
    assert "partitions.yaml: CPU_PARTITION stands for the name" in unfilled.stderr and unfilled.returncode == 1
    path.write_text(path.read_text().replace("CPU_PARTITION", "short"))
    unfilled = project.snakemake(*in_slurm)
    assert "partitions.yaml: GPU_PARTITION stands for the name" in unfilled.stderr and unfilled.returncode == 1
    path.write_text(path.read_text().replace("GPU_PARTITION", "gpu"))
    partitions = read_partition_file(path)
    chosen = set()
    for hidden in (32, 512):  # what is read together, and readout by readout
        encoders = {**TINY["encoders"], "tiny-bert": {**TINY["encoders"]["tiny-bert"], "hidden": hidden}}
        project.configure({**TINY, "device": "cuda", "encoders": encoders})
        done = project.succeeds("--verbose", *in_slurm)
        told = re.search(r"jobs for Slurm: \d+ to the partition (.*), \d+ to the partition (.*)", done.stderr)
        assert [text.partition(" ")[0] for text in sorted(told.groups())] == ["gpu", "short"]
        assert "GB and a GPU each" in done.stderr and re.search(r"\d hours together\)$", done.stderr.strip())
        for job in (Job(*match.groups()) for match in JOB.finditer(done.stdout + done.stderr)):
            for factor in (1, 2):
                job.resources["mem_mb"] *= factor
                partition = get_best_partition(partitions, job, logging.getLogger())
                chosen.add((job.name, job.resources.get("gpu", 0), partition))
    with_gpu = {rule for rule, gpus, _ in chosen if gpus}
    assert len(with_gpu) >= sum(entry.module != entry.external for entry in READOUTS.values())
    assert {(gpus, partition) for _, gpus, partition in chosen} == {(0, "short"), (1, "gpu")}


def slurm_profile(project) -> Path:
    """The profile for Slurm, whose partitions are named as a user does it."""
    path = project.folder / "profiles/slurm/partitions.yaml"
    path.write_text(path.read_text().replace("CPU_PARTITION", "short").replace("GPU_PARTITION", "gpu"))
    return path.parent


def test_groups_of_the_slurm_profile_are_rules():
    """A name that no rule has would be passed over without a word; all papers are there."""
    grouped = set(yaml.safe_load((SLURM / "config.yaml").read_text())["groups"])
    papers = {f"paper_{name}" for name in PAPERS}
    named = {name for path in (ROOT / "rules").glob("*.smk") for name in re.findall(r"rule (\w+):", path.read_text())}
    assert papers <= grouped <= papers | named


def test_without_a_gpu_none_is_asked_for(project):
    project.configure({**TINY, "device": "cpu"})
    done = project.snakemake("-n", "--verbose")
    assert "gpu=0" in done.stdout + done.stderr and "gpu=1" not in done.stdout + done.stderr
