"""What a job asks for: memory and time, the partition of a cluster, and how long a run may take."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.base.errors import BiasflowError
from biasflow.encoders.configured import Encoder
from biasflow.encoders.described import Description
from biasflow.encoders.families import HEADS
from biasflow.plan.configuration import resolve
from biasflow.plan.demands import Demands, share_of_base
from biasflow.plan.estimate import HIGH, LOW, START, estimate
from biasflow.plan.jobs import Job, Jobs
from biasflow.plan.partitions import asked_of_slurm
from tests.unit.plan.configs import CATALOGUE, RUNS, SCHEMA, asking, jobs_of, of_file, setup_of

FILE = "partitions:\n  cpu: {max_runtime: 1d, max_mem_mb: 64000}\n  GPU_PARTITION: {max_gpu: 1}\n"


def partitioned_job(name: str, **resources) -> SimpleNamespace:
    return SimpleNamespace(name=name, threads=1, resources=resources)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "partitions.yaml"
    path.write_text(FILE)
    return path


def test_time_and_memory_are_told_by_partition(file):
    jobs = [partitioned_job("score", runtime=30, mem_mb=4000), partitioned_job("score", runtime=90, mem_mb=4100)]
    assert (
        asked_of_slurm(jobs, file)
        == "jobs for Slurm: 2 to the partition cpu (up to 1.5 hours, 5 GB each, 2.0 hours together)"
    )
    chosen = partitioned_job("read", runtime=60, mem_mb="<TBD>", gpu=1, slurm_partition="a100")  # the user's own
    assert (
        asked_of_slurm([chosen], file)
        == "jobs for Slurm: 1 to the partition a100 (up to 1.0 hours, 0 GB and a GPU each)"
    )
    assert asked_of_slurm([], file) == ""


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ({"runtime": 60, "gpu": 1}, "GPU_PARTITION stands for the name of a partition"),
        ({"runtime": 1500}, "no partition takes rule read, which asks for up to 25.0 hours"),
        ({"runtime": 60, "mem_mb": 64001}, "no partition takes rule read, which asks for up to 1.0 hours, 65 GB"),
        ({"runtime": 60, "gpu": 2}, "no partition takes rule read"),
    ],
)
def test_what_no_partition_takes_is_refused(file, resources, said):
    if "gpu" not in resources:
        file.write_text(FILE.partition("  GPU")[0])
    with pytest.raises(BiasflowError, match=said) as refused:
        asked_of_slurm([partitioned_job("read", **resources)], file)
    assert str(refused.value).startswith(str(file)) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["", "partitions: [cpu]", "partitions:\n  cpu:\n", "partitions: {cpu: {max_gpus: 1}}", "{"]
)
def test_a_file_of_another_form_is_named(file, text):
    file.write_text(text)
    with pytest.raises(BiasflowError, match="lists no partitions") as refused:
        asked_of_slurm([partitioned_job("score")], file)
    assert str(refused.value).startswith(str(file)) and "\n" not in str(refused.value)


BASE = {"num_hidden_layers": 12, "hidden_size": 768, "vocab_size": 30522}
TINY = {"num_hidden_layers": 2, "hidden_size": 128, "vocab_size": 30522}


def encoder(layers: int, width: int, words: int = 30522) -> Encoder:
    about = {"num_hidden_layers": layers, "hidden_size": width, "vocab_size": words}
    return Encoder("x", {"source": "local"}, described=Description({"model_type": "bert", **about}, {}))


@pytest.mark.parametrize(
    ("layers", "width", "share"),
    [
        (12, 768, 1),
        (24, 1024, 3.077),  # 1024 x (30522 + 12 x 1024 x 24) parameters of 768 x (30522 + 12 x 768 x 12)
        (12, 384, 0.5),  # the states are half as wide
        (2, 128, 0.0397),  # 128 x (30522 + 12 x 128 x 2)
    ],
)
def test_the_size_of_an_encoder_in_parts_of_bert_base(layers, width, share):
    assert share_of_base(encoder(layers, width)) == pytest.approx(share, rel=2e-3)


sizes = st.tuples(st.integers(1, 48), st.integers(1, 4096), st.integers(1, 500_000))


@given(sizes, sizes)
def test_a_larger_encoder_is_never_taken_for_a_smaller_one(one, other):
    smaller, larger = map(min, one, other), map(max, one, other)
    assert share_of_base(encoder(*smaller)) <= share_of_base(encoder(*larger))


def demands_of(block: dict, *changes, **architecture) -> tuple[Demands, Jobs]:
    setup = setup_of(resolve(asking(block, *changes), SCHEMA), **architecture)
    return Demands(setup, CATALOGUE, jobs := jobs_of(setup), gpu=False), jobs


def job(jobs: Jobs, rule: str):
    return next(each for each in jobs if each.rule == rule)


@pytest.mark.parametrize(
    ("about", "memory", "minutes"),
    [
        (BASE, 9600, 140),  # 1500 + 8000 + 5 x 12.5 MB of StereoSet; 20 + 120
        (BASE | {"hidden_size": 384}, 5600, 80),  # 1500 + 4000 + 5 x 12.5; 20 + 60
    ],
)
def test_a_reading_asks_by_the_size_of_its_encoder(about, memory, minutes):
    block = {"encoders": ["real"], "methods": ["none"], "metrics": ["intersentence"]}
    demands, jobs = demands_of(block, **about)
    reading = job(jobs, "read_next_sentence")
    assert demands.megabytes(reading) == pytest.approx(12.5, abs=0.1)
    assert (demands.memory(reading, 8000, "real"), demands.minutes(reading, 120, "real")) == (memory, minutes)


def test_a_training_of_little_on_little_asks_for_little():
    """In place of 12 GB and 12 hours."""
    demands, jobs = demands_of(
        {"encoders": ["real"], "task": "cola", "methods": ["none"], "metrics": ["accuracy"]}, **TINY
    )
    training = job(jobs, "finetune_glue")
    assert demands.memory(training, 12000, "real") == 2000  # 1500 + 12000 x .0397
    assert demands.minutes(training, 720, "real") == 27  # 20 + 720 x .0397 / 4
    step = job(jobs, "glue_data")
    assert (demands.memory(step, 4000), demands.minutes(step, 20)) == (
        1100,
        25,
    )  # 1000, and the words of the planted world


def test_data_are_the_files_that_they_are_made_from_and_no_weights(tmp_path, monkeypatch):
    """Through the steps that prepare them, to the catalogue's files and the user's. The weights of an encoder, what it
    was trained on, and what a job has made by now do not count."""
    monkeypatch.chdir(tmp_path)
    text = tmp_path / "mine.txt"
    text.write_bytes(bytes(3_000_000))
    block = {"encoders": ["own"], "task": "bios", "methods": ["none"], "metrics": ["fairness"]}
    files = [f"bias-in-bios-{part}" for part in ("train", "dev", "test")]
    changes = [("encoders.own.corpus", ["planted", "mine.txt"]), ("files", {"bias-in-bios-dev": "mine.txt"})]
    changes += [("tasks.bios.data", {"files": files})]
    demands, jobs = demands_of(block, *changes)
    assert demands.megabytes(job(jobs, "pretrain")) == pytest.approx(3, abs=0.1)
    rows = {name: CATALOGUE.files[f"bias-in-bios-{name}"].rows for name in ("train", "test")}
    of_bios = 3 + 500 * (rows["train"] + rows["test"]) / 1e6  # the user's, and two whose bytes are not known
    assert of_bios > 100
    training = job(jobs, "finetune_occupation")
    for each in (job(jobs, "biographies"), training, next(each for each in jobs if each.rule.startswith("read_"))):
        assert demands.megabytes(each) == pytest.approx(of_bios, abs=0.1)
    made = Path(next(file for file in training.files if file.startswith("results/test/data")))
    made.parent.mkdir(parents=True)
    made.write_bytes(bytes(1_000_000))
    assert demands.megabytes(training) == pytest.approx(of_bios, abs=0.1)
    assert demands.memory(job(jobs, "biographies"), 8000) == 9000 and demands.minutes(training, 720, "own") < 740


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
