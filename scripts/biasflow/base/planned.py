"""The jobs that the plan of a run has for its results, compared with the jobs that made these.

A record tells what made the result that lies there: of another seed or learning rate, where somebody put another result
in its place, or where Snakemake was told not to look."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from biasflow.base.errors import BiasflowError
from biasflow.base.paths import CORPORA
from biasflow.base.records import RESULTS, contents, faults, read_record, record_file, record_files, result_of

CODE = "code"  # the parameter with the digest of a job's code
EDITED = "was made by other code than lies here"


class Planned(NamedTuple):
    """The planned job of a result. inputs: the files and folders on which the result depends; due: whether it is made
    in this run, because it is not there or not up to date."""

    rule: str
    params: Mapping
    inputs: tuple[str, ...]
    due: bool


def made(results: Iterable[str]) -> tuple[dict[str, dict], dict[str, str]]:
    """Return result -> record for those of the results that have one, and result -> what is wrong with a record that
    cannot be read."""
    records, damaged = {}, {}
    for path in results:
        try:
            if record := read_record(path):
                records[path] = record
        except BiasflowError as fault:
            damaged[path] = str(fault)
    return records, damaged


def outdated(run: str, content: Callable[[str], str | None]) -> list[str]:
    """Return the results of a run, and the external files, that were made of another content than lies there now, as
    after a run that was killed when it had made a part of its results again. content: as of `check_finished`."""
    folders = (Path(RESULTS, run), Path(CORPORA))
    records, _ = made(result_of(file) for folder in folders for file in record_files(folder))
    now = _content_now(records, content)
    return [path for path, record in records.items() if edited_inputs(record, now)]


def _content_now(records: Mapping[str, Mapping], content: Callable[[str], str | None]) -> Callable[[str], str | None]:
    """The sha256 of a file now: as the record of the result says to which it belongs, or else its `content`."""
    written = {file: digest for record in records.values() for file, digest in record["sha256"].items()}
    return lambda file: written.get(file) or content(file)


def check_finished(jobs: Mapping[str, Planned], content: Callable[[str], str | None]) -> None:
    """Raise BiasflowError, one line, if a result that Snakemake takes as finished has no record, has files that its job
    did not write, or was made by another job than the planned one, or of other contents. What is due is made anew, and
    its record.

    content: the sha256 of a file of the user's, by its path; None for any other."""
    records, damaged = made(jobs)
    now = _content_now(records, content)

    def first_fault(path: str) -> str | None:
        if record := records.get(path):
            return next(_faults(record, jobs[path], now), None)
        if path not in damaged and Path(path).exists():
            return f"{path} has no record of what made it ({record_file(path)}); delete it and run again"
        return damaged.get(path)

    wrong = {path: fault for path, job in jobs.items() if not job.due and (fault := first_fault(path))}
    if wrong:
        first = next(iter(wrong.values()))
        rules = sorted({jobs[path].rule for path, fault in wrong.items() if fault.endswith(EDITED)})
        advice = f"; make what other code has made again with --forcerun {' '.join(rules)}" * first.endswith(EDITED)
        raise BiasflowError(first + (f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else "") + advice)


def _faults(record: Mapping, job: Planned, content: Callable[[str], str | None]) -> Iterator[str]:
    """All that is wrong with a finished result, but for the content of its files."""
    path, advice = record["output"], "delete it and run again"
    if Path(path).exists():
        yield from faults(record, digest=None)
    if record["rule"] != job.rule:
        yield f"{path} was made by the rule {record['rule']}, not by {job.rule}; {advice}"
    for file in edited_inputs(record, content):
        yield f"{path} was made of another content of {file}; {advice}"
    for file in other_inputs(record, job):
        was = "was made" if file in record["inputs"] else "was not made"
        yield f"{path} {was} of {file}, other than this run plans; {advice}"
    if record["params"].get(CODE) != job.params.get(CODE):  # Snakemake did not see it: its own records are not here
        yield f"{path} {EDITED}"
    for difference in differences(record["params"], job.params):
        yield f"{path} was made with {difference}, which this run does not plan; {advice}"


def edited_inputs(record: Mapping, content: Callable[[str], str | None]) -> list[str]:
    """Return the files that had another content when the recorded job read them; content: what a file has now, None for
    a file whose content does not count."""
    return [file for file, digest in record["inputs"].items() if (content(file) or digest) != digest]


def other_inputs(record: Mapping, job: Planned) -> list[str]:
    """Return the files that the recorded job read and the planned one does not, and what only the planned one reads."""
    planned_inputs = set(job.inputs)
    read = {file: planned_inputs.intersection(_above(file)) for file in record["inputs"]}
    unread = planned_inputs.difference(*read.values())
    return sorted(file for file, above in read.items() if not above) + sorted(
        path
        for path in unread
        if contents(Path(path))  # an empty folder leaves nothing in a record
    )


def _above(file: str) -> Iterator[str]:
    """A file and the folders in which it lies."""
    return map(str, (file, *Path(file).parents))


def differences(recorded: object, now: object, key: str = "") -> list[str]:
    """Return the differences between two parameters, each in words."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        names = sorted({*recorded, *now})
        return [
            text
            for name in names
            for text in differences(recorded.get(name), now.get(name), f"{key}.{name}".strip("."))
        ]
    return [] if recorded == now else [f"{key} {short(recorded)} in place of {short(now)}"]


def short(value: object) -> str:
    """Return a value as JSON, cut to 60 characters."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def plain(params: Iterable) -> dict:
    """Return parameters as a record has them: of JSON's types alone."""
    return json.loads(json.dumps(dict(params), sort_keys=True, default=str))
