"""The configuration: defaults, and one line for whatever is wrong with it, which says what to write."""

import datetime
import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain

import numpy as np
import pytest
import yaml

from biasflow.base.errors import BiasflowError
from biasflow.base.shipped import PACKAGE
from biasflow.plan.configuration import resolve
from biasflow.plan.validation import fault
from biasflow.registry import ERASERS, TASKS
from tests.unit.plan.configs import ASKING, HUB, SCHEMA, SMALL, asking, changed, planned


def test_every_definition_of_the_schema_has_a_name_of_its_own():
    """Those of a kind of task may be referred to anywhere."""
    of_kinds = [definitions(entry.schema) for entry in TASKS.values()]
    names = [*definitions("plan/schema.yaml"), "task", *TASKS, *chain(*of_kinds)]
    assert [name for name, times in Counter(names).items() if times > 1] == []


def definitions(file: str) -> list[str]:
    return list(yaml.safe_load((PACKAGE / file).read_text()).get("$defs", {}))


def test_true_false_and_null_of_the_command_line_are_no_text():
    given = [("replace", "true"), ("deterministic", "false"), ("limit", "null"), ("mirror", "true")]
    config = resolve(changed(*given, config=SMALL), SCHEMA)
    assert [config[key] for key, _ in given] == [True, False, None, "true"]


def test_defaults_are_filled_in_at_every_depth():
    config = resolve(SMALL, SCHEMA)
    assert config["device"] == config["deterministic"] == "auto"
    assert config["encoders"]["own"]["layers"] == 4
    assert config["encoders"]["real"]["optional"] is False
    assert config["tasks"]["bios"]["heads"]["keep"] == "best"
    assert config["metrics"]["strength"]["tops"] == [0.05, 0.1, 0.2, 1.0]
    assert config["ask"]["inside"]["methods"] == ["none"]
    assert "device" not in SMALL and "methods" not in SMALL["ask"]["inside"]


def test_every_eraser_has_a_method_of_its_name_and_each_method_one_that_is_fitted_before_training():
    methods = resolve(changed(("methods.mine", [{"eraser": "leace", "places": "last"}])), SCHEMA)["methods"]
    for name in [*(eraser.replace("_", "-") for eraser in ERASERS), "mine"]:
        (step,), before = methods[name], methods.get(f"{name}-pretrained")
        of_task = name == "splince"  # a task's vectors are those of the model that is edited
        assert (step["fitted_on"], before) == ("model", None if of_task else [step | {"fitted_on": "pretrained"}])
    assert methods["dawkins2024-pretrained"]["fitted_on"] == "pretrained"
    assert methods["none"] == [] and "none-pretrained" not in methods


@pytest.mark.parametrize("name", ["mean-projection", "mean_projection"])
def test_an_eraser_is_written_as_its_method_or_as_in_the_registry(name):
    (step,) = resolve(changed(("methods.mine", [{"eraser": name}])), SCHEMA)["methods"]["mine"]
    assert step["eraser"] == "mean_projection"


def test_each_method_but_a_grid_has_five_random_controls():
    methods = resolve(changed(("methods.mine", [{"eraser": "leace", "places": "last"}])), SCHEMA)["methods"]
    draws = [methods[f"mine-random{seed}"] for seed in range(5)]
    assert draws == [[methods["mine"][0] | {"control": seed}] for seed in range(5)]
    assert methods["mine-random-matched4"] == [methods["mine"][0] | {"control": 4, "matched": True}]
    unwanted = (
        "mine-random5",
        "mine-random-matched5",
        "mine-random-matched0-random0",
        "none-random0",
        "dawkins2024-random0",
        "mine-pretrained-random0",
        "mine-random0-random0",
    )
    assert not set(unwanted) & set(methods)


def test_an_encoder_of_the_hub_takes_the_place_of_a_folder():
    encoder = resolve(changed(ASKING, ("hub", HUB)), SCHEMA)["encoders"]["real"]
    pinned = {"source": "hub", "id": "google-bert/bert-base-uncased", "revision": "0123456789" * 4}
    assert encoder == pinned | {"masked_lm": True, "next_sentence": True}


def test_several_encoders_take_the_place_of_one_with_names_of_their_folders(tmp_path):
    folders = [str(tmp_path / name) for name in ("a/model", "b/model", "v1.5 (old)")]
    config = resolve(changed(ASKING, ("encoder", folders), ("hub", [HUB])), SCHEMA)
    names = ["model", "b-model", "v1.5-old", HUB.partition("@")[0].rpartition("/")[2]]
    assert [name for name in config["encoders"] if name in names] == names and "real" not in config["encoders"]
    assert [config["encoders"][name]["path"] for name in names[:3]] == folders
    block = {"encoders": ["own", "real"], "metrics": ["weat"]}
    asked = resolve(asking(block, ASKING, ("encoder", folders)), SCHEMA)["ask"]["block"]["encoders"]
    assert asked == ["own", *names[:3]]


