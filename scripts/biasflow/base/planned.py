"""The jobs that the plan of a run has for its results, to compare them with the jobs that made these.

results/<run>/provenance/run.json has a digest of rule and parameters for every result, as the last start of the run
planned it. A record tells what made the result that lies there: of another seed or learning rate, where somebody put
another result in its place, with its record. The file also has what all jobs of a start share: configuration, versions
and commit, once for each start that had others."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json, whole_file
from biasflow.base.records import PROVENANCE, RESULTS, RUN_FILE, digest_of, read_record, record_file

PLANNED, STARTS = "planned", "starts"
FACTS = ("config", "versions", "git")


class Planned(NamedTuple):
    """The planned job of a result; finished: whether the result exists and is up to date."""

    rule: str
    params: Mapping
    finished: bool


def planned_jobs(dag) -> dict[str, Planned]:
    """Return result -> its job, for all results that the targets need; dag: Snakemake's graph of all jobs."""
    return {
        path: Planned(job.rule.name, dict(job.params.items()), finished=not dag.needrun(job))
        for job in dag.jobs
        for path in job.output
    }


def run_file(run: str) -> Path:
    """Return the path of the file with a run's plan and the facts that its jobs share."""
    return Path(RESULTS, run, PROVENANCE, RUN_FILE)


def planned(run: str) -> dict[str, str]:
    """Result -> digest of the job that makes it (`job_digest`), as the run was planned last; nothing before its first
    start. BiasflowError for a file that does not say so."""
    return _about(run_file(run))[PLANNED]


def job_facts(record: Mapping) -> dict:
    """Return configuration, versions and commit of the job that wrote a record: its own, or those of the start of the
    run that it names; nothing where that was deleted."""
    path, _, digest = record.get("start", "").rpartition("#")
    return _about(Path(path))[STARTS].get(digest, {}) if path else {key: record[key] for key in FACTS if key in record}


def reference(facts: Mapping, run: str) -> dict:
    """Return how a job's record states `facts` (FACTS): by reference, if the run was started with the same ones; else
    themselves, as on a node of a cluster with other versions."""
    digest = digest_of(facts)
    return {"start": f"{run_file(run)}#{digest}"} if digest in _about(run_file(run))[STARTS] else dict(facts)


def _about(path: Path) -> dict[str, dict]:
    if not path.is_file():
        return {PLANNED: {}, STARTS: {}}
    about = read_json(path)
    if not isinstance(about, dict) or not all(isinstance(about.get(key), dict) for key in (PLANNED, STARTS)):
        raise BiasflowError(f"{path} does not say how results are made; delete it and run again")
    return about


def job_digest(rule: str, params: Mapping) -> str:
    """Return a digest that changes with a job's rule and with each of its parameters, including its code."""
    return digest_of([rule, dict(params)])


def check_as_planned(results: Iterable[str], digests: Mapping[str, str]) -> None:
    """Raise BiasflowError for a result whose record names another job than the run plans for it."""
    for path in map(str, results):
        record = read_record(path)
        if record and path in digests and job_digest(record["rule"], record["params"]) != digests[path]:
            raise BiasflowError(
                f"{path} was made with other parameters than this run has, by its record {record_file(path)}; "
                f"delete {path} and run again"
            )


def start(run: str, jobs: Mapping[str, Planned], facts: Mapping) -> None:
    """Write down how the results of a run are made and what their jobs share (FACTS; what earlier starts wrote stays),
    and look at those that are finished: BiasflowError, one line, for the first without a record, or with that of
    another job."""
    path = run_file(run)
    about = _about(path)
    digests = about[PLANNED] | {path: job_digest(job.rule, job.params) for path, job in jobs.items()}
    starts = about[STARTS] | {digest_of(facts): _plain(facts)}
    with whole_file(path) as temporary:
        text = json.dumps({PLANNED: digests, STARTS: starts}, indent=1, sort_keys=True)
        temporary.write_text(text + "\n", encoding="utf-8")
    faults = [fault for path, job in jobs.items() if job.finished and (fault := _fault(path, job, f"{RESULTS}/{run}/"))]
    if faults:
        more = f" ({len(faults) - 1} more: biasflow check {run})" if len(faults) > 1 else ""
        raise BiasflowError(faults[0] + more)


def _fault(path: str, job: Planned, root: str) -> str:
    record = read_record(path)
    if record is None:  # an external file may have been laid where downloads lie
        absent = path.startswith(root) and Path(path).exists()
        return f"{path} has no record of what made it ({record_file(path)}); delete it and run again" if absent else ""
    if record["rule"] != job.rule:
        return f"{path} was made by the rule {record['rule']}, not by {job.rule}; delete it and run again"
    params = _plain(job.params)
    gone = {*record["params"].get("own", {}).values()} - {*params.get("own", {}).values()}  # contents of a user's files
    if edited := [file for file, digest in record["inputs"].items() if digest in gone]:
        return f"{path} was made of another content of {edited[0]}; delete it and run again"
    differences = _differences(record["params"], params)
    if not differences:
        return ""
    return f"{path} was made with {differences[0]}, which this run does not plan; delete it and run again"


def _differences(recorded: object, now: object, key: str = "") -> list[str]:
    """The differences between two parameters, each in words."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        keys = sorted({*recorded, *now})
        return [
            text
            for name in keys
            for text in _differences(recorded.get(name), now.get(name), f"{key}.{name}".strip("."))
        ]
    return [] if recorded == now else [f"{key} {_short(recorded)} in place of {_short(now)}"]


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(params: Mapping) -> dict:
    return json.loads(json.dumps(dict(params), sort_keys=True, default=str))
