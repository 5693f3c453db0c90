"""What the paper asks of a run, and that all it prints is made of one."""

import subprocess
import sys
from itertools import chain

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.papers.dawkins2024.blocks import blocks
from biasflow.papers.make import make_paper
from biasflow.papers.paper import load
from biasflow.registry import METRICS
from tests.unit.papers.dawkins2024.made_up import NO_HEAD, NOTHING, OPTIONS, inside_scores, nli_scores, run_of, together

CONFIG = {"methods": {"dawkins2024": {"grid": "dawkins2024"}, "densray": [{"eraser": "densray"}]}}
CONFIG["methods"]["sent-0"] = {"grid": "dawkins2024", "settings": ["sent 0"]}


def asked(**options):
    return blocks(OPTIONS | {"encoders": ["a", "b"], "seeds": [0, 1]} | options, CONFIG)


def test_stimuli_for_all_encoders_and_nli_for_those_that_are_fine_tuned():
    found = asked(nli_encoders=["b", "c"], during=["sent-0"])
    inside, nli, during = found.values()
    assert all(name.startswith("dawkins2024-") for name in found)
    assert (inside["encoders"], inside["methods"]) == (["a", "b"], ["none", "dawkins2024"])
    assert inside["metrics"] == ["strength"]
    assert (nli["encoders"], nli["task"], nli["seeds"]) == (["b", "c"], "nli", [0, 1])
    assert (nli["strategies"], nli["methods"]) == (["plain"], ["none", "dawkins2024"])
    assert (during["encoders"], during["strategies"], during["methods"]) == (["b", "c"], ["with-sent-0"], ["none"])
    assert {metric for block in found.values() for metric in block["metrics"]} <= set(METRICS)


def test_no_task_no_nli_and_no_method_in_training_no_block_of_it():
    assert len(asked()) == 2 and asked()["dawkins2024-nli"]["encoders"] == ["a", "b"]
    assert list(asked(task=None)) == ["dawkins2024-inside"]
    assert list(asked(encoders=[], nli_encoders=["b"])) == ["dawkins2024-nli"]


@pytest.mark.parametrize("method", ["densray", "dawkins2024", "unknown"])
def test_what_has_no_row_in_the_tables_is_refused(method):
    with pytest.raises(BiasflowError, match=f"papers.dawkins2024.during.*{method}"):
        asked(during=[method])


@pytest.mark.parametrize("method", ["densray", "sent-0", "unknown"])
def test_the_tables_need_the_whole_grid(method):
    with pytest.raises(BiasflowError, match=f"papers.dawkins2024.method.*{method}"):
        asked(method=method)


@pytest.mark.parametrize("paper", ["dawkins2024", "planted"])
def test_the_plan_loads_no_pandas_with_it(paper):
    code = f"import sys, biasflow.papers.{paper}.blocks; print({{'pandas', 'torch'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("scores", [NOTHING, together(inside_scores(), nli_scores())], ids=["nothing", "scores"])
def test_every_target_is_made_of_any_run(scores, tmp_path):
    text = load("dawkins2024")
    make_paper(text, run_of(scores, encoders=["tiny"], not_run=NO_HEAD), text.files_in(tmp_path))
    for path in chain(*text.files_in(tmp_path).values()):
        assert path.stat().st_size
