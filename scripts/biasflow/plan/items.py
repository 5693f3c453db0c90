"""The small files that a paper prints beside its scores (words, examples, variances), and where the run writes them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from biasflow.base.paths import Paths
from biasflow.encoders.recipes import PLANTED_UNITS, PLANTING
from biasflow.matrix import PRETRAINED
from biasflow.papers.paper import brought, load
from biasflow.plan.datasets import CEAT
from biasflow.plan.jobs import Plan, Reading
from biasflow.plan.readings import file_in_output, reading_output
from biasflow.plan.setup import Setup

_PRINTED_READOUTS = ("next_sentence", "token_scores")
_OF_FITS = ("explained_variance", "sentence_pairs")


class Item(NamedTuple):
    """An item of a paper. output: what a job writes, a folder or a file; file: the name of its file in there, or ""."""

    output: str
    file: str = ""


Items = dict[str, dict[str, Item]]


def item_inputs(paper: str, items: Items) -> dict[str, str]:
    """The outputs in which the items of a paper lie, as inputs of jobs that print them: "<paper>/<role>/<key>"."""
    return {f"{paper}/{role}/{key}": item.output for role, of_role in items.items() for key, item in of_role.items()}


def item_files(items: Items) -> dict[str, dict[str, str]]:
    """Role -> key -> the name of an item's file in its output."""
    return {role: {key: item.file for key, item in of_role.items()} for role, of_role in items.items()}


def items_of(setup: Setup, plan: Plan, paper: str) -> Items:
    """What the tables and figures of a paper may read, by role and key.

    stimuli by name, and stereoset-changes where both kinds of real ones are read; next_sentence by
    "<encoder>/<stimuli>", token_scores by encoder, both of pretrained encoders; explained_variance and sentence_pairs
    of grids by encoder; what kinds of task have `printed`, by the names of the tasks; ceat_counts by encoder, and
    ceat_words. Of what judges measures: given by "<measure>/<encoder>".
    Those that its paper.yaml names under `items`: units, of the encoders that a bias was planted in, by encoder;
    resamples by "<encoder>/<block>"; a readout, such as masked_words, by "<encoder>/<dataset>"."""
    items: Items = {}
    for role, key, item in _items(setup, plan, paper):
        items.setdefault(role, {})[key] = item
    if {"stereoset-authors", "stereoset-swapped"} <= set(items.get("stimuli", {})):
        items["stereoset-changes"] = {"stereoset-changes": Item(setup.paths.data("stereoset-changes.csv"))}
    return items


def _items(setup: Setup, plan: Plan, paper: str) -> Iterator[tuple[str, str, Item]]:
    """Role, key and item, one after the other."""
    paths, config, options = setup.paths, setup.config, setup.config["papers"][paper]
    further = load(paper, options.get("folder")).items
    names = {block.name for block in plan.blocks if block.key == f"papers.{paper}"}
    readings = [reading for reading in plan.readings.values() if reading.block.name in names]
    for reading in readings:
        yield from _of_reading(paths, reading, further)
    for job, methods in plan.fits.items():
        has_grid = any(isinstance(setup.methods[name], Mapping) for name in methods)
        if job.group == paper and job.training == PRETRAINED and has_grid:
            yield from ((role, job.encoder, Item(paths.about_methods(*job), f"{role}.csv")) for role in _OF_FITS)
    for job in plan.scored:
        if job.block in names and "resamples" in further:
            yield "resamples", f"{job.encoder}/{job.block}", Item(paths.resamples(*job))
    for task in map(setup.task, dict.fromkeys(reading.block.task for reading in readings if reading.block.task)):
        files = task.files(task.kind.printed).items()
        yield from ((role, task.name, Item(file)) for role, file in files if file not in setup.facts.absent)
    for encoder in brought(paper, "judged_encoders", options) or ():
        for measure in config["given"]:
            yield "given", f"{measure}/{encoder}", Item(paths.given_values(measure, encoder))
    for name, about in (brought(paper, "encoders", options, config) or {}).items():
        if "units" in further and about.get("recipe") in PLANTING:
            yield "units", name, Item(paths.encoder(name), PLANTED_UNITS)


def _of_reading(paths: Paths, reading: Reading, further: Sequence[str]) -> Iterator[tuple[str, str, Item]]:
    encoder, dataset, readout = reading.model.encoder, reading.dataset, reading.readout
    item = Item(reading_output(paths, reading.key), file_in_output(reading.key))
    if "stimuli" in dataset.files:
        yield "stimuli", dataset.name, Item(dataset.files["stimuli"][0])
    if readout in _PRINTED_READOUTS and reading.model.training == PRETRAINED:
        yield readout, encoder if readout == "token_scores" else f"{encoder}/{dataset.name}", item
    if readout == "associations":
        yield "ceat_counts", encoder, Item(paths.context_counts(encoder, CEAT))
        yield "ceat_words", CEAT, Item(dataset.files["words"][0])
    if readout in further:
        yield readout, f"{encoder}/{dataset.name}", item
