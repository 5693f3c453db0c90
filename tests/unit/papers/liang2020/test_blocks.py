import subprocess
import sys

import pytest

from biasflow.papers.liang2020.blocks import blocks
from biasflow.registry import METRICS

TASKS = {"cola": {"kind": "glue"}, "rte": {"kind": "glue"}, "nli": {"kind": "nli"}}
CONFIG = {"tasks": TASKS, "metrics": {"occtmp": {"chinese": []}}}


def test_the_blocks_of_the_paper():
    options = {"encoders": ["a"], "finetuned_perplexity": True, "tasks": ["cola"], "seeds": [0, 1]}
    found = blocks({**options, "when": ["in_training", "at_evaluation"]}, CONFIG)
    methods = ["none", "hard", "conceptor", "densray"]
    further = ["hard-last", "conceptor-all", "densray-plain"]
    assert found["liang2020"]["methods"] == methods + further and found["liang2020-cola"]["methods"] == methods
    assert found["liang2020"]["metrics"] == ["strength", "occtmp", "weat", "seat", "perplexity", "pseudo_perplexity"]
    assert found["liang2020-shares"] == {"encoders": ["a"], "methods": ["none"], "metrics": ["gender_share"]}
    assert found["liang2020-by-layer"]["methods"] == ["densray-each"]
    assert found["liang2020-by-layer"]["metrics"] == ["occtmp"] and "liang2020-mlm-by-layer" not in found
    both = blocks({"encoders": ["a"], "finetuned_perplexity": True, "by_layer": ["occtmp", "perplexity"]}, CONFIG)
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


def test_tasks_are_for_the_encoders_that_are_named():
    options = {"encoders": ["a", "b"], "tasks": ["cola"], "glue_encoders": ["b"]}
    found = blocks(options, CONFIG)
    assert found["liang2020"]["encoders"] == ["a", "b"]
    assert found["liang2020-cola"]["encoders"] == found["liang2020-cola-in-training"]["encoders"] == ["b"]
    assert not any("cola" in name for name in blocks({**options, "glue_encoders": []}, CONFIG))


def test_what_is_not_asked_for_has_no_block():
    least = blocks({"encoders": ["a"], "by_layer": [], "methods": ["leace"], "inside_only": []}, CONFIG)
    assert set(least) == {"liang2020", "liang2020-shares"} and least["liang2020"]["methods"] == ["none", "leace"]
    assert blocks({"encoders": []}, CONFIG) == {}


@pytest.mark.parametrize(("when", "methods"), [(["in_training"], ["none"]), (["at_evaluation"], ["none", "densray"])])
def test_the_untouched_model_of_a_task_is_always_needed(when, methods):
    found = blocks({"encoders": ["a"], "methods": ["densray"], "tasks": ["rte"], "when": when}, CONFIG)
    assert found["liang2020-rte"]["methods"] == methods
    assert ("liang2020-rte-in-training" in found) == (when == ["in_training"])


def test_an_encoder_that_is_there_for_its_chinese_alone_is_measured_by_occtmp():
    config = CONFIG | {"metrics": {"occtmp": {"chinese": ["a", "b"]}}}
    options = {"encoders": ["a"], "methods": ["densray"], "inside_only": ["densray-plain"]}
    found = blocks(options, config)
    alone = {"encoders": ["b"], "methods": ["none", "densray", "densray-plain"], "metrics": ["occtmp"]}
    assert found.pop("liang2020-chinese") == alone
    assert found == blocks(options, CONFIG)


def test_asking_loads_no_pandas():
    papers = "biasflow.papers"
    code = f"import sys, {papers}.liang2020.blocks, {papers}.paper; print('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
