"""biasflow as a module of a workflow in another folder, with a configuration of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import yaml

from tests.workflow.conftest import ROOT, TINY

CONFIG = {
    "run": "theirs",
    "device": "cpu",
    "encoders": {"mine": {"source": "pretrain", "corpus": "mine.txt", "steps": 1}},
    "tasks": {"nli": TINY["tasks"]["nli"]},
    "papers": {"dawkins2024": {"encoders": ["mine"], "task": "nli"}},
    "ask": {"inside": {"encoders": ["mine"], "metrics": ["similarity"]}},
}
SNAKEFILE = """
configfile: "mine.yaml"

module biasflow:
    snakefile: {snakefile!r}
    config: config["biasflow"]
    {more}

use rule * from biasflow{named}

onstart: biasflow.onstart()
onsuccess: biasflow.onsuccess()
onerror: biasflow.onerror()

rule cells:
    input: "results/theirs/plan.csv"
    output: "cells.txt"
    shell: "wc -l < {{input}} > {{output}}"
"""


def snakemake(folder, *arguments: str, named: str = "", more: str = "", of: Path = ROOT) -> subprocess.CompletedProcess:
    """Snakemake in a folder that has a Snakefile and a configuration; what it says is in stdout. of: biasflow's."""
    (folder / "mine.txt").write_text("The nurse is here.\n\nThe pilot is late.\n")
    (folder / "mine.yaml").write_text(yaml.safe_dump({"biasflow": CONFIG}))
    (folder / "Snakefile").write_text(SNAKEFILE.format(snakefile=str(of / "Snakefile"), named=named, more=more))
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "HF_HUB_OFFLINE": "1"}, timeout=300, check=False, **output
    )


def test_a_module_is_planned_with_the_files_of_its_folder(tmp_path):
    done = snakemake(tmp_path, "-n", "all")
    assert done.returncode == 0, done.stdout
    assert "rule pretrain:\n    input: mine.txt\n" in done.stdout
    assert "results/theirs/index.html" in done.stdout and "not present in the Snakefile" not in done.stdout


def test_a_module_is_run_and_its_results_lie_in_the_folder_of_who_uses_it(tmp_path):
    done = snakemake(tmp_path, "cells", named=" as biasflow_*")
    assert done.returncode == 0, done.stdout
    rows = len(pd.read_csv(tmp_path / "results/theirs/plan.csv"))
    assert rows > 5 and int((tmp_path / "cells.txt").read_text().split()[0]) > rows
    assert (tmp_path / "results/theirs/provenance/plan.csv.json").is_file()
    assert not (ROOT / "results/theirs").exists()


def test_a_prefix_is_refused_with_one_line(tmp_path):
    done = snakemake(tmp_path, "-n", "all", more='replace_prefix: {"results": "there"}')
    assert done.returncode == 1 and done.stdout.count("biasflow: as a module it takes no prefix") == 1
    assert "Traceback" not in done.stdout


def test_rules_without_their_scripts_are_refused_with_one_line(tmp_path):
    """As from a module that Snakemake fetches itself, file by file."""
    shutil.copytree(ROOT / "rules", tmp_path / "fetched/rules")
    shutil.copy(ROOT / "Snakefile", tmp_path / "fetched")
    done = snakemake(tmp_path, "-n", "all", of=tmp_path / "fetched")
    assert done.returncode == 1 and done.stdout.startswith("biasflow: as a module it needs a clone")
