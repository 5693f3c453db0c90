"""The configuration: defaults, and one line for whatever is wrong with it."""

import copy
from pathlib import Path

import pytest
import yaml

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.plan.configuration import load_schema, resolve

ROOT = Path(__file__).parents[3]
SCHEMA = load_schema(ROOT / "config/schema/config.schema.yaml")
SMALLEST = {
    "run": "test",
    "encoders": {"own": {"source": "pretrain", "corpus": "planted"}},
    "projective": {"encoders": ["own"], "stimuli": ["planted"]},
}


def changed(path: str, value) -> dict:
    config = copy.deepcopy(SMALLEST)
    place = config
    *above, last = path.split(".")
    for key in above:
        place = place.setdefault(key, {})
    place[last] = value
    return config


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.name)
def test_every_run_of_the_project_follows_the_schema(path):
    content = yaml.safe_load(path.read_text())
    if "run" in content:
        assert resolve(content, SCHEMA)["run"] == content["run"]
    else:
        assert path.name in ("corpora.yaml", "sentence_pairs.yaml")


def test_defaults_are_filled_in_at_every_depth():
    config = resolve(SMALLEST, SCHEMA)
    assert config["device"] == "auto"
    assert config["projective"]["tops"] == [0.05, 0.1, 0.2, 1.0]
    assert config["encoders"]["own"]["layers"] == 4
    assert "device" not in SMALLEST


def test_resolving_twice_changes_nothing():
    once = resolve(SMALLEST, SCHEMA)
    assert resolve(once, SCHEMA) == once


def test_every_key_is_described():
    def keys(schema, path=""):
        for name, below in schema.get("properties", {}).items():
            assert "description" in below or name in ("source", "next_sentence"), f"{path}.{name}"
            keys(below, f"{path}.{name}")

    keys(SCHEMA)
    for name, definition in SCHEMA["$defs"].items():
        keys(definition, name)


@pytest.mark.parametrize(
    ("config", "named"),
    [
        (changed("runn", "x"), "'runn'.*'run'"),
        (changed("projective.top", [0.1]), "projective.top'.*'tops'"),
        (changed("encoders.own.stepz", 3), "encoders.own.stepz'.*'steps'"),
        (changed("encoders.own.steps", "3"), "encoders.own.steps"),
        (changed("encoders.own.learning_rate", "1e-5"), "encoders.own.learning_rate"),
        (changed("encoders.own.source", "disk"), "encoders.own.source"),
        (changed("encoders.own", {"source": "hub", "id": "x"}), "encoders.own.revision"),
        (changed("encoders.own", {"source": "local"}), "encoders.own.path"),
        (changed("encoders.own.heads", 5), "encoders.own.heads"),
        (changed("projective.encoders", ["other"]), "projective.encoders.0.*other.*own"),
        (changed("projective.stimuli", ["stereoset"]), "projective.stimuli.0"),
        (changed("projective.tops", [0.2]), "projective.tops"),
        (changed("run", "Has Spaces"), "run"),
        (changed("device", "gpu"), "device"),
        (changed("internal.data", {"files": ["x.csv"], "min": 4}), "internal.data.min"),
        (changed("internal.data", {"file": "x.csv"}), "internal.data.file'.*'files'"),
        (changed("internal.data", {"files": ["x.csv"], "least": 1}), "internal.data.least"),
        (changed("internal.data", "plantd"), "internal.data"),
        (changed("internal.labour", "shares.csv"), "internal.labour"),
        (changed("internal.probe.fractions", [2, 50]), "internal.probe.fractions"),
        (changed("internal.probe.fractions", [50, 2, 100]), "internal.probe.fractions"),
        ({key: SMALLEST[key] for key in ("run", "projective")}, "projective.encoders.0"),
        ({key: SMALLEST[key] for key in ("run", "encoders")}, "projective.encoders"),
        ({key: SMALLEST[key] for key in ("encoders", "projective")}, "run"),
    ],
)
def test_one_line_that_names_the_key(config, named):
    with pytest.raises(BiasflowError, match=named) as caught:
        resolve(config, SCHEMA)
    assert "\n" not in str(caught.value)
