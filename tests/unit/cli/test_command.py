"""The command itself: what it costs to start, whose code it runs, and how it ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from biasflow.cli import app
from biasflow.results.scores import COLUMNS

ROOT = Path(__file__).parents[3]
MAIN = [sys.executable, "-c", "from biasflow.cli import main; main()"]  # as .venv/bin/biasflow does


def command(*words: str, cwd: Path, start=(sys.executable, "-m", "biasflow")) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "scripts")}
    return subprocess.run([*start, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_it_starts_without_what_it_does_not_need(tmp_path):
    code = "import sys, biasflow.cli; print(*sys.modules)"
    loaded = command(cwd=tmp_path, start=(sys.executable, "-c", code)).stdout.split()
    assert "biasflow.cli.export" in loaded
    assert not {"numpy", "pandas", "torch", "snakemake", "yaml", "jsonschema"} & set(loaded)


@pytest.fixture
def runs(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for run in ("demo", "mine", "corpora"):
        Path(f"results/{run}/provenance").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("name", ["check", "compare", "export"])
def test_a_run_that_there_is_not_is_told_with_the_nearest_name(runs, name):
    words = {"compare": ["demo"], "export": ["--format", "json"]}.get(name, [])
    for run in ("dmo", "results/dmo", "/no/where/demo"):  # not the last part of a path
        done = CliRunner().invoke(app, [name, run, *words])
        assert done.exit_code == (2 if name == "compare" else 1)
        assert "did you mean 'demo'" in (done.stderr or str(done.exception))


def test_an_error_ends_it_with_one_line(runs):
    done = command("check", "corpra", cwd=runs)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.endswith("there are: demo, mine\n")


def test_it_runs_the_code_of_the_checkout_in_whose_folder_it_is_started(tmp_path):
    own = tmp_path / "scripts/biasflow"
    own.mkdir(parents=True)
    (own / "__init__.py").touch()
    (own / "__main__.py").write_text("import sys\nprint('another checkout', sys.argv[1:])\n")
    assert "Usage" in command("--help", cwd=tmp_path, start=MAIN).stdout  # a folder of that name alone is none
    (tmp_path / "Snakefile").touch()
    assert command("check", "a b", cwd=tmp_path, start=MAIN).stdout == "another checkout ['check', 'a b']\n"


def test_a_file_that_cannot_be_written_is_one_line(tmp_path):
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "scores.csv").write_text(",".join(COLUMNS) + "\n")
    done = command("export", "one", "--format", "csv", "-o", "two", cwd=tmp_path, start=MAIN)
    assert (done.returncode, done.stderr) == (1, "biasflow: two: Is a directory; name another file\n")
    done = command("compare", "one", "two", "--csv", "one", cwd=tmp_path, start=MAIN)
    assert done.returncode == 2 and done.stderr.endswith("biasflow: one: Is a directory; name another file\n")
