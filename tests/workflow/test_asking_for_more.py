"""Own labelled texts of people by YAML alone, and what runs when more is asked of a finished run: what is new, and
nothing that was trained, fitted or read before."""

import copy
import json

import pytest

from biasflow.base.tabular import read_parquet
from biasflow.results.scores import read_scores
from biasflow.tasks.classification.splits import held_out
from tests.workflow.conftest import REPLACE, TINY, Project

ENCODER = TINY["encoders"]["tiny-bert"] | {"documents": 100, "vocab_size": 500}
CONFIG = {
    "run": "own",
    "device": "cpu",
    "encoders": {"tiny": ENCODER},
    "fitting": {"n": 60},
    "tasks": {
        "toxicity": {
            "kind": "classification",
            "data": {"files": ["own.csv"], "small": "drop"},
            "columns": {"text": "comment", "label": "toxic", "group": "author"},
            "finetuning": {"epochs": 1, "batch_size": 16, "learning_rate": 5.0e-3, "max_length": 16},
            "heads": {"seeds": [0], "epochs": 1},
        }
    },
    "metrics": {
        "strength": {"triples": 10},
        "occtmp": {"sets": ["planted"]},
        "compression": {"seeds": [0], "epochs": 2, "data": ["paper"]},
    },
    "ask": {
        "inside": {"encoders": ["tiny"], "methods": ["none", "leace"], "metrics": ["occtmp"]},
        "comments": {
            "encoders": ["tiny"],
            "task": "toxicity",
            "strategies": ["plain", "oversampling"],
            "methods": ["none", "leace"],
            "metrics": ["fairness", "compression"],
        },
    },
}
COUNTS = {"toxic": (60, 90), "fine": (140, 107), "unclear": (1, 2)}  # women and men


def asking(**changes: object) -> dict:
    """CONFIG with other values: name of a block -> what is changed in it, or the block."""
    config = copy.deepcopy(CONFIG)
    for block, keys in changes.items():
        config["ask"][block] = config["ask"].get(block, {}) | keys
    return config


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Project:
    """The project with the finished run, of which the last test asks for more."""
    project = Project(tmp_path_factory.mktemp("own") / "biasflow")
    rows = [
        f'"{who} said something {label}, number {number}.",{label},{gender}'
        for label, both in COUNTS.items()
        for gender, who, n in zip("FM", ("She", "He"), both, strict=True)
        for number in range(n)
    ]
    (project.folder / "own.csv").write_text("\n".join(["comment,toxic,author", *rows]) + "\n")
    project.configure(CONFIG)
    finished = project.snakemake()
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return project


DEAR = ("models/**/*", "methods/**/*", "readouts/**/*", "scores/**/*", "data/toxicity/texts.parquet")


def digests(project: Project) -> dict[str, tuple[int, bytes]]:
    """When each of the dear results was written, and what is in it."""
    results = project.folder / "results/own"
    files = [file for pattern in DEAR for file in sorted(results.glob(pattern)) if file.is_file()]
    assert files
    return {str(file.relative_to(results)): (file.stat().st_mtime_ns, file.read_bytes()) for file in files}


def test_own_texts_have_gaps_compression_strategies_and_a_page(done):
    results = done.folder / "results/own"
    scores = read_scores(results / "scores.csv")
    texts = read_parquet(results / "data/toxicity/texts.parquet")
    assert len(texts) == 397 and set(texts["label"]) == {"toxic", "fine"}
    own = scores[(scores["task"] == "toxicity") & (scores["head"] == "own")].set_index(["strategy", "method", "metric"])
    assert set(own.index.droplevel("metric")) == {
        (strategy, method) for strategy in ("plain", "oversampling") for method in ("none", "leace")
    }
    people = texts.iloc[held_out(texts, 0)].value_counts(["label", "gender"])
    assert people["toxic", "F"] == people["toxic", "M"] and people["fine", "F"] == people["fine", "M"]
    assert set(own.xs("test_size", level="metric")["value"]) == {people.sum()}
    assert own.xs("tpr_gap_sum", level="metric")["value"].between(0, 2).all()
    coded = scores[(scores["metric"] == "compression") & (scores["task"] == "toxicity")]
    assert set(coded["strategy"]) == {"plain", "oversampling"} and (coded["value"] > 0).all()
    rows = {
        name: json.loads((results / f"models/tiny/toxicity/{name}/seed0.training.json").read_text())["train"]
        for name in ("plain", "oversampling")
    }
    assert rows["oversampling"] > rows["plain"] == 257
    page = (results / "index.html").read_text()
    assert "1 of 3 labels dropped (fewer than 20 of a gender): unclear (1 women, 2 men)" in page and "TPR gap" in page


def test_a_seed_a_method_and_a_metric_are_added_and_nothing_is_touched(done):
    before = digests(done)
    scores = (done.folder / "results/own/scores.csv").read_text().splitlines()
    more = {
        "comments": {"seeds": [0, 1], "methods": ["densray", "none", "leace"]},
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
    assert not {"finetune_classification", "fit_methods", "read_together"} & set(done.jobs(*REPLACE))
