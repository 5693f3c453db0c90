"""The blocks that the papers' paper.yaml ask for."""

from dataclasses import replace

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.papers.paper import load
from biasflow.plan.configuration import load_schema
from biasflow.registry import METRICS

SCHEMA = load_schema()["properties"]["papers"]["properties"]
CONFIG = {"metrics": {"occtmp": {"chinese": ["a", "zh"]}}}
METHODS = ["none", "hard", "conceptor", "densray"]
FURTHER = ["hard-last", "conceptor-all", "densray-plain"]
BOTH = {"when": ["in_training", "at_evaluation"], "tasks": ["cola"], "seeds": [0, 1]}
COREFERENCE = {"coreference": "coref", "coreference_strategies": ["plain", "ca"], "random_encoders": [1]}


def asked(paper, **options):
    properties = SCHEMA[paper]["properties"].items()
    defaults = {key: about["default"] for key, about in properties if "default" in about}
    return load(paper).blocks({**defaults, "encoders": ["a", "b"], **options}, CONFIG)


@pytest.mark.parametrize(
    ("paper", "options", "block", "keys"),
    [
        ("liang2020", {}, "liang2020", {"encoders": ["a", "b"], "methods": METHODS + FURTHER}),
        ("liang2020", {}, "liang2020-shares", {"metrics": ["gender_share"]}),
        ("liang2020", {}, "liang2020-chinese", {"encoders": ["zh"], "methods": METHODS + FURTHER}),
        ("liang2020", {}, "liang2020-by-layer", {"methods": ["densray-each"], "metrics": ["occtmp"]}),
        ("liang2020", {"by_layer": []}, "liang2020-by-layer", None),
        ("liang2020", {}, "liang2020-mlm", None),
        ("liang2020", {"finetuned_perplexity": True}, "liang2020-mlm", {"encoders": ["a-mlm", "b-mlm"]}),
        (
            "liang2020",
            {"finetuned_perplexity": True, "inside_only": []},
            "liang2020-mlm",
            {"methods": ["none", "hard-pretrained", "conceptor-pretrained", "densray-pretrained"]},
        ),
        ("liang2020", {"finetuned_perplexity": True}, "liang2020-mlm-by-layer", None),
        (
            "liang2020",
            {"finetuned_perplexity": True, "by_layer": ["perplexity"]},
            "liang2020-mlm-by-layer",
            {"encoders": ["a-mlm", "b-mlm"], "methods": ["densray-each-pretrained"], "metrics": ["perplexity"]},
        ),
        ("liang2020", BOTH, "liang2020-cola", {"strategies": ["plain"], "methods": METHODS, "seeds": [0, 1]}),
        (
            "liang2020",
            BOTH,
            "liang2020-cola-in-training",
            {"strategies": ["with-hard", "with-conceptor", "with-densray"], "methods": ["none"], "task": "cola"},
        ),
        ("liang2020", BOTH | {"glue_encoders": ["b"]}, "liang2020-cola", {"encoders": ["b"]}),
        ("orgad2022", {}, "orgad2022-finetuned", {"encoders": ["a", "b"], "task": "bios", "methods": ["none"]}),
        ("orgad2022", {}, "orgad2022-pretrained", {"trainings": ["pretrained"]}),
        ("orgad2022", {"random_encoders": [1]}, "orgad2022-random", {"trainings": ["random"], "seeds": [1]}),
        ("orgad2022", {"seeds": [0, 1]}, "orgad2022-random", {"seeds": [0, 1]}),
        ("orgad2022", {}, "orgad2022-coreference-finetuned", None),
        (
            "orgad2022",
            COREFERENCE,
            "orgad2022-coreference-finetuned",
            {
                "strategies": ["plain", "ca"],
                "metrics": ["coreference", "winobias", "compression", "ceat", "training"],
            },
        ),
        ("orgad2022", COREFERENCE, "orgad2022-coreference-pretrained", {"metrics": ["compression", "ceat"]}),
        ("orgad2022", COREFERENCE | {"coreference_encoders": ["b"]}, "orgad2022-coreference-random", {"seeds": [1]}),
    ],
)
def test_a_block_of_a_paper(paper, options, block, keys):
    """keys: some of the block, None if it is not asked for."""
    found = asked(paper, **options)
    assert (block in found) == (keys is not None)
    assert not keys or {key: found[block][key] for key in keys} == keys
    assert {metric for about in found.values() for metric in about.get("metrics", ())} <= set(METRICS)


@pytest.mark.parametrize("paper", ["liang2020", "orgad2022"])
def test_without_encoders_there_is_no_block(paper):
    assert asked(paper, encoders=[]) == {}


def test_an_expression_of_no_option_is_named():
    text = replace(load("orgad2022"), asks={"mine": {"seeds": "{{ sedes }}"}})
    with pytest.raises(BiasflowError, match=r"paper\.yaml.*asks.*sedes"):
        text.blocks({"encoders": ["a"]}, {})
