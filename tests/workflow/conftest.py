"""Runs of the real workflow in a copy of the project, with a configuration so small that it takes seconds."""

import contextlib
import copy
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from biasflow.base.records import read_record
from tests.warm import warm

ROOT = Path(__file__).parents[2]
COPIED = ("Snakefile", "rules", "scripts", "config", "profiles", "envs", "results/README.md")
COPIED += ("requirements.lock", "LICENSE", "CITATION.cff")
TINY = yaml.safe_load(Path(__file__).with_name("tiny.yaml").read_text(encoding="utf-8"))
_OCCUPATIONS = ("医生", "护士", "律师")
OWN_FILES = {
    "chinese.txt": "\n\n".join(f"他是一个{name}。\n她也是一个{name}。" for name in _OCCUPATIONS) + "\n",
    "chinese-professions.txt": "\n".join(_OCCUPATIONS) + "\n",
}


REPLACE = ("--config", "replace=true")  # of a run whose configuration was changed on purpose


class Project:
    """A copy of the project in a folder of its own, with the files of one's own that TINY names. cold: its processes
    import their libraries, as a user's do."""

    cold = False

    def __init__(self, folder: Path):
        self.folder = folder
        for name in COPIED:
            source, target = ROOT / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        for name, text in OWN_FILES.items():
            (folder / name).write_text(text, encoding="utf-8")

    def copy(self, folder: Path) -> "Project":
        """The same project elsewhere, with what it has done."""
        shutil.copytree(self.folder, folder)
        there = copy.copy(self)
        there.folder = folder
        return there

    def configure(self, config: dict, name: str = "tiny.yaml") -> None:
        (self.folder / name).write_text(yaml.safe_dump(config, sort_keys=False))

    def _command(self, arguments: tuple[str, ...], config: str) -> dict:
        python = sys.executable if self.cold else str(warm() / "python")
        command = [python, "-m", "snakemake", *arguments, "--cores", "2", "--configfile", *config.split()]
        return {"args": command, "cwd": self.folder, "env": os.environ | {"HF_HUB_OFFLINE": "1"}}

    def snakemake(self, *arguments: str, config: str = "tiny.yaml", timeout: int = 1800) -> subprocess.CompletedProcess:
        command = self._command(arguments, config)
        return subprocess.run(**command, capture_output=True, text=True, timeout=timeout, check=False)

    def succeeds(self, *arguments: str, config: str = "tiny.yaml") -> subprocess.CompletedProcess:
        done = self.snakemake(*arguments, config=config)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def record(self, result: str) -> dict:
        """The record of a result, by its path from the folder of the project."""
        with contextlib.chdir(self.folder):
            return read_record(result)

    def start(self, *arguments: str, config: str = "tiny.yaml", said=subprocess.DEVNULL) -> subprocess.Popen:
        """Snakemake in a process group of its own, to be killed; said: the file that it writes to. It listens to
        interrupts, also if the tests were started in the background, where a shell ignores them."""
        output = {"stdout": said, "stderr": said}
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what is ignored stays ignored in a child
        try:
            return subprocess.Popen(**self._command(arguments, config), **output, start_new_session=True)
        finally:
            signal.signal(signal.SIGINT, before)

    def jobs(self, *arguments: str, config: str = "tiny.yaml") -> dict[str, int]:
        """How many jobs of each rule a dry run would start."""
        done = self.succeeds("-n", *arguments, config=config)
        rows = [line.split() for line in (done.stdout + done.stderr).splitlines()]
        return {
            row[0]: int(row[1])
            for row in rows
            if len(row) == 2 and row[1].isdigit() and row[0] != "total" and not row[0].endswith(":")
        }


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Project:
    """The tiny run, done once; tests must leave it as they found it."""
    project = Project(tmp_path_factory.mktemp("finished") / "biasflow")
    project.configure(TINY)
    project.succeeds()
    return project


@pytest.fixture
def project(tmp_path) -> Project:
    """A fresh copy with nothing run."""
    project = Project(tmp_path / "biasflow")
    project.configure(TINY)
    return project


@pytest.fixture
def run(finished, tmp_path) -> Project:
    """A copy of the finished run that a test may change; time stamps and Snakemake's own records are kept."""
    return finished.copy(tmp_path / "copy")
