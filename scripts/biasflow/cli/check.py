"""Check that all files of a run are as its jobs wrote them, from the recorded inputs, and as the run plans them."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import typer

from biasflow.base.errors import BiasflowError
from biasflow.base.files import sha256
from biasflow.base.planned import check_as_planned, planned, run_file
from biasflow.base.records import read_record, record_file, record_files, record_with, result_of
from biasflow.cli.app import Run, app, say, where_made
from biasflow.crate.records import results_in

Digest = Callable[[str], str]
AT_WORK = (
    "biasflow: a run is making results in {folder} (or was killed and left its lock), so that what it makes now may be "
    "listed as a fault; check again when it has ended"
)


@app.command()
def check(run: Run) -> None:
    """Compare every result of a run with its record, with the plan, and with what it was made of.

    Writes a line for each file that is wrong, and ends with 1 if there are any."""
    with where_made(run) as folder:
        if is_at_work(folder):
            say(AT_WORK.format(folder=folder), err=True)
        faults, summary = check_run(folder)
    for fault in faults:
        say(fault)
    say(summary, err=bool(faults))
    raise typer.Exit(bool(faults))


def is_at_work(folder: Path) -> bool:
    """Whether Snakemake holds its lock on results in a run's folder."""
    locks = Path(".snakemake", "locks").glob("*.output.lock")
    return any(line.startswith(f"{folder}/") for lock in locks for line in lock.read_text("utf-8").splitlines())


def check_run(folder: Path) -> tuple[list[str], str]:
    """Return a line for each file in a run's folder that is wrong, and a line that says what was compared.

    Wrong is a result that is not as its job wrote it; whose record is gone, damaged, edited or that of another path;
    that was made with other parameters than the run plans; or that was made of other bytes than lie there now. Results
    that were deleted, and inputs, are counted: tables that were made of them stay right."""
    name = folder.name
    outputs = [result_of(path) for path in record_files(folder)]
    digests, faults, recorded = planned(name), [], {}
    if not digests:
        faults.append(f"{run_file(name)} is gone, so that parameters cannot be compared; run snakemake again")
    for output in outputs:
        try:
            recorded[output] = read_record(output)
            check_as_planned([output], digests)
        except BiasflowError as error:
            faults.append(str(error))
    existing = {
        output: record for output, record in recorded.items() if any(Path(file).exists() for file in _held(record))
    }
    digest, written = cache(sha256), cache(_written)
    faults += dict.fromkeys(fault for record in existing.values() for fault in _changed(record, digest))
    faults += dict.fromkeys(
        fault
        for record in existing.values()
        for fault in _made_of_another(record, lambda file: written(file) or digest(file))
    )
    known = {file for record in recorded.values() for file in _held(record)} | {*outputs}
    for path in results_in(folder):
        if path not in known and not any(str(parent) in outputs for parent in Path(path).parents):
            faults.append(f"{path} has no record of what made it ({record_file(path)}); delete it and run again")
    count = sum(len(_held(record)) for record in existing.values())
    gone = len(recorded) - len(existing)
    lost = {file for record in existing.values() for file in record["inputs"] if not Path(file).exists()}
    summary = (
        f"{folder}: {len(existing)} results in {count} files compared with their records, the plan and their inputs"
    )
    summary += f"; {gone} results were deleted since" if gone else ""
    summary += f"; {len(lost)} inputs are there no more" if lost else ""
    return (
        faults,
        f"{summary}: {len(faults)} fault{'s' * (len(faults) > 1)}, listed above"
        if faults
        else f"{summary}: all as recorded",
    )


def _held(record: dict) -> dict[str, str]:
    return record["sha256"]


def _changed(record: dict, digest: Digest) -> Iterator[str]:
    for file, recorded in _held(record).items():
        if not Path(file).is_file():
            yield f"{file} is gone; delete {record['output']} and run again"
        elif digest(file) != recorded:
            yield f"{file} is not as its job wrote it; delete {record['output']} and run again"


def _made_of_another(record: dict, digest: Digest) -> Iterator[str]:
    """Inputs that have another content now than when the job read them; where a result was changed behind its record,
    that is told of the result itself."""
    for file in sorted(set(record["inputs"]) - set(record["aside"])):
        if Path(file).is_file() and digest(file) != record["inputs"][file]:
            yield f"{record['output']} was made of another content of {file}; delete {record['output']} and run again"


def _written(file: str) -> str | None:
    """The sha256 of a result's file as its job wrote it; None for a file that no job made."""
    try:
        return _held(record_with(file) or {"sha256": {}}).get(file)
    except BiasflowError:  # told of the record itself
        return None
