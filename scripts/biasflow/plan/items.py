"""The small files that a paper prints beside its scores (words, examples, variances), and where the run writes them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from biasflow.asking.matrix import PRETRAINED
from biasflow.asking.paths import Paths
from biasflow.asking.sources import calibrated_encoders, judged_encoders
from biasflow.encoders.recipes import PLANTED_UNITS
from biasflow.plan.jobs import Plan, Reading
from biasflow.plan.readings import by_role, file_in_output, reading_output
from biasflow.plan.setup import Setup
from biasflow.registry import TRAINING

_JUDGED_READOUT = "masked_words"  # whose items the calibration takes apart by occupation
_PRINTED_READOUTS = ("next_sentence", "token_scores")
_OF_FITS = ("explained_variance", "sentence_pairs")


class Item(NamedTuple):
    """An item of a paper. output: what a rule writes, a folder or a file; file: the name of its file in there, or
    ""."""

    output: str
    file: str = ""


Items = dict[str, dict[str, Item]]


def item_inputs(papers: Iterable[Items]) -> dict[str, list[str]]:
    """Role -> the outputs in which the items of papers lie: named inputs of the rules that print them."""
    return by_role({role: tuple(item.output for item in of.values())} for items in papers for role, of in items.items())


def item_places(items: Items, inputs: Mapping[str, list[str]]) -> dict[str, dict[str, list[object]]]:
    """Role -> key -> the position of an item's output in the input of that name, and its file in there."""
    return {
        role: {key: [inputs[role].index(item.output), item.file] for key, item in of.items()}
        for role, of in items.items()
    }


def items_of(setup: Setup, plan: Plan, paper: str) -> Items:
    """What the tables and figures of a paper may read, by role and key.

    stimuli by name, and stereoset-changes where both kinds of real ones are read; next_sentence by
    "<encoder>/<stimuli>", token_scores by encoder, both of pretrained encoders; explained_variance and sentence_pairs
    of grids by encoder; training.json by "<encoder>/<training>"; what kinds of task have `printed`, by the
    names of the tasks; ceat_counts by encoder, and ceat_words. Of the calibration: units by encoder, masked_words by
    "<encoder>/<dataset>". Of what judges measures: given by "<measure>/<encoder>"."""
    paths = setup.paths
    items: Items = {}
    names = {block.name for block in plan.blocks if block.key == f"papers.{paper}"}
    readings = [reading for reading in plan.readings.values() if reading.block.name in names]
    for reading in readings:
        _of_reading(paths, reading, items)
    for job, methods in plan.fits.items():
        has_grid = any(isinstance(setup.methods[name], Mapping) for name in methods)
        if job.group == paper and job.training == PRETRAINED and has_grid:
            folder = paths.about_methods(*job)
            for role in _OF_FITS:
                items.setdefault(role, {})[job.encoder] = Item(folder, f"{role}.csv")
    for job, scores in plan.scored.items():
        if job.block in names and any(score.metric == TRAINING for score in scores):
            model = job.encoder, job.training
            items.setdefault(TRAINING, {})["/".join(model)] = Item(paths.training(*model))
    for name in dict.fromkeys(reading.block.task for reading in readings if reading.block.task):
        task = setup.task(name)
        for role, file in task.files(task.kind.printed).items():
            if file not in plan.absent:
                items.setdefault(role, {})[name] = Item(file)
    if {"stereoset-authors", "stereoset-swapped"} <= set(items.get("stimuli", {})):
        items["stereoset-changes"] = {"stereoset-changes": Item(paths.data("stereoset-changes.csv"))}
    for encoder in judged_encoders(setup.config, paper):
        for measure in setup.config["given"]:
            items.setdefault("given", {})[f"{measure}/{encoder}"] = Item(paths.given_values(measure, encoder))
    if paper == "calibrated":
        _of_calibration(setup, readings, items)
    return items


def _of_calibration(setup: Setup, readings: Iterable[Reading], items: Items) -> None:
    for name in calibrated_encoders(setup.config["papers"]["calibrated"]):
        items.setdefault("units", {})[name] = Item(setup.paths.encoder(name), PLANTED_UNITS)
    for reading in readings:
        if reading.readout == _JUDGED_READOUT:
            item = Item(reading_output(setup.paths, reading.key), file_in_output(setup.paths, reading.key))
            items.setdefault(_JUDGED_READOUT, {})[f"{reading.model.encoder}/{reading.dataset.name}"] = item


def _of_reading(paths: Paths, reading: Reading, items: Items) -> None:
    encoder, dataset = reading.model.encoder, reading.dataset
    if "stimuli" in dataset.files:
        items.setdefault("stimuli", {})[dataset.name] = Item(dataset.files["stimuli"][0])
    if reading.readout in _PRINTED_READOUTS and reading.model.training == PRETRAINED:
        key = encoder if reading.readout == "token_scores" else f"{encoder}/{dataset.name}"
        item = Item(reading_output(paths, reading.key), file_in_output(paths, reading.key))
        items.setdefault(reading.readout, {})[key] = item
    if reading.readout == "associations":
        items.setdefault("ceat_counts", {})[encoder] = Item(paths.data(f"contexts/{encoder}/ceat_counts.csv"))
        items["ceat_words"] = {"ceat": Item(dataset.files["words"][0])}
