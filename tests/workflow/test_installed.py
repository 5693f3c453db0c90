"""biasflow as a wheel has it: in an environment that knows no checkout, in any folder."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pandas as pd
import pytest
import yaml

from biasflow.base.code import code_digest
from tests.real.files import DATA, SPLADE
from tests.workflow.conftest import ROOT
from tests.workflow.test_documented import save_encoder
from tests.workflow.test_module import snakemake

CONFIGURATION = """\
run: own
encoders: {tiny: {source: pretrain, corpus: planted}}
metrics: {strength: {triples: 20}}
ask: {first: {encoders: [tiny], methods: [none], metrics: [strength]}}
"""
MADE, SCRIPT = "results/own/data/stimuli/planted.csv", "scripts/stimuli_planted.py"
REAL = "BIASFLOW_DATA" in os.environ and SPLADE.is_dir()  # otherwise an encoder that was never trained is measured
METRICS = ["weat", "similarity"] if REAL else ["strength"]
USE = """
import biasflow, json, torch, numpy as np
from biasflow.corpora.catalogue import read_catalogue
from biasflow.papers.rows import read_printed
from biasflow.plan.configuration import load_schema
from biasflow.planted.world import load_world
from biasflow.text.scrub import scrub
X = np.random.default_rng(0).normal(size=(40, 6)); z = np.arange(40) % 2
erased = biasflow.fit("mean_projection", X, z).apply(torch.tensor(X, dtype=torch.float32)).numpy()
print(json.dumps({
    "from": biasflow.__file__,
    "swapped": biasflow.swap_gender("She lost her keys."),
    "left": float(np.abs(erased[z == 1].mean(0) - erased[z == 0].mean(0)).max()),
    "files": len(read_catalogue().files), "keys": len(load_schema()["properties"]), "world": bool(load_world()),
}))
"""
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


class Installed:
    """The wheel of this checkout in a fresh environment, which borrows all other packages of this one."""

    def __init__(self, folder: Path):
        options = ["--no-deps", "--no-build-isolation", "--wheel-dir", folder]
        subprocess.run([*PIP, "wheel", *options, ROOT], check=True)
        (self.wheel,) = folder.glob("*.whl")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
        self.python = folder / "env/bin/python"
        self.packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "env")}))
        (self.packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))  # without what its .pth files name
        self.pip("install", "--no-deps", "--force-reinstall", str(self.wheel))

    def pip(self, *words: str) -> None:
        subprocess.run([*PIP, "--python", self.python, *words], check=True)

    def call(self, folder: Path, *words: str, code: int = 0) -> str:
        """What a command of the environment, started in a folder, says; it must end with this code."""
        without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment = without | {"PATH": f"{self.python.parent}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def files(self) -> set[Path]:
        return {path for path in self.packages.rglob("*") if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Installed:
    return Installed(tmp_path_factory.mktemp("wheel"))


def test_a_run_in_an_empty_folder_writes_there_alone(installed, tmp_path):
    before = installed.files()
    snakefile = installed.call(tmp_path, "biasflow", "workflow").strip()
    assert snakefile == str(installed.packages / "biasflow/workflow/Snakefile")
    assert Path(installed.call(tmp_path, "biasflow", "workflow", "config/mine.yaml").strip()).is_file()
    (tmp_path / "own.yaml").write_text(CONFIGURATION)
    start = ["python", "-m", "snakemake", "--snakefile", snakefile, "--configfile", "own.yaml"]
    installed.call(tmp_path, *start, "--cores", "1", MADE)
    assert (tmp_path / MADE).stat().st_size > 1000
    assert "all as recorded" in installed.call(tmp_path, "biasflow", "check", "own")
    assert installed.files() == before
    shutil.copytree(Path(snakefile).parent / "profiles/slurm", tmp_path / "slurm")
    partitions = tmp_path / "slurm/partitions.yaml"
    partitions.write_text(partitions.read_text().replace("CPU_PARTITION", "cpu").replace("GPU_PARTITION", "gpu"))
    assert "to the partition cpu" in installed.call(tmp_path, *start, "--workflow-profile", "slurm", "--dry-run")


def test_the_library_has_all_that_it_reads(installed, tmp_path):
    with zipfile.ZipFile(installed.wheel) as archive:
        assert all(name.startswith("biasflow") for name in archive.namelist())
    found = json.loads(installed.call(tmp_path, "python", "-c", USE))
    assert found["from"].startswith(str(installed.packages))
    assert found["swapped"] == "He lost his keys." and found["left"] < 1e-5
    assert found["files"] > 50 and found["keys"] > 5 and found["world"]


def test_what_a_checkout_has_made_is_not_made_again(installed, tmp_path):
    """The digests of scripts with their modules are the same."""
    digest = "from biasflow.base.code import code_digest; from biasflow.base.shipped import ROOT; "
    digest += f"print(code_digest([ROOT / {SCRIPT!r}], ROOT))"
    assert installed.call(tmp_path, "python", "-c", digest).strip() == code_digest([ROOT / SCRIPT], ROOT)


def test_it_is_the_module_of_another_workflow(installed, tmp_path):
    snakefile = installed.packages / "biasflow/workflow/Snakefile"
    done = snakemake(tmp_path, "cells", of=repr(str(snakefile)), python=installed.python, PYTHONPATH="")
    assert done.returncode == 0 and (tmp_path / "cells.txt").is_file(), done.stdout


def test_all_that_a_user_types_and_what_stays_when_it_is_uninstalled(installed, tmp_path):
    """Of one or two quick measures: `measure` keeps the keys of a configuration for the same encoder."""
    encoder, mirror = (SPLADE, ["--mirror", str(DATA)]) if REAL else (tmp_path / "untrained", [])
    if not REAL:
        save_encoder(encoder)
    keys = {"run": "mine", "encoder": str(encoder), "metrics": {"strength": {"stimuli": ["planted"], "triples": 10}}}
    asked = {"metrics": METRICS, "methods": ["none"]}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(keys | {"ask": {"inside": asked}}))

    def says(command: str, *words: str, code: int = 0) -> str:
        return installed.call(tmp_path, *command.split(), *words, code=code)

    assert METRICS[0] in says("biasflow list metrics --of", str(encoder))
    assert str(encoder) in says("biasflow init", str(encoder)) + (tmp_path / "biasflow.yaml").read_text()
    assert "overview: results/mine/index.html" in says("biasflow measure", str(encoder), *mirror)

    snakefile = Path(says("biasflow workflow").strip())
    given = [str(snakefile.with_name("config") / name) for name in ("mine.yaml", "whole.yaml")] + ["mine.yaml"]
    given += [f"--config=mirror={DATA}"] * REAL
    whole = says(f"python -m snakemake --dry-run --snakefile {snakefile} --configfile", *given)
    assert "fit_methods" in whole
    assert "results/mine/" in says("biasflow explain --configfile", *given, "--", "mine", "none", METRICS[0])
    assert "all as recorded" in says("biasflow check mine")
    shutil.copytree(tmp_path / "results/mine", tmp_path / "results/other")
    assert "no difference" in says("biasflow compare mine other")
    says("biasflow export mine --format json")
    assert json.loads((tmp_path / "mine-scores.json").read_text())

    installed.pip("uninstall", "--yes", "biasflow")
    assert not snakefile.exists()
    assert pd.read_csv(tmp_path / "results/mine/scores.csv")["metric"].str.startswith(METRICS[0]).any()
    page = (tmp_path / "results/mine/index.html").read_text()
    linked = re.findall(r'(?:src|href)="([^"#:]+)"', page)
    assert linked and all((tmp_path / "results/mine" / name).exists() for name in linked)
