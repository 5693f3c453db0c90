"""The key `limit`: what it takes a sample of, whose jobs change with it, and that nothing limited is called as full."""

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.base.sample import limit_of
from biasflow.plan.setup import Setup, kind_of
from tests.unit.plan.configs import SCHEMA, asking, changed, planned, resolve

INSIDE = {"encoders": ["real"], "methods": ["none", "leace"], "metrics": ["gest", "weat", "ceat", "perplexity"]}
BIOS = {"encoders": ["real"], "task": "bios", "metrics": ["fairness", "training", "weat"]}


def datasets(found) -> dict[str, str]:
    """Metric -> the name of its dataset in scores.csv; one that is limited and one that is not must not share it."""
    names = {score.metric: score.dataset.label for scores in found.scored.values() for score in scores}
    assert {cell.dataset for cell in found.cells} >= set(names.values())
    return names


def jobs(config) -> dict[tuple, tuple]:
    """The key of every reading -> what its job is told, and of every step of tasks' data -> its options."""
    resolved = resolve(config, SCHEMA)
    found = planned(config)
    read = {
        (key.job, key.readout): (key.file, sorted(reading.dataset.options.items(), key=str))
        for key, reading in found.readings.items()
    }
    tasks = [Setup(resolved).task(name, found.blocks) for name in resolved["tasks"]]
    steps = {(task.name, step.rule): step.options(task) for task in tasks for step in kind_of(task.about["kind"]).steps}
    return read | steps


def changes(one, other) -> set:
    one, other = jobs(one), jobs(other)
    return {key[-1] for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def test_a_limited_dataset_is_called_so_in_files_and_scores():
    full, limited = planned(asking(INSIDE)), planned(asking(INSIDE | {"limit": 100}))
    assert datasets(full)["gest"] == "gest" and datasets(limited)["gest"] == "gest-limit100"
    assert datasets(limited)["perplexity"] == "wikitext-2-limit100"
    assert datasets(limited)["ceat"].endswith("-limit100") and not limit_of(datasets(limited)["weat"])
    of_gest = {key for key, reading in limited.readings.items() if reading.dataset.name == "gest"}
    assert of_gest and not of_gest & set(full.readings)


def test_a_limit_changes_the_jobs_of_what_it_is_of_alone():
    assert changes(asking(INSIDE), asking(INSIDE | {"limit": 100})) == {"likelihoods", "associations", "losses"}
    read = {"heads", "vectors"}  # of models that are trained on other biographies
    assert changes(asking(BIOS), asking(BIOS, ("tasks.bios.limit", 500))) == {"biographies", *read}
    assert changes(asking(BIOS), asking(BIOS | {"limit": 100})) == set()  # nothing that the block reads is sampled


def test_the_limit_of_a_run_is_that_of_tasks_and_blocks_that_have_none():
    config = asking(BIOS | {"limit": 60}, ("limit", 200), ("tasks.nli.limit", 300))
    resolved = resolve(config, SCHEMA)
    assert {name: task.get("limit") for name, task in resolved["tasks"].items()} == {
        "nli": 300, "cola": 200, "bios": 200, "coref": None,
    }  # fmt: skip
    assert resolved["ask"]["block"]["limit"] == 60
    assert resolve(asking(BIOS), SCHEMA)["tasks"]["bios"]["limit"] is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ([("limit", 100), ("papers.liang2020.encoders", ["real"])], "'limit'"),
        (
            [("tasks.nli.limit", 100), ("papers.dawkins2024", {"encoders": ["real"], "task": "nli"})],
            "'tasks.nli.limit'",
        ),
        ([("limit", 0)], "limit"),
        ([("tasks.coref.limit", 100)], "tasks.coref.limit"),
    ],
)
def test_a_paper_is_never_limited(changes, named):
    with pytest.raises(BiasflowError, match=named):
        resolve(changed(*changes), SCHEMA)
