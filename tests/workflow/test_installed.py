"""biasflow as a wheel has it: the workflow in any folder, without a checkout."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from biasflow.base.code import code_digest
from tests.workflow.conftest import ROOT

CONFIGURATION = """\
run: own
encoders: {tiny: {source: pretrain, corpus: planted}}
metrics: {strength: {triples: 20}}
ask: {first: {encoders: [tiny], methods: [none], metrics: [strength]}}
"""
MADE, SCRIPT = "results/own/data/stimuli/planted.csv", "scripts/stimuli_planted.py"


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The folder into which the wheel of this checkout is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "site", wheel], check=True)
    return folder / "site"


@pytest.fixture
def call(installed, tmp_path):
    def call(*words: str) -> str:
        environment = os.environ | {"PYTHONPATH": str(installed)}
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts}


def test_a_run_in_an_empty_folder_writes_there_alone(installed, call, tmp_path):
    before = files(installed)
    snakefile = call("-m", "biasflow", "workflow").strip()
    assert snakefile == str(installed / "biasflow/workflow/Snakefile")
    assert Path(call("-m", "biasflow", "workflow", "config/mine.yaml").strip()).is_file()
    (tmp_path / "own.yaml").write_text(CONFIGURATION)
    start = ["-m", "snakemake", "--snakefile", snakefile, "--configfile", "own.yaml"]
    call(*start, "--cores", "1", MADE)
    assert (tmp_path / MADE).stat().st_size > 1000
    assert "all as recorded" in call("-m", "biasflow", "check", "own")
    assert files(installed) == before


def test_what_a_checkout_has_made_is_not_made_again(installed, call):
    """The digests of scripts with their modules are the same."""
    digest = "from biasflow.base.code import code_digest; from biasflow.base.shipped import ROOT; "
    digest += f"print(code_digest([ROOT / {SCRIPT!r}], ROOT))"
    assert call("-c", digest).strip() == code_digest([ROOT / SCRIPT], ROOT)
