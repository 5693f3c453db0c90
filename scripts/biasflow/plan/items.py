"""The small item files that papers print beside scores: role -> key -> path, and the jobs' outputs that they lie in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scripts.biasflow.plan.cells import Plan, Reading
from scripts.biasflow.plan.paths import PRETRAINED, Paths
from scripts.biasflow.registry import TRAINING

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


def items_of(find, paper: str) -> Items:
    """What the tables and figures of a paper may read. find: plan.inputs.Inputs.

    stimuli by name, and stereoset-changes where both kinds of real ones are read; next_sentence by
    "<encoder>/<stimuli>", token_scores by encoder, both of pretrained encoders; explained_variance and sentence_pairs
    of grids by encoder; training.json by "<encoder>/<training>"; of tasks, by their name: sources, occupation_pairs,
    professions and top_words; ceat_counts by encoder, and ceat_words."""
    plan: Plan = find.plan
    names = {block.name for block in plan.blocks if block.key == f"papers.{paper}"}
    found = Items()
    for reading in plan.readings.values():
        if reading.block in names:
            _of_reading(find, reading, found)
    for (encoder, training, group), methods in plan.fits.items():
        if group == paper and training == PRETRAINED and any(_is_grid(find.config, name) for name in methods):
            folder = find.paths.about_methods(encoder, training, group)
            for role in _OF_FITS:
                found.add(role, encoder, f"{folder}/{role}.csv", folder)
    for (encoder, training, block), jobs in plan.scored.items():
        if block in names and any(metric == TRAINING for metric, *_ in jobs):
            found.add(TRAINING, f"{encoder}/{training}", f"{find.paths.model(encoder, training)}/{TRAINING}.json")
    for task in {reading.task for reading in plan.readings.values() if reading.block in names and reading.task}:
        _of_task(find.config, find.paths, task, found)
    if {"stereoset-authors", "stereoset-swapped"} <= set(found.files.get("stimuli", {})):
        found.add("stereoset-changes", "stereoset-changes", find.paths.data("stereoset-changes.csv"))
    return found


def _of_reading(find, reading: Reading, found: Items) -> None:
    encoder, dataset = reading.model.encoder, reading.dataset
    if "stimuli" in dataset.files:
        found.add("stimuli", dataset.name, dataset.files["stimuli"][0])
    if reading.readout in _PRINTED_READOUTS and reading.model.training == PRETRAINED:
        key = encoder if reading.readout == "token_scores" else f"{encoder}/{dataset.name}"
        found.add(reading.readout, key, find.reading_path(reading.key), find.reading_output(reading.key))
    if reading.readout == "associations":
        found.add("ceat_counts", encoder, find.paths.data(f"contexts/{encoder}/ceat_counts.csv"))
        found.add("ceat_words", "ceat", dataset.files["words"][0])


def _is_grid(config: Mapping, method: str) -> bool:
    return isinstance(config["methods"][method], Mapping)


def _of_task(config: Mapping, paths: Paths, task: str, found: Items) -> None:
    kind = config["tasks"][task]["kind"]
    folder = paths.data(task)
    if kind == "nli":
        found.add("occupation_pairs", task, f"{folder}/occupation_pairs.json")
    if kind == "occupation":
        found.add("professions", task, f"{folder}/professions.csv")
        found.add("top_words", task, f"{folder}/top_words.csv")
    if kind != "glue":
        found.add("sources", task, f"{folder}/sources.csv")
