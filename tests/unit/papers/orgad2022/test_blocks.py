"""The blocks that the paper asks for."""

import pytest

from scripts.biasflow.papers.orgad2022.blocks import blocks
from scripts.biasflow.registry import METRICS

OPTIONS = {"encoders": ["a", "b"], "task": "bios", "strategies": ["plain", "scrubbing"], "seeds": [0, 1]}


def test_fine_tuned_pretrained_and_random_encoders():
    found = blocks(OPTIONS, {})
    tuned, pretrained, random = found.values()
    assert [*found] == ["orgad2022-finetuned", "orgad2022-pretrained", "orgad2022-random"]
    assert tuned == OPTIONS | {"methods": ["none"], "metrics": ["fairness", "compression", "ceat", "training"]}
    assert pretrained["trainings"] == ["pretrained"] and "fairness" in pretrained["metrics"]
    assert random["trainings"] == ["random"] and random["seeds"] == [0, 1] and "strategies" not in random
    for block in found.values():
        assert block["encoders"] == ["a", "b"] and block["task"] == "bios" and set(block["metrics"]) <= set(METRICS)


@pytest.mark.parametrize(("seeds", "expected"), [(None, [0, 1]), ([3], [3]), ([], None)])
def test_random_encoders_have_seeds_of_their_own_or_none(seeds, expected):
    random = blocks(OPTIONS | {"random_encoders": seeds}, {}).get("orgad2022-random")
    assert (random and random["seeds"]) == expected


def test_methods_are_those_asked_for():
    found = blocks(OPTIONS | {"methods": ["none", "leace"]}, {})
    assert found["orgad2022-finetuned"]["methods"] == ["none", "leace"]
    assert all("methods" not in block for name, block in found.items() if name != "orgad2022-finetuned")


def test_without_encoders_there_are_no_blocks():
    assert blocks(OPTIONS | {"encoders": []}, {}) == {}
