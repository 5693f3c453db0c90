"""What rules ask of a machine: GPUs on a cluster."""

import logging
import re

import yaml
from snakemake_executor_plugin_slurm.partitions import get_best_partition, read_partition_file

from biasflow.registry import PAPERS, READOUTS
from tests.workflow.conftest import ROOT, TINY

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
        done = project.snakemake("-n", "--verbose", "--workflow-profile", str(SLURM))
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
    papers = {f"paper_{name}" for name in PAPERS}
    named = {name for path in (ROOT / "rules").glob("*.smk") for name in re.findall(r"rule (\w+):", path.read_text())}
    assert papers <= grouped <= papers | named


def test_without_a_gpu_none_is_asked_for(project):
    project.configure({**TINY, "device": "cpu"})
    done = project.snakemake("-n", "--verbose")
    assert "gpu=0" in done.stdout + done.stderr and "gpu=1" not in done.stdout + done.stderr
