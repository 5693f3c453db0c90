"""What the documentation shows to add works."""

import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from transformers import BertConfig, BertForPreTraining

from biasflow.corpora.conll import read_predictions
from biasflow.planted.corpus import discourses
from biasflow.results.scores import read_scores
from tests.unit.conftest import save_random
from tests.unit.fake_tokenizer import word_tokenizer
from tests.workflow.conftest import ROOT, Project


@pytest.fixture
def with_new_task(tmp_path) -> Project:
    """A copy of the project with the kind of task that docs/extending/task.md shows, and nothing else changed."""
    project = Project(tmp_path / "biasflow")
    text = (ROOT / "docs/extending/task.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"```\w+\n# (scripts/\S+)\n(.*?)```", text, re.DOTALL))
    for name, content in files.items():
        (project.folder / name).parent.mkdir(exist_ok=True)
        (project.folder / name).write_text(content, encoding="utf-8")
        (project.folder / name).with_name("__init__.py").touch()
    (line,) = re.findall(r'^("\w+": Task\(.*\),)$', text, re.MULTILINE)
    registry = project.folder / "scripts/biasflow/registry.py"
    registry.write_text(registry.read_text(encoding="utf-8").replace("\nTASKS = {\n", f"\nTASKS = {{\n    {line}\n"))
    save_encoder(project.folder / "mine")
    return project


def save_encoder(folder: Path) -> None:
    """A BERT of two layers that was never trained, and that knows the words of the embedded corpus."""
    documents = discourses(bias=0.0, seed=0, n=300)
    text = " ".join(sentence.lower() for document in documents for sentence in document)
    words = sorted(set(re.findall(r"\w+|[^\w\s]", text)))
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = BertConfig(**sizes, vocab_size=len(words) + 5, initializer_range=0.2)
    save_random(folder, lambda: BertForPreTraining(config), word_tokenizer(words))


def test_the_task_that_is_shown_is_planned_prepared_trained_read_and_scored(with_new_task):
    project = with_new_task
    recipe = {"steps": 800, "encoder_rate": 1.0e-3, "head_rate": 3.0e-3}
    block = {"encoders": ["mine"], "task": "in-order", "metrics": ["accuracy", "training"]}
    project.configure(
        {
            "run": "new",
            "device": "cpu",
            "encoders": {"mine": {"source": "local", "path": "mine"}},
            "tasks": {"in-order": {"kind": "order", "finetuning": recipe}},
            "ask": {"order": block},
        }
    )
    assert project.jobs().items() >= {"order_data": 1, "finetune_order": 1, "read_together": 1}.items()
    project.succeeds()
    scores = read_scores(project.folder / "results/new/scores.csv").set_index("metric")["value"]
    assert scores["train_size"] == 800 and scores["accuracy"] > 0.65
    assert pd.read_csv(project.folder / "results/new/plan.csv")["reason"].isna().all()


@pytest.fixture
def theirs(project) -> Project:
    """A copy of the project with the files of docs/howto/own_data.md that measure a coreference system."""
    page = (ROOT / "docs/howto/own_data.md").read_text(encoding="utf-8").split("### A coreference system")[1]
    (clusters,) = re.findall(r"```\n(#begin.*?)```", page, re.DOTALL)
    ((name, config),) = re.findall(r"```yaml\n# (\S+)\n(.*?)```", page, re.DOTALL)
    (command,) = re.findall(r"`snakemake --cores 2 --configfile (\S+)`", page)
    assert command == name == "theirs.yaml"
    (project.folder / "theirs.yaml").write_text(config)
    (project.folder / "theirs.conll").write_text(clusters)
    return project


def test_somebodys_clusters_are_written_and_planned_as_shown(theirs):
    (document,) = read_predictions(theirs.folder / "theirs.conll")
    assert document.clusters == (((0, 1), (6, 6)), ((3, 4),))
    jobs = theirs.jobs(config="theirs.yaml")
    assert jobs.items() >= {"download": 8, "coreference_pairs": 1, "external_clusters_theirs": 1, "score": 1}.items()
    assert [name for name in jobs if name.startswith(("pretrain", "finetune", "fit_", "read_", "heads_"))] == []


def test_somebodys_clusters_are_read_and_scored(theirs):
    """Of embedded pairs, which are here; the gold clusters are the predictions, and none of the test documents."""
    few = {"train": 2, "validation": 1, "test": 1, "pairs": 8}
    shown = yaml.safe_load((theirs.folder / "theirs.yaml").read_text())
    ask = {"theirs": shown["ask"]["theirs"] | {"metrics": ["winobias", "coreference"]}}
    theirs.configure(shown | {"tasks": {"winobias": {"kind": "coreference", "planted": few}}, "ask": ask})
    data = theirs.folder / "results/theirs/data/winobias"
    theirs.succeeds("results/theirs/data/winobias/pro.conll")
    (theirs.folder / "theirs.conll").write_text(
        "".join((data / f"{side}.conll").read_text() for side in ("pro", "anti"))
    )
    theirs.succeeds("results/theirs/scores.csv")
    scores = read_scores(theirs.folder / "results/theirs/scores.csv")
    scores = scores.set_index(["metric", "part", "variant"])["value"].sort_index()
    assert (scores["f1_difference"] == 0).all() and (scores["conll_f1"] == 1).all()
    assert (scores["pronoun_accuracy", "right"] == 1).all() and (scores["pronoun_accuracy", "none"] == 0).all()
    assert scores["accuracy", "-", "tokens"] == 1 and scores["tpr_gap_sum", "-", "tokens"] == 0
    (reason,) = pd.read_csv(theirs.folder / "results/theirs/reasons.csv").to_dict("records")
    assert reason["metric"] == "coreference" and "test" in reason["reason"]
