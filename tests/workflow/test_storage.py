"""Results in a storage of Snakemake's: a job reads and writes where its rule says, not where a script thinks."""

import os
import shutil

import pytest

from tests.workflow.conftest import TINY
from tests.workflow.test_documented import save_encoder

# What the storage plugin `fs` calls, for machines without it: its three options, a source and a target.
RSYNC = """#!/bin/sh
shift 3
exec cp --recursive --dereference --preserve=timestamps --no-target-directory "$1" "$2"
"""


@pytest.fixture(autouse=True)
def rsync(tmp_path, monkeypatch):
    if shutil.which("rsync") is None:
        path = tmp_path / "bin" / "rsync"
        path.parent.mkdir()
        path.write_text(RSYNC)
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(path.parent), prepend=os.pathsep)


def options(store) -> list[str]:
    """Of a run whose results lie in a folder elsewhere, and whose jobs share no folder."""
    storage = ["--default-storage-provider", "fs", "--default-storage-prefix", str(store)]
    return [*storage, "--shared-fs-usage", "none"]


def test_encoders_are_trained_read_and_scored_in_a_storage(project, tmp_path):
    """A whole run: an encoder that is trained there, another one of the user's, and a model that is fine-tuned there
    with a method active. The scores are those of a run without a storage."""
    save_encoder(project.folder / "my encoder")
    ask = {
        "inside": {"encoders": ["tiny-bert", "mine"], "methods": ["none", "paired"], "metrics": ["weat"]},
        "after": {"encoders": ["mine"], "task": "nli", "strategies": ["with-paired"], "metrics": ["accuracy"]},
    }
    config = {
        **{key: TINY[key] for key in ("run", "device")},
        "encoders": {"tiny-bert": TINY["encoders"]["tiny-bert"], "mine": {"source": "local", "path": "my encoder"}},
        "tasks": {"nli": TINY["tasks"]["nli"]},
        "methods": {"paired": [{"eraser": "densray", "places": "last", "fitted_to": "pairs"}]},
        "metrics": {"weat": {"tests": ["planted"]}},
    }
    project.configure({**config, "ask": ask})
    target = "results/tiny/scores.csv"
    told = project.succeeds(*options(tmp_path / "store")).stderr
    summary = (tmp_path / "store/results/tiny/summary.txt").read_text()
    assert summary.rstrip().endswith("overview: results/tiny/index.html") and summary.rstrip() in told
    stored = (tmp_path / "store" / target).read_bytes()
    assert (tmp_path / "store" / "results/tiny/index.html").is_file()
    assert not (project.folder / "results/tiny/encoders").exists() and not (project.folder / target).exists()
    assert (project.folder / "results/tiny/provenance/plan.csv.json").is_file()  # records stay here
    again = project.snakemake("-n", "results/tiny/plan.csv", *options(tmp_path / "store"))
    assert "Nothing to be done" in again.stdout + again.stderr
    assert project.snakemake(target).returncode == 0
    assert (project.folder / target).read_bytes() == stored
