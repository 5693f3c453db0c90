"""The jobs of a run, read from the records of its results."""

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.records import (
    PROVENANCE,
    START,
    checked,
    contents,
    record_file,
    record_files,
    result_of,
    start_of,
    upstream,
)

METADATA, WORKFLOW = "ro-crate-metadata.json", "workflow"  # they make the folder of a run a crate
# Contents of the folder besides results: logs, times and plans of jobs, a crate, and files of Snakemake.
WITHOUT_RECORD = ("logs", "benchmarks", "checkpoints", PROVENANCE, "asked.json", METADATA, WORKFLOW)


@dataclass(frozen=True)
class Job:
    """A successful job. inputs, outputs: file -> sha256; about: everything else in its record; records: the files of
    its record, one for each output."""

    rule: str
    started: datetime
    ended: datetime
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    about: Mapping
    records: tuple[str, ...]


def read_jobs(folder: str) -> list[Job]:
    """Return the jobs that made the files of a run and the files that these jobs read (downloads), by time of start.

    BiasflowError, one line that names the file, for a file that was changed, was deleted, or has no record."""
    records = {str(record_file(record["output"])): record for record in upstream(map(result_of, record_files(folder)))}
    if not records:
        raise BiasflowError(
            f"{folder} has no results of the workflow; name the folder of a run, such as results/demo, and do so "
            "where snakemake was started"
        )
    checked(record["output"] for record in records.values())
    jobs = _jobs(records)
    for fault in without_record(Path(folder), written_files(jobs)):
        raise BiasflowError(fault)
    return jobs


def written_files(jobs: Sequence[Job]) -> dict[str, str]:
    """Return file -> sha256 of all files that these jobs wrote."""
    return {file: digest for job in jobs for file, digest in job.outputs.items()}


def gone(jobs: Sequence[Job], folder: str) -> list[str]:
    """Return the files of the run that a job read and that were deleted or made again since."""
    written = written_files(jobs)
    read = {item for job in jobs for item in job.inputs.items()}
    return sorted({path for path, digest in read if Path(path).is_relative_to(folder) and written.get(path) != digest})


def _jobs(records: Mapping[str, Mapping]) -> list[Job]:
    """The jobs of these records: a job writes equal records for all of its outputs, except for the keys of the
    output."""
    of_job: dict[str, list[str]] = {}
    for path, record in sorted(records.items()):
        rest = {key: value for key, value in record.items() if key not in ("output", "sha256")}
        of_job.setdefault(json.dumps(rest, sort_keys=True), []).append(path)
    jobs = []
    for rest, paths in of_job.items():
        about = json.loads(rest)
        about.pop(START, None)
        started = datetime.fromisoformat(about.pop("started"))
        jobs.append(
            Job(
                rule=about.pop("rule"),
                started=started,
                ended=started + timedelta(seconds=about.pop("wall_seconds")),
                inputs=about.pop("inputs"),
                outputs={file: digest for path in paths for file, digest in records[path]["sha256"].items()},
                about={"versions": {}, "git": "unknown", **about, **start_of(records[paths[0]])},
                records=tuple(paths),
            )
        )
    return sorted(jobs, key=lambda job: (job.started, job.records))


def without_record(folder: Path, recorded: Container[str]) -> Iterator[str]:
    """Yield a line for every file of a run that a job has made, judged by its name, and that no record has."""
    for path in contents(folder):
        first = path.relative_to(folder).parts[0]
        if first not in WITHOUT_RECORD and str(path) not in recorded:
            yield f"{path} has no record of what made it ({record_file(path)}); delete it and run again"
