from biasflow.papers.liang2020.blocks import blocks
from biasflow.plan.configuration import load_schema
from biasflow.registry import METRICS

TASKS = {"cola": {"kind": "glue"}, "rte": {"kind": "glue"}, "nli": {"kind": "nli"}}
OPTIONS = load_schema()["properties"]["papers"]["properties"]["liang2020"]["properties"]
DEFAULTS = {key: about["default"] for key, about in OPTIONS.items() if "default" in about}
CONFIG = {"tasks": TASKS, "metrics": {"occtmp": {"chinese": []}}}


def test_the_blocks_of_the_paper():
    options = DEFAULTS | {"encoders": ["a"], "finetuned_perplexity": True, "tasks": ["cola"], "seeds": [0, 1]}
    found = blocks({**options, "when": ["in_training", "at_evaluation"]}, CONFIG)
    methods = ["none", "hard", "conceptor", "densray"]
    further = ["hard-last", "conceptor-all", "densray-plain"]
    assert found["liang2020"]["methods"] == methods + further and found["liang2020-cola"]["methods"] == methods
    assert found["liang2020"]["metrics"] == ["strength", "occtmp", "weat", "seat", "perplexity", "pseudo_perplexity"]
    assert found["liang2020-shares"] == {"encoders": ["a"], "methods": ["none"], "metrics": ["gender_share"]}
    assert found["liang2020-by-layer"]["methods"] == ["densray-each"]
    assert found["liang2020-by-layer"]["metrics"] == ["occtmp"] and "liang2020-mlm-by-layer" not in found
    both = blocks({**options, "by_layer": ["occtmp", "perplexity"]}, CONFIG)
    assert both["liang2020-by-layer"]["metrics"] == ["occtmp", "perplexity"]
    assert found["liang2020-mlm"]["encoders"] == ["a-mlm"]
    pretrained = [f"{name}-pretrained" for name in (methods + further)[1:]]
    assert found["liang2020-mlm"]["methods"] == ["none", *pretrained]
    by_layer = {"encoders": ["a-mlm"], "methods": ["densray-each-pretrained"], "metrics": ["perplexity"]}
    assert both["liang2020-mlm-by-layer"] == by_layer
    assert found["liang2020-cola"]["strategies"] == ["plain"] and found["liang2020-cola"]["seeds"] == [0, 1]
    trained = found["liang2020-cola-in-training"]
    assert trained["strategies"] == ["with-hard", "with-conceptor", "with-densray"] and trained["methods"] == ["none"]
    assert {metric for block in found.values() for metric in block.get("metrics", ())} <= set(METRICS)
