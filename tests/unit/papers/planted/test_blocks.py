"""Which encoders meet which data, and under which methods."""

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.papers.planted.blocks import blocks
from tests.unit.papers.planted.made_up import OPTIONS

TWO = OPTIONS | {"seeds": [3, 4]}


def models(found, task) -> set[tuple[str, int]]:
    chosen = [block for block in found.values() if block.get("task") == task and "trainings" not in block]
    return {(name, seed) for block in chosen for name in block["encoders"] for seed in block["seeds"]}


def test_either_end_meets_both_and_the_middle_itself_with_the_seed_of_the_encoder():
    found = blocks(TWO, {})
    ends = {(f"planted-bias{bias}-seed{seed}", seed) for bias in (0, 1) for seed in (3, 4)}
    assert models(found, "planted-jobs-bias0") == models(found, "planted-jobs-bias1") == ends
    assert models(found, "planted-pairs-bias0.5") == {(f"planted-bias0.5-seed{seed}", seed) for seed in (3, 4)}


def test_only_what_has_both_biases_in_full_is_measured_under_methods():
    found = blocks(TWO, {})
    under = [block for block in found.values() if block["methods"] != ["none"]]
    assert under and all(block["methods"] == ["none", "leace"] for block in under)
    assert {name.rpartition("-seed")[0] for block in under for name in block["encoders"]} == {"planted-bias1"}
    assert {block.get("task") for block in under if "trainings" not in block} == {
        None, *(f"planted-{name}-bias1" for name in TWO["tasks"]),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"task_bias": [0.0, 0.3, 1.0]}, "task_bias.*of that alone"),
        ({"task_bias": [0.0, 0.5]}, "task_bias.*0 and 1, the ends"),
        ({"tasks": {"cola": {"kind": "glue"}}}, r"tasks\.cola\.kind"),
    ],
)
def test_one_line_that_names_the_key(change, named):
    with pytest.raises(BiasflowError, match=rf"papers\.planted\.{named}"):
        blocks(OPTIONS | change, {})
