"""biasflow as a module of a workflow in another folder, with a configuration of its own."""

import os
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.warm import warm
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
    snakefile: {snakefile}
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
OURS = repr(f"{ROOT}/Snakefile")


def snakemake(
    folder: Path, *arguments: str, named="", more="", of=OURS, python=None, **environment
) -> subprocess.CompletedProcess:
    """Snakemake in a folder that has a Snakefile and a configuration; what it says is in stdout. of: what the module
    names, as code; python: the interpreter, if not a warm one."""
    (folder / "mine.txt").write_text("The nurse is here.\n\nThe pilot is late.\n")
    (folder / "mine.yaml").write_text(yaml.safe_dump({"biasflow": CONFIG}))
    (folder / "Snakefile").write_text(SNAKEFILE.format(snakefile=of, named=named, more=more))
    command = [python or warm() / "python", "-m", "snakemake", "--cores", "1", *arguments]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    environment = os.environ | {"HF_HUB_OFFLINE": "1"} | environment
    return subprocess.run(command, cwd=folder, env=environment, timeout=300, check=False, **output)


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
    shutil.copytree(ROOT / "rules", tmp_path / "fetched/rules")
    shutil.copy(ROOT / "Snakefile", tmp_path / "fetched")
    done = snakemake(tmp_path, "-n", "all", of=repr(f"{tmp_path}/fetched/Snakefile"))
    assert done.returncode == 1 and done.stdout.startswith("biasflow: as a module it needs all its files")


def test_a_package_of_another_version_is_refused_with_one_line(tmp_path):
    """As where the Snakefile of an installed biasflow is named, and another one is installed here."""
    for name in ("rules", "scripts"):
        shutil.copytree(
            ROOT / name, tmp_path / "other" / name, ignore=shutil.ignore_patterns("biasflow", "__pycache__")
        )
    shutil.copy(ROOT / "Snakefile", tmp_path / "other")
    of = repr(f"{tmp_path}/other/Snakefile")
    done = snakemake(tmp_path, "-n", "all", of=of, PYTHONPATH=str(ROOT / "scripts"))
    (line,) = done.stdout.splitlines()
    assert done.returncode == 1 and f"{tmp_path}/other, " in line and f"{ROOT}/Snakefile" in line


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    """A git repository with the files of this project and the tag v1.0.0, after which the scripts were removed."""
    folder = tmp_path_factory.mktemp("repository")
    for name in ("rules", "scripts", "config", "envs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Snakefile", folder)
    with open(folder / "scripts/planned.py", "a") as script:
        script.write("import biasflow\nprint(biasflow.__file__, file=open('package.txt', 'w'))\n")

    def git(*words: str) -> None:
        who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
        subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "--message", "all")
    git("tag", "v1.0.0")
    git("rm", "-r", "scripts")
    git("commit", "--message", "less")
    return folder


@pytest.mark.parametrize("host", ["github", "git+file"])
def test_a_module_of_a_repository_takes_scripts_and_package_from_its_commit(repository, tmp_path, host):
    """The clone that Snakemake makes of github.com is made of a folder."""
    of = f"'git+file://{repository}/Snakefile@v1.0.0'"
    settings = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": ""}
    if host == "github":
        of = "github('somebody/biasflow', path='Snakefile', tag='v1.0.0')"
        settings |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{repository}.insteadOf"}
        settings |= {"GIT_CONFIG_VALUE_0": "https://github.com/somebody/biasflow"}
    done = snakemake(tmp_path, "cells", of=of, **settings)
    assert done.returncode == 0, done.stdout
    (folder,) = tmp_path.glob("cache/**/source-cache/biasflow/*")
    assert (tmp_path / "package.txt").read_text().strip() == f"{folder}/scripts/biasflow/__init__.py"
