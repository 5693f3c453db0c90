"""Configurations to plan with: the project's own, and a small one that tests change in one place."""

import copy
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from biasflow.asking.matrix import Block, Model
from biasflow.asking.tasks import Asked
from biasflow.plan.cells import Plan, plan
from biasflow.plan.configuration import load_schema, resolve
from biasflow.plan.facts import Facts
from biasflow.plan.setup import Setup

ROOT = Path(__file__).parents[3]
SCHEMA = load_schema()
RUNS = sorted(path.stem for path in (ROOT / "config").glob("*.yaml") if "\nrun:" in "\n" + path.read_text())
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


@cache
def of_file(name: str) -> Mapping:
    """A run of the project (config/<name>.yaml), resolved; with a folder for an encoder that the command names."""
    return resolve(yaml.safe_load((ROOT / f"config/{name}.yaml").read_text().replace("{encoder}", "somewhere")), SCHEMA)


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


def facts_of(config: Mapping, **architecture) -> Facts:
    """What lies on disk, as if every local encoder were a small BERT with all heads."""
    local = [name for name, encoder in config["encoders"].items() if encoder["source"] == "local"]
    return Facts(dict.fromkeys(local, BERT | architecture))


def planned(config: Mapping, **architecture) -> Plan:
    """The plan of a configuration, resolved or not."""
    resolved = resolve(config, SCHEMA)
    return plan(setup_of(resolved, **architecture))


def asked_of(config: Mapping, encoder: str) -> Asked:
    """A paper that asks for an encoder as it is."""
    setup = setup_of(config)
    block = Block("block", "papers.any", (encoder,), None, *[()] * 5)
    return Asked(config, setup.paths, block, Model(encoder), setup.encoders[encoder])


def setup_of(config: Mapping, **architecture) -> Setup:
    """What a resolved configuration is planned from, as if every local encoder were a small BERT with all heads."""
    return Setup(config, facts_of(config, **architecture))


def asking(block: Mapping, *changes: tuple[str, object]) -> dict:
    """SMALL with one block alone."""
    return changed(("ask", {"block": dict(block)}), *changes)
