"""One matrix is of one encoder: weights that are replaced are seen whatever their time."""

import json
import os
import shutil

import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

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


@pytest.fixture
def own(project) -> Project:
    """A project with an encoder of the user's, and one block measured."""
    made = {"run": "made", "encoders": {"own": TINY["encoders"]["tiny-bert"]}}
    project.configure({**CONFIG, **made, "ask": {"first": {"encoders": ["own"], "metrics": ["occtmp"]}}}, "made.yaml")
    made = "results/made/encoders/own"
    done = project.snakemake(f"{made}/config.json", config="made.yaml")
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
    found = {}
    for folder in (project.folder / RESULTS / "readouts/own/pretrained").iterdir():
        (record,) = folder.glob("together*.json")
        found[folder.name] = json.loads(record.read_text())["inputs"]["own/model.safetensors"]
    return found


def test_what_was_read_from_replaced_weights_is_read_again(own):
    (before,) = weights_read(own).values()
    replace_weights(own, 1.25)
    done = ask(own, "first", "second")
    assert done.returncode == 0, done.stdout + done.stderr
    after = weights_read(own)
    assert after["first"] == after["second"] != before
    assert set(pd.read_csv(own.folder / RESULTS / "scores.csv")["metric"]) >= {"occtmp_diff"}

    replace_weights(own, 1.25)  # and where Snakemake is told not to look: named, and not joined
    done = ask(own, "first", "second", "third", arguments=("--rerun-triggers", "mtime", "input"))
    assert done.returncode != 0
    line = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()][-1]
    assert "own/model.safetensors: another content of it was read" in line and "readouts/own/pretrained/first" in line
