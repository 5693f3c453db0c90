"""Checks and plans a configuration: everything that happens before the first job."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from biasflow.base.command_line import file_fault
from biasflow.base.errors import BiasflowError
from biasflow.corpora.catalogue import Catalogue, read_catalogue
from biasflow.plan.cells import plan
from biasflow.plan.checks import check_asked
from biasflow.plan.compiled import compiled
from biasflow.plan.configuration import load_schema, resolve
from biasflow.plan.external import check_files
from biasflow.plan.facts import gather
from biasflow.plan.jobs import Jobs, Plan
from biasflow.plan.setup import Setup


@dataclass(frozen=True)
class Prepared:
    """A configuration, checked and planned."""

    setup: Setup
    catalogue: Catalogue
    plan: Plan
    jobs: Jobs


def prepared(config: Mapping, files: Iterable[str | Path] = ()) -> Prepared:
    """Check and plan a configuration, which was read from `files`; BiasflowError, one line that names the key (or file
    and line), for whatever no job could do."""
    for file in files:  # where Snakemake was told another profile, nobody has looked at them yet
        if problem := file_fault(file):
            raise BiasflowError(problem)
    schema, catalogue = load_schema(), read_catalogue()
    config = resolve(config, schema)
    check_files(config, schema, catalogue)
    setup = Setup(config, gather(config))
    planned = plan(setup)
    check_asked(planned)
    return Prepared(setup, catalogue, planned, compiled(setup, planned, catalogue))
