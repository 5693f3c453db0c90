"""What runs when more is asked of a finished run: what is new, and nothing that was trained, fitted or read before."""

import copy
import json

import pytest

from tests.workflow.conftest import REPLACE, TINY, Project

ENCODER = TINY["encoders"]["tiny-bert"] | {"documents": 100, "vocab_size": 500}
CONFIG = {
    "run": "own",
    "device": "cpu",
    "encoders": {"tiny": ENCODER},
    "fitting": {"n": 60},
    "tasks": {
        "bios": {
            "kind": "occupation",
            "data": {"files": ["own.jsonl"], "professions": [], "least": 20, "small": "drop"},
            "finetuning": {"epochs": 1, "batch_size": 16, "learning_rate": 5.0e-3, "max_length": 16},
            "heads": {"seeds": [0], "epochs": 1},
        }
    },
    "metrics": {"strength": {"triples": 10}, "occtmp": {"sets": ["planted"]}},
    "ask": {
        "inside": {"encoders": ["tiny"], "methods": ["none", "leace"], "metrics": ["occtmp"]},
        "bios": {"encoders": ["tiny"], "task": "bios", "methods": ["none", "leace"], "metrics": ["fairness"]},
    },
}
COUNTS = {"nurse": (40, 24), "poet": (30, 30), "dj": (3, 40)}


def asking(**changes: object) -> dict:
    """CONFIG with other values: name of a block -> what is changed in it, or the block."""
    config = copy.deepcopy(CONFIG)
    for block, keys in changes.items():
        config["ask"][block] = config["ask"].get(block, {}) | keys
    return config


@pytest.fixture
def done(project) -> Project:
    """The project with the finished run."""
    rows = [
        {"text": f"{who} works as a {name}, number {number}.", "profession": name, "gender": gender}
        for name, both in COUNTS.items()
        for gender, who, n in zip("FM", ("She", "He"), both, strict=True)
        for number in range(n)
    ]
    (project.folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    project.configure(CONFIG)
    finished = project.snakemake()
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return project


DEAR = ("models/**/*", "methods/**/*", "readouts/**/*", "scores/**/*", "data/bios/biographies.parquet")


def digests(project: Project) -> dict[str, tuple[int, bytes]]:
    """When each of the dear results was written, and what is in it."""
    results = project.folder / "results/own"
    files = [file for pattern in DEAR for file in sorted(results.glob(pattern)) if file.is_file()]
    assert files
    return {str(file.relative_to(results)): (file.stat().st_mtime_ns, file.read_bytes()) for file in files}


def test_a_seed_a_method_and_a_metric_are_added_and_nothing_is_touched(done):
    done.configure(CONFIG)
    before = digests(done)
    scores = (done.folder / "results/own/scores.csv").read_text().splitlines()
    more = {
        "bios": {"seeds": [0, 1], "methods": ["densray", "none", "leace"]},
        "inside": {"metrics": ["strength", "occtmp"]},
    }
    done.configure(asking(**more))
    finished = done.snakemake()
    assert finished.returncode == 0, finished.stdout + finished.stderr
    after = digests(done)
    assert {name: after[name] for name in before} == before
    assert set(scores) < set((done.folder / "results/own/scores.csv").read_text().splitlines())
    assert done.jobs() == {}
    plan = (done.folder / "results/own/plan.csv").read_text()
    assert "densray" in plan and "+1" not in plan
    done.configure(CONFIG)  # asked for less: what was asked for first is still as it was
    assert not {"finetune_occupation", "fit_methods", "read_together"} & set(done.jobs(*REPLACE))
