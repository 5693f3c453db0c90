"""The rough time before a run: it counts what is left, and follows what makes a run dear."""

import pytest

from biasflow.encoders.families import HEADS
from biasflow.plan.configuration import resolve
from biasflow.plan.estimate import Estimate, Machine, estimate
from biasflow.plan.external import files_read
from tests.unit.plan.configs import CATALOGUE, RUNS, SCHEMA, asking, jobs_of, of_file, setup_of

BLOCK = {"encoders": ["real"], "metrics": ["gest", "ceat", "perplexity"]}
BIOS = {"encoders": ["real"], "task": "bios", "metrics": ["fairness"]}


def left(config, made=lambda path: False, **architecture) -> Estimate:
    config = resolve(config, SCHEMA)
    setup = setup_of(config, **architecture)
    jobs = jobs_of(setup)
    return estimate(jobs.needed, files_read(setup, CATALOGUE, jobs), made)


@pytest.mark.parametrize("name", RUNS)
def test_every_run_of_the_project_has_a_time_until_all_is_made(name):
    found = left(of_file(name))
    assert found.jobs == found.of and found.beside > 0
    assert found.of > 0 or name == "conformance"  # where nothing is computed with an encoder
    done = left(of_file(name), made=lambda path: True)
    assert (done.jobs, done.of, done.computing) == (0, found.of, 0) and done.sentence(2) == ""


def test_what_is_made_is_not_counted():
    without_training = left(asking(BIOS), made=lambda path: path.endswith("plain/seed0"))
    assert without_training.jobs == left(asking(BIOS)).jobs - 1


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
    assert left(less).computing < left(more).computing


def test_a_larger_encoder_takes_longer():
    assert left(asking(BLOCK), hidden_size=768).computing > 2 * left(asking(BLOCK), hidden_size=256).computing


@pytest.mark.parametrize(
    ("seconds", "cores", "machine", "said"),
    [
        (3600, 2, Machine(1, 2, 0), "20 to 45 minutes on 2 cores"),
        (3600, 2, Machine(2, 2, 0), "10 to 25 minutes on 2 cores"),  # a core twice as fast
        (3600, 2, Machine(1, 2, 4), "40 to 180 minutes on 2 cores"),  # with 2 to 6 other processes
        (3600, 2, Machine(1, 8, 4), "20 to 45 minutes on 2 cores"),  # which the other cores take
        (30, 1, Machine(1, 2, 0), "a minute on 1 core,"),
        (36000, 1, Machine(1, 2, 0), "7 to 15 hours"),
    ],
)
def test_it_is_told_as_an_interval(seconds, cores, machine, said):
    sentence = Estimate(3, 4, seconds, 0, 0).sentence(cores, machine)
    assert said in sentence and "3 are not done" in sentence and "roughly" in sentence


def test_no_number_of_cores_shortens_the_longest_job():
    low, high = Estimate(3, 3, 1000, 600, 0).clock(100, Machine(1, 100, 0))
    assert low > 0.7 * 600 and low < high


# Runs of the block of config/whole.yaml, measured with --cores 2 on two cores that others used, too
# (docs/costs.md): layers, hidden size, words, heads, limit -> load when it began, seconds of processor time,
# seconds by the clock.
SPLADE, LITWIKI = (2, 128, 30522, ("masked_lm",)), (4, 192, 8192, tuple(HEADS))
MEASURED = [
    (*SPLADE, 50, 14.2, 77, 735),
    (*SPLADE, 80, 9.7, 79, 373),
    (*SPLADE, 100, 9.1, 79, 236),
    (*SPLADE, 200, 12.5, 107, 569),
    (*SPLADE, None, 6.7, 231, 620),
    (*LITWIKI, 50, 9.5, 86, 501),
    (*LITWIKI, 80, 8.4, 84, 190),
    (*LITWIKI, 200, 16.9, 123, 755),
]


def test_nine_of_ten_measured_runs_lie_inside_the_interval():
    inside = []
    for layers, hidden, words, heads, limit, load, processor, clock in MEASURED:
        size = {"num_hidden_layers": layers, "hidden_size": hidden, "intermediate_size": 4 * hidden}
        whole = {"whole": of_file("mine", "whole")["ask"]["whole"] | {"limit": limit}}
        found = left({**of_file("mine"), "ask": whole}, heads=list(heads), vocab_size=words, **size)
        assert found.computing / 2.2 + found.beside == pytest.approx(processor, rel=0.25)
        low, high = found.clock(2, Machine(2.2, 2, load))
        inside.append(low <= clock <= high)
    assert sum(inside) >= 0.9 * len(inside)
