"""Checkpoints of a training: whose they are, and which of them are whole."""

import json
import logging
import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from transformers import TrainerCallback

from biasflow.base.code import code_digest
from biasflow.base.errors import BiasflowError
from biasflow.base.files import whole_file
from biasflow.base.provenance import versions
from biasflow.base.shipped import ROOT
from biasflow.encoders.precision import on_gpu

COMPUTING = ("numpy", "torch", "transformers", "tokenizers", "accelerate")  # libraries whose numbers a training has
COMPLETE = "complete"  # the file that a checkpoint gets when all of it is on disk
EVERY = 300.0  # seconds between checkpoints that are written from time to time


def computed_by(device: torch.device, code: Iterable[str | Path]) -> dict[str, object]:
    """What decides a training beside what it is given, for `claim`: the device (a GPU by its name), whether torch takes
    deterministic algorithms there, the precision of its matrix products, the number of threads, the libraries; the
    modules `code` that train, and all that these import."""
    return {
        "device": torch.cuda.get_device_name(device) if on_gpu(device) else device.type,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "precision": torch.get_float32_matmul_precision(),
        "threads": torch.get_num_threads(),
        "libraries": {name: version for name, version in versions().items() if name in COMPUTING},
        "code": code_digest(code, ROOT),
    }


def claim(work: Path, settings: Mapping[str, object]) -> None:
    """Mark `work`, the folder of checkpoints, as belonging to these settings (JSON, maybe nested), which must be all
    that decides the result; BiasflowError naming the key if it holds checkpoints of others."""
    mark = work / "settings.json"
    settings = json.loads(json.dumps(settings))
    if mark.is_file() and any(path != mark for path in work.iterdir()):
        before, now = _flat(json.loads(mark.read_text(encoding="utf-8"))), _flat(settings)
        other = [key for key in before | now if before.get(key) != now.get(key)]
        if other:
            raise BiasflowError(
                f"{work}: the checkpoints there were made with another {other[0]} ({before.get(other[0])}, now "
                f"{now.get(other[0])}); restore it to go on from them, or delete the folder to start afresh."
            )
    work.mkdir(parents=True, exist_ok=True)
    with whole_file(mark) as temporary:  # a run that is killed here must not leave checkpoints that nobody can claim
        temporary.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def log_resumed(step: int, total: int) -> None:
    """Say in the log of a training that it goes on from a checkpoint: `step` of its `total` steps are done already."""
    logging.getLogger("biasflow").info("goes on from a checkpoint: step %d of %d", step, total)


def _flat(settings: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested settings by their path: {"recipe": {"epochs": 1}} -> {"recipe.epochs": 1}."""
    flat: dict[str, object] = {}
    for key, value in settings.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) and value else {f"{prefix}{key}": value}
    return flat


def last_checkpoint(work: Path) -> str | None:
    """The latest checkpoint of transformers' Trainer that was written to its end; those that were not are removed."""
    checkpoints = {int(path.name.rpartition("-")[2]): path for path in work.glob("checkpoint-*")}
    for path in checkpoints.values():
        if not (path / COMPLETE).is_file():
            shutil.rmtree(path)
    complete = [step for step, path in checkpoints.items() if path.is_dir()]
    return str(checkpoints[max(complete)]) if complete else None


class Marks(TrainerCallback):
    """A mark on every checkpoint that is complete, and a line in the log where a training goes on from one."""

    def on_train_begin(self, args, state, control, **kwargs):
        if state.global_step:
            log_resumed(state.global_step, state.max_steps)

    def on_save(self, args, state, control, **kwargs):
        (Path(args.output_dir) / f"checkpoint-{state.global_step}" / COMPLETE).touch()


class PeriodicCheckpoint(Marks):
    """A checkpoint whenever EVERY seconds have passed since the last one: a short training writes none."""

    def __init__(self):
        self.written = time.monotonic()

    def on_step_end(self, args, state, control, **kwargs):
        if time.monotonic() - self.written >= EVERY:
            control.should_save = True

    def on_save(self, args, state, control, **kwargs):
        super().on_save(args, state, control, **kwargs)
        self.written = time.monotonic()
