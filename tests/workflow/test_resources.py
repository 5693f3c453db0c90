"""What rules ask of a machine: GPUs on a cluster."""

import re

import yaml

from scripts.biasflow.registry import READOUTS
from tests.workflow.conftest import ROOT, TINY


def test_every_rule_that_asks_for_a_gpu_is_in_the_slurm_profile(project):
    jobs = set()
    for hidden in (32, 512):  # what is read together, and readout by readout
        encoders = {**TINY["encoders"], "tiny-bert": {**TINY["encoders"]["tiny-bert"], "hidden": hidden}}
        project.configure({**TINY, "device": "cuda", "encoders": encoders})
        done = project.snakemake("-n")
        found = r"^rule (\w+):\n(?:    .*\n)*?    resources: .*\bgpu=1\b"
        jobs |= set(re.findall(found, done.stdout + done.stderr, re.MULTILINE))
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    assert len(jobs) >= len(READOUTS)
    assert set(profile["set-resources"]) == jobs


def test_without_a_gpu_none_is_asked_for(project):
    project.configure({**TINY, "device": "cpu"})
    done = project.snakemake("-n")
    assert "gpu=0" in done.stdout + done.stderr and "gpu=1" not in done.stdout + done.stderr
