"""The small item files that papers print beside scores: role -> key -> path, and the jobs' outputs that they lie in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from biasflow.asking.matrix import PRETRAINED
from biasflow.asking.paths import Paths
from biasflow.plan.jobs import Plan, Reading
from biasflow.plan.readings import reading_output, reading_path
from biasflow.plan.tasks import task_of
from biasflow.registry import TRAINING

_PRINTED_READOUTS = ("next_sentence", "token_scores")
_OF_FITS = ("explained_variance", "sentence_pairs")


@dataclass
class Items:
    """files: role -> key -> path; inputs: what a rule must wait for, so that they are there."""

    files: dict[str, dict[str, str]] = field(default_factory=dict)
    inputs: dict[str, None] = field(default_factory=dict)

    def add(self, role: str, key: str, path: str, output: str | None = None) -> None:
        self.files.setdefault(role, {})[key] = path
        self.inputs[output or path] = None


def items_of(config: Mapping, plan: Plan, paper: str) -> Items:
    """What the tables and figures of a paper may read.

    stimuli by name, and stereoset-changes where both kinds of real ones are read; next_sentence by
    "<encoder>/<stimuli>", token_scores by encoder, both of pretrained encoders; explained_variance and sentence_pairs
    of grids by encoder; training.json by "<encoder>/<training>"; what kinds of task have `printed`, by the
    names of the tasks; ceat_counts by encoder, and ceat_words."""
    paths, found = Paths(config["run"]), Items()
    names = {block.name for block in plan.blocks if block.key == f"papers.{paper}"}
    readings = [reading for reading in plan.readings.values() if reading.block.name in names]
    for reading in readings:
        _of_reading(paths, reading, found)
    for job, methods in plan.fits.items():
        if job.group == paper and job.training == PRETRAINED and any(_is_grid(config, name) for name in methods):
            folder = paths.about_methods(*job)
            for role in _OF_FITS:
                found.add(role, job.encoder, f"{folder}/{role}.csv", folder)
    for job, scores in plan.scored.items():
        if job.block in names and any(score.metric == TRAINING for score in scores):
            model = job.encoder, job.training
            found.add(TRAINING, "/".join(model), f"{paths.model(*model)}/{TRAINING}.json")
    for name in dict.fromkeys(reading.block.task for reading in readings if reading.block.task):
        task = task_of(config, name)
        for role, file in task.files(task.kind.printed).items():
            if file not in plan.absent:
                found.add(role, name, file)
    if {"stereoset-authors", "stereoset-swapped"} <= set(found.files.get("stimuli", {})):
        found.add("stereoset-changes", "stereoset-changes", paths.data("stereoset-changes.csv"))
    return found


def _of_reading(paths: Paths, reading: Reading, found: Items) -> None:
    encoder, dataset = reading.model.encoder, reading.dataset
    if "stimuli" in dataset.files:
        found.add("stimuli", dataset.name, dataset.files["stimuli"][0])
    if reading.readout in _PRINTED_READOUTS and reading.model.training == PRETRAINED:
        key = encoder if reading.readout == "token_scores" else f"{encoder}/{dataset.name}"
        found.add(reading.readout, key, reading_path(paths, reading.key), reading_output(paths, reading.key))
    if reading.readout == "associations":
        found.add("ceat_counts", encoder, paths.data(f"contexts/{encoder}/ceat_counts.csv"))
        found.add("ceat_words", "ceat", dataset.files["words"][0])


def _is_grid(config: Mapping, method: str) -> bool:
    return isinstance(config["methods"][method], Mapping)
