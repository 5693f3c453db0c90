"""Check that all files of a run are as its jobs wrote them, from the recorded inputs."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from biasflow.base.at_work import is_at_work
from biasflow.base.errors import BiasflowError
from biasflow.base.files import no_folder, sha256
from biasflow.base.records import (
    PROVENANCE,
    START,
    contents,
    faults,
    read_record,
    record_file,
    record_files,
    result_of,
    start_of,
    upstream,
)
from biasflow.cli.app import Run, app, say, where_made

# Contents of a run's folder besides results: logs, times and plans of jobs, and files of Snakemake.
WITHOUT_RECORD = ("logs", "benchmarks", "checkpoints", PROVENANCE, "asked.json")
Mirror = Annotated[
    str | None,
    typer.Option(metavar="FOLDER", help="compare the copies of external files with those in this mirror, too"),
]


@app.command()
def check(run: Run, mirror: Mirror = None) -> None:
    """Find results of a run that were changed or lost.

    Compares each with its record, and with what it was made of. (`snakemake -n` compares with the
    configuration.)

    Writes a line for each file that is wrong, and ends with 1 if there are any."""
    mirror = mirror and str(Path(mirror).absolute())  # given from the folder where the command is
    with where_made(run) as folder:
        if is_at_work(folder):
            raise BiasflowError(f"a run is at work on {folder}: check again when it has ended")
        lines, summary = check_run(folder, mirror)
    for line in lines:
        say(line)
    say(summary, err=bool(lines))
    raise typer.Exit(bool(lines))


def check_run(folder: Path, mirror: str | None = None) -> tuple[list[str], str]:
    """Return a line for each file in a run's folder that is wrong, and a line that says what was compared.

    Wrong is a result, or an external file that was read, that is not as its job wrote it; whose record is gone,
    damaged, edited or that of another path; or that was made of other bytes than lie there now. What a `mirror` has now
    is compared with what was copied from one. Results that were deleted, and inputs, are counted: tables that were made
    of them stay right."""
    wrong: list[str] = []
    unread: set[str] = set()  # results whose records are told of already

    def read(path: str) -> dict | None:
        try:
            return read_record(path)
        except BiasflowError as fault:
            wrong.append(str(fault))
            unread.add(path)
            return None

    records = list(upstream(map(result_of, record_files(folder)), read))
    existing = [record for record in records if Path(record["output"]).exists()]
    recorded = {file: digest for record in records for file, digest in record["sha256"].items()}
    digest = cache(sha256)
    wrong += _of_starts(records)
    for record in existing:
        wrong += faults(record, digest)
        wrong += _of_inputs(record, recorded, digest)
    wrong += _of_mirror(existing, mirror) if mirror is not None else []
    wrong += _without_record(folder, recorded.keys() | unread)
    wrong = list(dict.fromkeys(wrong))
    lost = {file for record in existing for file in record["inputs"] if not Path(file).exists()}
    gone = len(records) - len(existing)
    summary = f"{folder}: {len(existing)} results in {sum(len(record['sha256']) for record in existing)} files "
    summary += "compared with their records and their inputs"
    summary += f"; {gone} results were deleted since" if gone else ""
    summary += f"; {len(lost)} inputs are there no more" if lost else ""
    found = f"{len(wrong)} fault{'s' * (len(wrong) > 1)}, listed above" if wrong else "all as recorded"
    return wrong, f"{summary}: {found}"


def _of_starts(records: list[dict]) -> Iterator[str]:
    """What says with what configuration and versions the results were made, and was edited or lost."""
    for record in {record.get(START): record for record in records}.values():
        try:
            start_of(record)
        except BiasflowError as fault:
            yield str(fault)


def _of_inputs(record: dict, recorded: Mapping[str, str], digest: Callable[[str], str]) -> Iterator[str]:
    """Inputs that have another content now than when the job read them; where a result was changed behind its record,
    that is told of the result itself."""
    for file in sorted(record["inputs"]):
        if Path(file).is_file() and (recorded.get(file) or digest(file)) != record["inputs"][file]:
            yield f"{record['output']} was made of another content of {file}; delete {record['output']} and run again"


def _without_record(folder: Path, recorded: Collection[str]) -> Iterator[str]:
    """Files that a job has made, judged by their names, and that no record has. recorded: files, and folders all of
    whose files count."""
    for path in contents(folder):
        first = path.relative_to(folder).parts[0]
        if first not in WITHOUT_RECORD and not any(str(place) in recorded for place in (path, *path.parents)):
            yield f"{path} has no record of what made it ({record_file(path)}); delete it and run again"


def _of_mirror(records: list[dict], mirror: str) -> Iterator[str]:
    """External files that were copied from a mirror, in which another content lies now."""
    from biasflow.corpora.catalogue import read_catalogue

    if not Path(mirror).is_dir():
        raise BiasflowError(f"--mirror: {no_folder(mirror)}")
    entries = read_catalogue().files
    for record in records:
        origin = record.get("origin", {})
        if origin.get("source") != "mirror" or origin["name"] not in entries:
            continue
        copy, copied = Path(mirror, entries[origin["name"]].mirror_path), record["output"]
        if not copy.is_file():
            yield f"{copy} is not there, so that {copied} cannot be compared with it"
        elif (now := sha256(copy)) != origin["sha256"]:
            yield (
                f"{copied} was copied from a mirror with the sha256 {origin['sha256']}, and {copy} has {now} now; to "
                f"read this one, delete {copied} and run again"
            )
