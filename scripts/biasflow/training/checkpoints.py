"""Checkpoints of a training: whose they are, and which of them are whole and as they were written. Knows no Trainer."""

import json
import logging
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch

from biasflow.base.code import code_digest
from biasflow.base.errors import BiasflowError
from biasflow.base.files import sha256, whole_folder, write_json
from biasflow.base.provenance import versions
from biasflow.base.records import contents, flat
from biasflow.base.shipped import ROOT
from biasflow.encoders.device import named

COMPUTING = ("numpy", "torch", "transformers", "tokenizers", "accelerate")  # libraries whose numbers a training has
COMPLETE = "complete"  # the file that a checkpoint gets when all of it is on disk: the sha256 of every other file
OPTIMIZER = "optimizer.pt"  # of a Trainer's checkpoint: twice as large as the weights, and needed to go on only
CHECKPOINT = "checkpoint-"  # begins the names of checkpoints, before the number of the step


class DivergedError(BiasflowError):
    """Raised when the loss of a training is no longer finite. rates: the keys of its learning rates."""

    def __init__(self, training: str, loss: float, step: int, rates: str):
        super().__init__(f"{training}: the loss is {loss} after {step} steps; nothing was saved. Lower {rates}.")
        self.step = step


@contextmanager
def checkpoints(work: str | Path | None, settings: Mapping[str, object]) -> Iterator[Path]:
    """Yield the folder for checkpoints of the training that `settings` decide (`claim`). It is removed at the end, and
    where the loss is lost: there is nothing in it to go on from. None: a folder that is removed in any case."""
    if work is None:
        with tempfile.TemporaryDirectory() as temporary:
            yield Path(temporary)
        return
    claim(Path(work), settings)
    try:
        yield Path(work)
    except DivergedError:
        shutil.rmtree(work)
        raise
    shutil.rmtree(work, ignore_errors=True)


def computed_by(device: torch.device, code: Iterable[str | Path]) -> dict[str, object]:
    """What decides a training beside what it is given, for `claim`: the device (a GPU by its name), whether torch takes
    deterministic algorithms there, the precision of its matrix products, the number of threads, the libraries; the
    modules `code` that train, and all that these import."""
    return {
        "device": named(device),
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
    if any(path != mark and not path.name.startswith(".") for path in work.glob("*")):  # hidden: a mark half written
        try:
            before, now = flat(json.loads(mark.read_text(encoding="utf-8"))), flat(settings)
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            raise BiasflowError(f"{mark} does not say whose checkpoints these are; delete the folder {work}") from error
        other = [key for key in before | now if before.get(key) != now.get(key)]
        if other:
            raise BiasflowError(
                f"{work}: the checkpoints there were made with another {other[0]} ({before.get(other[0])}, now "
                f"{now.get(other[0])}); restore it to go on from them, or delete the folder to start afresh."
            )
    work.mkdir(parents=True, exist_ok=True)
    write_json(mark, settings)  # a run that is killed here must not leave checkpoints that nobody can claim


def last_checkpoint(work: Path) -> str | None:
    """Return the latest checkpoint in a folder from which a training can go on: it is whole, and so is the best one so
    far, which it names. All others are removed (`is_kept`)."""
    kept = {}
    for path in sorted(work.glob(f"{CHECKPOINT}*"), key=lambda path: int(path.name.removeprefix(CHECKPOINT))):
        if is_kept(path):
            kept[path.name] = path
    for path in reversed(kept.values()):
        if all((path / name).is_file() for name in _named(path)) and _best_at(path) in kept:
            return str(path)
    for path in kept.values():  # the best epoch of a training that begins anew
        shutil.rmtree(path)
    return None


def _best_at(checkpoint: Path) -> str:
    """The name of the best checkpoint at the time of this one; its own where none is kept as the best."""
    state = checkpoint / "trainer_state.json"
    best = json.loads(state.read_text(encoding="utf-8"))["best_model_checkpoint"] if state.is_file() else None
    return Path(best or checkpoint).name


def is_kept(folder: Path) -> bool:
    """Whether a folder was marked as complete, and holds what it held then, except perhaps for an optimiser. One that
    was not written to its end, or was changed since, is removed, and the log says so."""
    if not folder.is_dir():
        return False
    named, present = _named(folder), _digests(folder)
    if named and present.items() <= named.items() and named.keys() - present.keys() <= {OPTIMIZER}:
        return True
    message = "%s was not written to its end, or was changed since: it is left out"
    logging.getLogger("biasflow").warning(message, folder)
    shutil.rmtree(folder)
    return False


@contextmanager
def complete_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that takes the place of `folder` at the end, marked as complete."""
    with whole_folder(folder) as temporary:
        yield temporary
        mark_complete(temporary)


def mark_complete(folder: Path) -> None:
    """Write down what a folder holds (`is_kept`)."""
    write_json(folder / COMPLETE, _digests(folder))


def _digests(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): sha256(path) for path in contents(folder) if path.name != COMPLETE}


def _named(folder: Path) -> dict[str, str]:
    try:
        named = json.loads((folder / COMPLETE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return named if isinstance(named, dict) else {}
