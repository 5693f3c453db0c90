"""The blocks that the paper asks for."""

from biasflow.papers.orgad2022.blocks import blocks
from biasflow.registry import METRICS

OPTIONS = {"encoders": ["a", "b"], "task": "bios", "strategies": ["plain", "scrubbing"], "seeds": [0, 1]}

PARTS = ["finetuned", "pretrained", "random"]


def test_fine_tuned_pretrained_and_random_encoders():
    found = blocks(OPTIONS, {})
    tuned, pretrained, random = found.values()
    assert [*found] == ["orgad2022-finetuned", "orgad2022-pretrained", "orgad2022-random"]
    assert tuned == OPTIONS | {"methods": ["none"], "metrics": ["fairness", "compression", "ceat", "training"]}
    assert pretrained["trainings"] == ["pretrained"] and "fairness" in pretrained["metrics"]
    assert random["trainings"] == ["random"] and random["seeds"] == [0, 1] and "strategies" not in random
    for block in found.values():
        assert block["encoders"] == ["a", "b"] and block["task"] == "bios" and set(block["metrics"]) <= set(METRICS)


def test_a_task_of_coreference_has_blocks_like_those_of_occupations_but_for_heads_on_frozen_encoders():
    asked = OPTIONS | {"coreference": "coref", "coreference_strategies": ["plain", "ca"], "random_encoders": [1]}
    found = blocks(asked, {})
    assert [*found] == [*blocks(OPTIONS, {}), *(f"orgad2022-coreference-{each}" for each in PARTS)]
    tuned, pretrained, random = (found[f"orgad2022-coreference-{each}"] for each in PARTS)
    assert tuned["task"] == "coref" and tuned["strategies"] == ["plain", "ca"] and tuned["seeds"] == [0, 1]
    assert tuned["metrics"] == ["coreference", "winobias", "compression", "ceat", "training"]
    assert pretrained["trainings"] == ["pretrained"] and random["seeds"] == [1]
    assert pretrained["metrics"] == random["metrics"] == ["compression", "ceat"]
    assert {metric for block in found.values() for metric in block["metrics"]} <= set(METRICS)
    fewer = blocks(asked | {"coreference_encoders": ["b"]}, {})
    assert {name: block["encoders"] for name, block in fewer.items()} == {
        name: ["b"] if "coreference" in name else ["a", "b"] for name in fewer
    }
    assert blocks(asked | {"coreference": None}, {}).keys() == blocks(OPTIONS, {}).keys()
