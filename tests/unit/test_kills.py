"""Processes that are killed at random in trainings of every kind and a readout that trains: the log says that the next
one goes on from a checkpoint, or that this was changed and is left out, and what it ends with are the bytes of a run
that nobody killed."""

import logging
import multiprocessing
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from biasflow.readouts import clusters
from biasflow.training import checkpoints, loop
from biasflow.training.continue_ import continue_encoder
from biasflow.training.pretrain import pretrain
from tests.unit.base.test_corruption import flipped
from tests.unit.readouts import test_clusters
from tests.unit.strategies import test_lora
from tests.unit.tasks.coreference import test_task
from tests.unit.training import test_continue, test_finetune
from tests.unit.training.test_pretrain import DOCUMENTS, TINY

KILLS = 3  # before the last one every checkpoint is changed
PAUSE = 0.05  # seconds in each step, so that a kill falls into one
PATIENCE = 120  # seconds for a step: a busy machine is slow


def pretraining(folder: Path, name: str) -> None:
    pretrain(DOCUMENTS, folder / name, seed=1, work=folder / "work", **TINY | {"steps": 30})


def finetuning(folder: Path, name: str) -> None:
    test_finetune.run(folder, name)


def low_rank_finetuning(folder: Path, name: str) -> None:
    test_finetune.run(folder, name, strategy=test_lora.LORA)


def coreference(folder: Path, name: str) -> None:
    test_task.run(folder, name, recipe=test_task.RECIPE | {"epochs": 8})


def new_heads(folder: Path, name: str) -> None:
    source = folder / "encoder"
    if not source.is_dir():
        test_continue.headless(source)
    steps = {"head_steps": 8, "steps": 25, "learning_rate": 1e-3, "max_length": 12}
    continue_encoder(source, folder / name, folder / "text.txt", work=folder / "work", **steps)


def further_training(folder: Path, name: str) -> None:
    source = folder / "encoder"
    if not source.is_dir():
        test_finetune.save_source(source)
        (folder / "text.txt").write_text("\n".join(test_continue.SENTENCES * 3))
    continue_encoder(source, folder / name, folder / "text.txt", work=folder / "work", max_length=12)


def readout_with_heads(folder: Path, name: str) -> None:
    if not (folder / "model").is_dir():
        test_clusters.make(folder)
    source = test_clusters.source(folder, *test_clusters.EDITS, work=folder / "work")
    clusters.read(source, folder / f"{name}.parquet", **test_clusters.HEADS)


TRAININGS = (pretraining, further_training, new_heads, finetuning, low_rank_finetuning, coreference)
RUNS: dict[str, Callable[[Path, str], None]] = {run.__name__: run for run in (*TRAININGS, readout_with_heads)}


def child(run: str, folder: Path, name: str) -> None:
    """The process that is killed: it writes a checkpoint as often as it can, and a letter for every step."""
    handler = logging.FileHandler(folder / "log")
    logging.getLogger("biasflow").addHandler(handler)
    logging.getLogger("biasflow").setLevel(logging.INFO)

    def step(*args, **kwargs) -> None:
        with open(folder / "steps", "a") as file:
            file.write(".")
        time.sleep(PAUSE)

    loop.Watch.on_step_begin = step
    loop.EVERY = 0.0
    RUNS[run](folder, name)


def contents(folder: Path, name: str) -> dict[str, bytes]:
    """All files of a result, whose names begin with `name`."""
    files = (path for top in folder.glob(f"{name}*") for path in [top, *top.rglob("*")] if path.is_file())
    return {str(path.relative_to(folder)).removeprefix(name): path.read_bytes() for path in files}


def change_checkpoints(work: Path) -> int:
    """Change a byte in the last file of everything that was marked as complete; how many these are."""
    marks = list(work.rglob(checkpoints.COMPLETE))
    for mark in marks:
        path = sorted(file for file in mark.parent.iterdir() if file != mark)[-1]
        path.write_bytes(flipped(path.read_bytes(), 0.9))
    return len(marks)


@pytest.mark.parametrize("run", RUNS)
def test_a_run_that_is_killed_at_random_goes_on_to_the_same_bytes(run, tmp_path, monkeypatch):
    rng = random.Random(run)
    processes = multiprocessing.get_context("forkserver")  # it imports once, and computes nothing before it forks
    processes.set_forkserver_preload([__name__])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    RUNS[run](tmp_path, "whole")
    (tmp_path / "log").touch()
    for number in range(KILLS):
        changed = change_checkpoints(tmp_path / "work") if number == KILLS - 1 else 0
        (tmp_path / "steps").write_text("")
        process = processes.Process(target=child, args=(run, tmp_path, "resumed"))
        process.start()
        after, patience = rng.randint(4, 7), time.monotonic() + PATIENCE
        while (tmp_path / "steps").stat().st_size < after and process.is_alive() and time.monotonic() < patience:
            time.sleep(PAUSE / 10)
        time.sleep(rng.uniform(0, PAUSE))
        assert process.is_alive()
        process.kill()
        process.join()
        assert not contents(tmp_path, "resumed")
    process = processes.Process(target=child, args=(run, tmp_path, "resumed"))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert contents(tmp_path, "resumed") == contents(tmp_path, "whole")
    log = (tmp_path / "log").read_text()
    assert log.count("goes on from a checkpoint") >= KILLS - 1
    assert log.count("was changed since") >= changed >= 1
