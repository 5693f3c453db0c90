"""The external files that a run reads."""

from collections.abc import Mapping
from pathlib import Path

from scripts.biasflow.corpora.catalogue import Catalogue
from scripts.biasflow.plan.cells import Plan, plan
from scripts.biasflow.plan.datasets import (
    AUTHORS_STIMULI,
    CHINESE_ARTICLES,
    CHINESE_TEXT,
    TEXTS,
    WIKITEXT,
    context_files,
    fitting_files,
)
from scripts.biasflow.plan.encoders import Encoders
from scripts.biasflow.plan.facts import Facts, gather
from scripts.biasflow.plan.names import require
from scripts.biasflow.plan.paths import CORPORA
from scripts.biasflow.plan.tasks import TaskPlan


def check_files(config: Mapping, catalogue: Catalogue) -> None:
    """BiasflowError for a key of `files` that is no external file: the path beside it would never be looked at."""
    for name in config["files"]:
        require(name, catalogue.files, f"files.{name}", "files of config/corpora.yaml")


def external_files(config: Mapping, catalogue: Catalogue) -> list[str]:
    """The names of all external files that a run with this (resolved) configuration reads."""
    facts = gather(config)
    return files_read(config, catalogue, facts, plan(config, facts))


def files_read(config: Mapping, catalogue: Catalogue, facts: Facts, found: Plan) -> list[str]:
    """The same of a run that is planned already."""
    encoders = Encoders(config, facts)
    readings, trained = found.readings.values(), found.trained.values()
    files = {file for reading in readings for names in reading.dataset.files.values() for file in names}
    for encoder in {each.encoder for each in (*(reading.model for reading in readings), *trained)}:
        files |= set(encoders.texts(encoder))
    for encoder in {reading.model.encoder for reading in readings if reading.readout == "associations"}:
        files |= set(context_files(config, encoder, catalogue))
    carrying = {model.encoder for model in trained if model.carried}
    for encoder in {*(encoder for encoder, *_ in found.fits), *carrying}:
        files |= {file for names in fitting_files(config, encoder).values() for file in names}
    for name in {reading.block.task for reading in readings if reading.block.task} | {model.task for model in trained}:
        task = TaskPlan(config, name)
        given = (names for step in task.kind.steps for names in step.sources(task, catalogue).values())
        files |= {file for names in given for file in names}
    names = {file.removeprefix(f"{CORPORA}/") for file in files}
    for text in {Path(name).name.partition(".")[0] for name in names if "/data/texts/" in name} & set(TEXTS):
        part = "test" if text.endswith("-test") else "train"
        names |= {*CHINESE_ARTICLES} if text == CHINESE_TEXT else {f"{WIKITEXT}-{part}", "google-analogies"}
    names |= {"stereoset-dev" for name in names if name.endswith("stereoset-swapped.csv")}
    names |= {AUTHORS_STIMULI[Path(name).stem] for name in names if Path(name).stem in AUTHORS_STIMULI}
    return sorted(name for name in names if name in catalogue.files)
