"""What rules ask of a machine: GPUs on a cluster, and packages in their conda environments."""

import ast
import logging
import re
import sys

import pytest
import yaml
from snakemake_executor_plugin_slurm.partitions import get_best_partition, read_partition_file

from scripts.biasflow.base.code import code_files, module_file
from scripts.biasflow.papers.paper import load
from scripts.biasflow.plan.tasks import kind_of
from scripts.biasflow.registry import ERASERS, METRICS, PAPERS, READOUTS, STRATEGIES, TASKS, external_module, module_of
from tests.workflow.conftest import ROOT, TINY

# Modules that a script imports by name, and so no import statement tells.
BY_NAME = {
    "fit_methods": [ERASERS],
    "finetune": [TASKS, STRATEGIES, ERASERS],
    "read": [READOUTS, TASKS, STRATEGIES],
    "score": [METRICS],
    "prepare": [{step.rule: step for kind in TASKS for step in kind_of(kind).steps}],
}
PACKAGES = {"sklearn": "scikit-learn", "torch": "pytorch", "yaml": "pyyaml", "urllib3": "requests"}


SLURM = ROOT / "profiles/slurm"
JOB = re.compile(r"^\s*rule (?P<rule>\w+):\n(?:\s+\w+: .*\n)*?\s+resources: (?P<resources>.*)", re.MULTILINE)


class Job:
    """What the executor looks at to choose a partition."""

    def __init__(self, rule: str, resources: str):
        self.name, self.threads = rule, 1
        pairs = (each.split("=") for each in resources.split(", "))
        self.resources = {name: int(value) if value.isdigit() else value for name, value in pairs}


def test_jobs_go_to_the_partition_of_their_resources(project):
    """As the executor chooses it, at the first try and at the second, of which memory is doubled."""
    partitions = read_partition_file(SLURM / "partitions.yaml")
    chosen = set()
    for hidden in (32, 512):  # what is read together, and readout by readout
        encoders = {**TINY["encoders"], "tiny-bert": {**TINY["encoders"]["tiny-bert"], "hidden": hidden}}
        project.configure({**TINY, "device": "cuda", "encoders": encoders})
        done = project.snakemake("-n", "--workflow-profile", str(SLURM))
        assert done.returncode == 0, done.stdout + done.stderr
        for job in (Job(*match.groups()) for match in JOB.finditer(done.stdout + done.stderr)):
            for factor in (1, 2):
                job.resources["mem_mb"] *= factor
                partition = get_best_partition(partitions, job, logging.getLogger())
                chosen.add((job.name, job.resources.get("gpu", 0), partition))
    with_gpu = {rule for rule, gpus, _ in chosen if gpus}
    assert len(with_gpu) >= len(READOUTS)
    assert {(gpus, partition) for _, gpus, partition in chosen} == {(0, "CPU_PARTITION"), (1, "GPU_PARTITION")}


def test_groups_of_the_slurm_profile_are_rules():
    """A name that no rule has would be passed over without a word; all papers are there."""
    grouped = set(yaml.safe_load((SLURM / "config.yaml").read_text())["groups"])
    papers = {f"paper_{name}" for name in PAPERS} | {f"paper_{name}_audit" for name in PAPERS if load(name).audit}
    named = {name for path in (ROOT / "rules").glob("*.smk") for name in re.findall(r"rule (\w+):", path.read_text())}
    assert papers <= grouped <= papers | named


def test_without_a_gpu_none_is_asked_for(project):
    project.configure({**TINY, "device": "cpu"})
    done = project.snakemake("-n")
    assert "gpu=0" in done.stdout + done.stderr and "gpu=1" not in done.stdout + done.stderr


def scripts_of(environment: str) -> set[str]:
    """The scripts of the rules that run in envs/<environment>.yaml."""
    found = set()
    for path in (ROOT / "rules").glob("*.smk"):
        for rule in re.split(r"\n\s*rule\b", path.read_text())[1:]:
            if f"envs/{environment}.yaml" in rule:
                found.add(re.search(r"scripts/(\w+)\.py", rule.split("script:")[1])[1])
    return found


def installed(environment: str) -> dict[str, str]:
    """Package -> version of a conda environment."""
    listed = yaml.safe_load((ROOT / f"envs/{environment}.yaml").read_text())["dependencies"]
    return dict(re.fullmatch(r"(\S+) =(\S+)", each).groups() for each in listed)


def packages(script: str) -> set[str]:
    """The packages that a script and all modules that it reaches import, as conda calls them."""
    modules = [module_of(entry) for entries in BY_NAME.get(script, ()) for entry in entries.values()]
    modules += [
        external_module(entry) for entry in READOUTS.values() if script == "external_readout" and entry.external
    ]
    modules += [f"{module_of(entry)}.{'targets' if script == 'paper' else 'blocks'}" for entry in PAPERS.values()]
    files = [ROOT / f"scripts/{script}.py", *(module_file(name, ROOT) for name in modules)]
    names = set()
    for path in {each for file in files if file.exists() for each in code_files(file, ROOT) if each.suffix == ".py"}:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module.partition(".")[0])
    return {PACKAGES.get(name, name) for name in names - set(sys.stdlib_module_names) - {"scripts", "snakemake"}}


@pytest.mark.parametrize("environment", ["light", "torch"])
def test_environments_hold_what_their_scripts_import(environment):
    needed = set().union(*map(packages, scripts_of(environment)))
    if environment == "light":  # imported where a torch job calls a function: tests/unit/test_walls.py watches
        needed.discard("pytorch")
    assert needed <= set(installed(environment))


@pytest.mark.parametrize("environment", ["light", "torch"])
def test_environments_have_the_versions_of_the_lock_file(environment):
    locked = {
        name.lower(): version
        for name, version in re.findall(r"^(\S+)==(\S+)$", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    }
    for name, version in installed(environment).items():
        if name != "python":
            assert locked[name.replace("pytorch", "torch")].startswith(f"{version}."), name
