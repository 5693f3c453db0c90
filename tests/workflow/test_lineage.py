"""One matrix is of one encoder: weights that are replaced are seen whatever their time. A run is as it was made."""

import os
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

from biasflow.base.records import read_record, write_record
from tests.unit.base.test_corruption import another_digit
from tests.workflow.conftest import TINY, Project

RESULTS = "results/own"
CONFIG = {
    "run": "own",
    "device": "cpu",
    "encoders": {"own": {"source": "local", "path": "own"}},
    "metrics": {
        "occtmp": {"sets": ["planted"]},
        "weat": {"tests": ["planted"]},
        "strength": {"stimuli": ["planted"], "triples": 20},
    },
}
METRICS = {"first": "occtmp", "second": "weat", "third": "strength"}


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Project:
    """A project with an encoder of the user's, and one block measured."""
    project = Project(tmp_path_factory.mktemp("lineage") / "biasflow")
    made = {"run": "made", "encoders": {"own": TINY["encoders"]["tiny-bert"]}}
    project.configure({**CONFIG, **made, "ask": {"first": {"encoders": ["own"], "metrics": ["occtmp"]}}}, "made.yaml")
    made = "results/made/encoders/own"
    done = project.snakemake(made, config="made.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.copytree(project.folder / made, project.folder / "own")
    done = ask(project, "first")
    assert done.returncode == 0, done.stdout + done.stderr
    return project


def ask(project: Project, *blocks: str, arguments: tuple[str, ...] = ()):
    asked = {name: {"encoders": ["own"], "methods": ["none"], "metrics": [METRICS[name]]} for name in blocks}
    project.configure({**CONFIG, "ask": asked}, "own.yaml")
    return project.snakemake(*arguments, config="own.yaml")


def replace_weights(project: Project, factor: float) -> None:
    """By another checkpoint, of the same size and with the time of the one that it replaces."""
    path = project.folder / "own/model.safetensors"
    before = path.stat()
    save_file({name: values * factor for name, values in load_file(path).items()}, path, {"format": "pt"})
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def weights_read(project: Project) -> dict[str, str]:
    """Block -> sha256 of the weights that its readout says it read."""
    blocks = [path.name for path in (project.folder / RESULTS / "readouts/own/pretrained").iterdir()]
    records = {name: project.record(f"{RESULTS}/readouts/own/pretrained/{name}/together") for name in blocks}
    return {name: record["inputs"]["own/model.safetensors"] for name, record in records.items()}


def last(done: subprocess.CompletedProcess) -> str:
    return [line for line in (done.stdout + done.stderr).splitlines() if line.strip()][-1]


def check(project: Project) -> tuple[int, list[str]]:
    command = [sys.executable, "-m", "biasflow", "check", "own"]
    environment = {**os.environ, "PYTHONPATH": "scripts"}
    done = subprocess.run(command, cwd=project.folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_a_whole_run_is_checked_and_what_was_made_with_other_parameters_stops_the_next(own, monkeypatch):
    code, (line,) = check(own)
    assert code == 0 and line.startswith("results/own: ") and line.endswith("all as recorded")
    matrix = own.folder / RESULTS / "matrix.csv"
    text, times = matrix.read_bytes(), matrix.stat()
    matrix.write_bytes(another_digit(text))
    os.utime(matrix, ns=(times.st_atime_ns, times.st_mtime_ns))
    code, lines = check(own)
    assert code == 1 and lines[0].startswith("results/own/matrix.csv is not as its job wrote it")
    matrix.write_bytes(text)
    os.utime(matrix, ns=(times.st_atime_ns, times.st_mtime_ns))

    monkeypatch.chdir(own.folder)  # a readout of other methods is put in its place, with its record
    readout = f"{RESULTS}/readouts/own/pretrained/first/together"
    record = read_record(readout)
    other = [{**each, "methods": ["leace"]} for each in record["params"]["readout"]]
    write_record(record | {"params": record["params"] | {"readout": other}})
    code, lines = check(own)
    assert code == 1 and lines[0].startswith(f"{readout} was made with other parameters")
    done = ask(own, "first", "second")
    assert done.returncode != 0 and not (own.folder / RESULTS / "readouts/own/pretrained/second").exists()
    assert last(done).startswith(f"biasflow: {readout} was made with readout")
    write_record(record)


def test_what_was_read_from_replaced_weights_is_read_again(own):
    (before,) = weights_read(own).values()
    replace_weights(own, 1.25)
    done = ask(own, "first", "second")
    assert done.returncode == 0, done.stdout + done.stderr
    after = weights_read(own)
    assert after["first"] == after["second"] != before
    assert set(pd.read_csv(own.folder / RESULTS / "scores.csv")["metric"]) >= {"occtmp_diff"}

    replace_weights(own, 1.25)  # and where Snakemake is told not to look: named before anything is read
    done = ask(own, "first", "second", "third", arguments=("--rerun-triggers", "mtime", "input"))
    assert done.returncode != 0
    line = last(done)
    readout = "results/own/readouts/own/pretrained/first/together"
    assert line.startswith(f"biasflow: {readout} was made of another content of own/model.safetensors")
    assert not (own.folder / RESULTS / "readouts/own/pretrained/third").exists()
