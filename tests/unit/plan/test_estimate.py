"""The rough time before a run: it counts what is left, and follows what makes a run dear."""

import re

import pytest

from biasflow.encoders.families import HEADS
from biasflow.plan.configuration import resolve
from biasflow.plan.estimate import HIGH, LOW, START, estimate
from biasflow.plan.jobs import Job
from tests.unit.plan.configs import RUNS, SCHEMA, asking, jobs_of, of_file, setup_of

BLOCK = {"encoders": ["real"], "metrics": ["gest", "ceat", "perplexity"]}
BIOS = {"encoders": ["real"], "task": "bios", "metrics": ["fairness"]}


def computing(config, **architecture) -> list[Job]:
    """The jobs of a run that train, fit or read."""
    jobs = jobs_of(setup_of(resolve(config, SCHEMA), **architecture)).needed
    return [job for job in jobs if job.operations is not None]


def all_operations(config, **architecture) -> float:
    return sum(job.operations for job in computing(config, **architecture))


@pytest.mark.parametrize("name", RUNS)
def test_every_run_of_the_project_that_computes_with_an_encoder_has_a_time(name):
    jobs = jobs_of(setup_of(of_file(name))).needed
    trained_or_read = [job for job in jobs if job.operations is not None]
    assert bool(trained_or_read) == (name != "conformance")
    said = estimate(jobs, 2)
    assert f"are not done: {len(trained_or_read)}; very roughly" in said if trained_or_read else said == ""


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (asking(BLOCK | {"limit": 100}), asking(BLOCK)),
        (asking(BLOCK), asking(BLOCK | {"methods": ["none", "densray"]})),
        (asking(BIOS, ("tasks.bios.limit", 500)), asking(BIOS)),
        (asking(BIOS, ("tasks.bios.finetuning.epochs", 2)), asking(BIOS)),
        (asking(BIOS), asking(BIOS | {"seeds": [0, 1]})),
    ],
    ids=["limit of a block", "methods", "limit of a task", "epochs", "seeds"],
)
def test_what_is_dearer_takes_longer(less, more):
    assert all_operations(less) < all_operations(more)


def test_a_larger_encoder_takes_longer():
    sizes = [all_operations(asking(BLOCK), hidden_size=hidden) for hidden in (256, 768)]
    assert sizes[1] > 2 * sizes[0]


def jobs_with(*operations: float | None) -> list[Job]:
    return [Job("read", [], [str(number)], operations=one) for number, one in enumerate(operations)]


@pytest.mark.parametrize(
    ("jobs", "cores", "said"),
    [
        (jobs_with(3600e9 - START), 1, "1; very roughly 30 to 200 minutes with 1 at a time"),
        (jobs_with(1800e9 - START, 1800e9 - 2 * START, None), 2, "2; very roughly 20 to 90 minutes with 2"),
        (jobs_with(3600e9, 0, 0, 0), 4, "4; very roughly 30 to 200 minutes"),  # no core shortens the longest job
        (jobs_with(36000e9), 1, "5 to 30 hours"),
        (jobs_with(None), 1, ""),
    ],
)
def test_it_is_told_as_one_range(jobs, cores, said):
    assert said in estimate(jobs, cores, speed=1e9) and bool(estimate(jobs, cores)) == bool(said)


# Runs of the block of config/whole.yaml where a core reached 114 GFLOP/s (docs/costs.md): layers, hidden size, words,
# heads, limit -> seconds of processor time.
SPLADE, LITWIKI = (2, 128, 30522, ("masked_lm",)), (4, 192, 8192, tuple(HEADS))
MEASURED = [(SPLADE, 50, 77), (SPLADE, 80, 79), (SPLADE, 200, 107), (SPLADE, None, 231), (LITWIKI, 80, 84)]


@pytest.mark.parametrize(("encoder", "limit", "seconds"), [*MEASURED, (LITWIKI, 50, 86), (LITWIKI, 200, 123)])
def test_measured_runs_lie_inside_the_range(encoder, limit, seconds):
    layers, hidden, words, heads = encoder
    size = {"num_hidden_layers": layers, "hidden_size": hidden, "intermediate_size": 4 * hidden, "vocab_size": words}
    config = of_file("mine") | {"ask": {"whole": of_file("mine", "whole")["ask"]["whole"] | {"limit": limit}}}
    jobs = jobs_of(setup_of(resolve(config, SCHEMA), list(heads), **size)).needed
    computed = (sum(job.operations or 0 for job in jobs) + START * len(jobs)) / 114e9
    assert LOW * computed < seconds < HIGH * computed
    low, high = map(float, re.search(r"roughly (\S+) to (\S+) minutes", estimate(jobs, 1, speed=114e9)).groups())
    assert low <= seconds / 60 <= high * 1.05
