"""Configurations to plan with: the project's own, and a small one that tests change in one place."""

import copy
import json
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import yaml
from safetensors.numpy import save_file
from snakemake.utils import update_config

from biasflow.corpora.catalogue import read_catalogue
from biasflow.encoders.described import Description
from biasflow.encoders.families import HEADS, head_weights
from biasflow.encoders.places import SENTENCE
from biasflow.matrix import Block, Model
from biasflow.plan.cells import Plan, plan
from biasflow.plan.compiled import compiled
from biasflow.plan.configuration import load_schema, resolve
from biasflow.plan.jobs import Job, Jobs
from biasflow.plan.setup import Facts, Setup
from biasflow.registry import METRICS, PAPERS
from biasflow.tasks.kinds import Asked

ROOT = Path(__file__).parents[3]
SCHEMA, CATALOGUE = load_schema(), read_catalogue()
RUNS = sorted(path.stem for path in (ROOT / "config").glob("*.yaml") if "\nrun:" in "\n" + path.read_text())
ASKING = ("encoders.real.path", "{encoder}")  # the folder is named on the command line
HUB = f"google-bert/bert-base-uncased@{'0123456789' * 4}"
CLASSIFIER = {f"{name}.weight": np.ones((2, 2), np.float32) for name in ("bert.pooler.dense", "classifier")}
SETS = ["role,set_name,word", *(f"{role},{role.lower()},{role}{number}" for role in "XYAB" for number in (1, 2))]
BERT = {"model_type": "bert", "architectures": ["BertForPreTraining"], "num_hidden_layers": 4, "hidden_size": 256}
SMALL = {
    "run": "test",
    "encoders": {"own": {"source": "pretrain", "corpus": "planted"}, "real": {"source": "local", "path": "somewhere"}},
    "tasks": {
        "nli": {
            "kind": "nli",
            "selection": "few",
            "selections": {"few": {"masculine": ["man"], "feminine": ["woman"]}},
        },
        "cola": {"kind": "glue", "data": "planted-nli"},
        "bios": {"kind": "occupation"},
        "coref": {"kind": "coreference"},
    },
    "ask": {"inside": {"encoders": ["own"], "metrics": ["strength"]}},
}


def changed(*changes: tuple[str, object], config: Mapping = SMALL) -> dict:
    """A copy of the configuration with other values: path of keys with dots between, and value."""
    found = copy.deepcopy(dict(config))
    for path, value in changes:
        place = found
        *above, last = path.split(".")
        for key in above:
            place = place.setdefault(key, {})
        place[last] = value
    return found


_EVERYTHING = {
    "inside": {
        "encoders": ["own", "real"],
        "methods": ["none", "leace", "densray-each", "dawkins2024"],
        "metrics": list(METRICS),
    },
    **{
        f"of-{task}": {
            "encoders": ["own", "real"],
            "task": task,
            "trainings": ["finetuned", "pretrained", "random"],
            "strategies": strategies,
            "seeds": [0, 1],
            "methods": ["none", "leace", "dawkins2024"],
            "metrics": list(METRICS),
        }
        for task, strategies in (
            ("nli", ["plain", "with-leace"]),
            ("cola", ["plain"]),
            ("bios", ["plain", "scrubbing", "with-leace"]),
            ("coref", ["plain", "anon+ca", "with-leace"]),
        )
    },
    "of-yours": {
        "encoders": ["real"],
        "task": "yours",
        "strategies": ["given"],
        "methods": ["none", "leace"],
        "metrics": list(METRICS),
    },
}
_YOURS = {
    "kind": "classification",
    "data": {"files": [str(ROOT / "docs/words/race.csv")]},
    "columns": {"group": "gender"},
}
_ALL = changed(
    ("ask", _EVERYTHING),
    ("tasks.yours", _YOURS),
    *((f"papers.{paper}.encoders", ["own", "real"]) for paper in list(PAPERS)[:3]),
)
EVERYTHING = "everything"  # the name of that configuration beside those of the project's runs


@cache
def of_file(*names: str) -> Mapping:
    """A run of the project (config/<name>.yaml, several merged as Snakemake does) or EVERYTHING, resolved; with a
    folder for an encoder that the command names."""
    if names == (EVERYTHING,):
        return resolve(_ALL, SCHEMA)
    config: dict = {}
    for name in names:
        file = (ROOT / f"config/{name}.yaml").read_text().replace("{encoder}", "somewhere")
        update_config(config, yaml.safe_load(file))
    return resolve(config, SCHEMA)


@cache
def plan_of(name: str) -> Plan:
    """The plan of one run of the project, or of EVERYTHING."""
    return planned(of_file(name))


def facts_of(config: Mapping, heads: Collection[str] = HEADS, **architecture) -> Facts:
    """What lies on disk, as if every local encoder were a small BERT with these heads."""
    folders = {name: Path(about["path"]) for name, about in config["encoders"].items() if about["source"] == "local"}
    lacking = {head: "the weights lack it" for head in HEADS if head not in heads}
    sentence = "mean pooling" * (config["metrics"]["seat"]["pooling"] == SENTENCE)  # as such a run needs them
    about = {"lacking": lacking, "sentence": sentence}
    return Facts({name: Description(BERT | architecture, folder=path, **about) for name, path in folders.items()})


def folder_of(path: Path, *heads: str, tokenizer: Mapping = {}, weights: Mapping = {}, **about) -> str:
    """The folder of an encoder, a small BERT or what `about` says, as far as a plan looks into it: weights of the heads
    are there by their names."""
    path.mkdir(exist_ok=True)
    about = BERT | {"architectures": ["AnyForMaskedLM"]} | about  # what it says of heads counts for nothing
    (path / "config.json").write_text(json.dumps(about))
    (path / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    (path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    names = [same[0] for head in heads for same in head_weights(head, about)]
    save_file({name: np.ones(1, np.float32) for name in names} | weights, path / "model.safetensors")
    return str(path)


def planned(config: Mapping, heads: Collection[str] = HEADS, **architecture) -> Plan:
    """The plan of a configuration, resolved or not."""
    resolved = resolve(config, SCHEMA)
    return plan(setup_of(resolved, heads, **architecture))


def asked_of(config: Mapping, encoder: str) -> Asked:
    """A paper that asks for an encoder as it is."""
    setup = setup_of(config)
    block = Block("block", "papers.any", (encoder,), None, *[()] * 5)
    return Asked(config, setup.paths, block, Model(encoder), setup.encoders[encoder])


def setup_of(config: Mapping, heads: Collection[str] = HEADS, **architecture) -> Setup:
    """What a resolved configuration is planned from, as if every local encoder were a small BERT with these heads."""
    return Setup(config, facts_of(config, heads, **architecture))


def asking(block: Mapping, *changes: tuple[str, object]) -> dict:
    """SMALL with one block alone."""
    return changed(("ask", {"block": dict(block)}), *changes)


def jobs_of(setup: Setup) -> Jobs:
    """The jobs of what is planned from a setup."""
    return compiled(setup, plan(setup), CATALOGUE)


def digest_of(job: Job) -> str:
    """All that makes a job run again: inputs, parameters, modules."""
    return json.dumps([job.inputs, job.params, list(job.modules)], default=list)
