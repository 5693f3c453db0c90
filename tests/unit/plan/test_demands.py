"""How much memory and time jobs ask for, by hand: with BERT base what the rules say, else in proportion."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasflow.encoders.configured import Encoder
from biasflow.encoders.described import Description
from biasflow.plan.configuration import resolve
from biasflow.plan.demands import Demands, share_of_base
from biasflow.plan.jobs import Jobs
from tests.unit.plan.configs import CATALOGUE, SCHEMA, asking, jobs_of, setup_of

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