def parts_of(schema: object, path: str = "") -> Iterator[tuple[str, dict]]:
    """Every schema within a schema, with its path."""
    if isinstance(schema, list):
        for below in schema:
            yield from parts_of(below, path)
    elif isinstance(schema, dict):
        yield path, schema
        for name, below in schema.items():
            yield from parts_of(below, f"{path}.{name}")


def test_no_key_that_is_not_known_is_let_through():
    whole = {path for path, part in parts_of(SCHEMA) if part.get("type") == "object" and "allOf" not in part}
    found = {path: part for path, part in parts_of(SCHEMA) if path in whole and "properties" in part}
    assert len(found) > 20
    assert [path for path, part in found.items() if "additionalProperties" not in part] == []


def test_a_number_is_finite_no_text_and_no_truth_value_and_a_seed_is_one_of_numpys():
    parts = {
        path: part for path, part in parts_of(SCHEMA) if {"integer", "number"} & {*np.atleast_1d(part.get("type"))}
    }
    numbers = {path: part for path, part in parts.items() if "string" not in part["type"]}  # values of a cell are both
    assert len(numbers) > 100
    infinite = (math.nan, math.inf, -math.inf)
    wrong = dict.fromkeys(parts, infinite) | dict.fromkeys(numbers, (*infinite, "1", True))
    assert [(path, value) for path, values in wrong.items() for value in values if not fault(value, parts[path])] == []
    assert [path for path, part in numbers.items() if part.get("type") == "integer" and not fault(100.0, part)] == []
    seed, seeds = SCHEMA["$defs"]["seed"], SCHEMA["$defs"]["seeds"] | {"items": SCHEMA["$defs"]["seed"]}
    assert None not in (fault(-1, seed), fault(2**32, seed), fault([], seeds), fault([0, 0], seeds), fault(0, seeds))
    named = {path: part for path, part in parts_of(SCHEMA) if path.endswith((".seed", "_seed"))}
    others = [path for path, part in named.items() if part.get("$ref") != "#/$defs/seed" and part is not seed]
    assert len(named) > 8 and others == []


TEXT = {"encoders": ["real"], "methods": ["none", "leace"]}


@pytest.mark.parametrize(
    ("part", "block"),
    [
        ("fitting", TEXT | {"metrics": ["strength"]}),
        ("fitting", TEXT | {"task": "bios", "strategies": ["with-leace"], "metrics": ["training"]}),
        ("fitting", TEXT | {"methods": ["none"], "metrics": ["gender_share"]}),
        ("metrics.perplexity", TEXT | {"metrics": ["perplexity"]}),
        ("metrics.perplexity", TEXT | {"metrics": ["pseudo_perplexity"]}),
        ("metrics.ceat", TEXT | {"metrics": ["ceat"]}),
    ],
)
def test_the_embedded_text_is_refused_for_an_encoder_that_was_not_trained_on_it(part, block):
    config = asking(block, (f"{part}.text", "planted"))
    with pytest.raises(BiasflowError, match=rf"'{part}\.text': planted.*encoder real"):
        planned(config)
    for other in (block | {"encoders": ["own"]}, TEXT | {"methods": ["none"], "metrics": ["strength"]}):
        assert planned(asking(other, (f"{part}.text", "planted"))).scored


SHORT_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "ask": {"type": "object"},
        "run": {"type": "string"},
        "limit": {"type": ["integer", "null"], "minimum": 50},
        "metrics": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 1},
        "rate": {"type": "number"},
        "n": {"type": "integer", "maximum": 9},
    },
}
SOURCED = {"type": "object", "additionalProperties": False, "properties": {"source": {}, "id": {}}}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("ask", None, "it is empty; write keys with values, or leave the key out"),
        ("metrics", "weat", "'weat' is no list; write [weat]"),
        ("metrics", ["weat", "seat", "weat"], "'weat' appears twice; leave one"),
        ("metrics", [], "there are 0 values; name at least 1"),
        ("limit", "many", "'many' is not a whole number; write a whole number, or leave the key out"),
        ("limit", 10, "10 is too small; write 50 or more"),
        ("n", 10, "10 is too large; write 9 or less"),
        ("n", "7", "'7' is not a whole number; write a whole number; it is text: write 7 without quotes, in a file"),
        ("run", datetime.date(2024, 11, 1), "2024-11-01 is no text; put it in quotes"),
        ("run", 3, "3 is no text; put it in quotes, or on the command line give it a letter"),
        ("rate", "1e-5", "it is text: write 1.0e-05 without quotes"),
    ],
)
def test_a_wrong_value(key, value, said):
    message = fault({key: value}, SHORT_SCHEMA)
    assert message.startswith(f"key '{key}': ") and said in message


def test_a_key_of_another_source_names_the_source():
    message = fault({"source": "hub", "id": "x", "path": "y"}, SOURCED, key="encoders.mine")
    assert message.startswith("unknown key 'encoders.mine.path' beside source: hub (if an earlier --configfile sets it")
    assert message.endswith("known: id, source")


def test_of_several_faults_an_unknown_key_is_told():
    assert fault({"rate": "much", "limits": 3}, SHORT_SCHEMA).startswith("unknown key 'limits'")
