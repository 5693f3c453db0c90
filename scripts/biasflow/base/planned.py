"""What the plan of a run says of the job that makes each result, to compare with what did make it.

results/<run>/run.json has a digest of rule and parameters for every result, as the last start of the run planned it. A
record tells what made the result that lies there: of another seed or learning rate, where somebody put another result
in its place, with its record."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json, whole_file
from biasflow.base.records import RESULTS, read_record, record_file

RUN_FILE = "run.json"
PLANNED = "planned"


class Planned(NamedTuple):
    """The job that makes a result; finished: whether the result is there and not to be made again."""

    rule: str
    params: Mapping
    finished: bool


def planned_jobs(dag) -> dict[str, Planned]:
    """Result -> the job that makes it, for all that the targets of a start need; dag: Snakemake's, of all jobs."""
    return {
        path: Planned(job.rule.name, dict(job.params.items()), finished=not dag.needrun(job))
        for job in dag.jobs
        for path in job.output
    }


def run_file(run: str) -> Path:
    return Path(RESULTS, run, RUN_FILE)


def planned(run: str) -> dict[str, str]:
    """Result -> digest of the job that makes it (`job_digest`), as the run was planned last; nothing before its first
    start. BiasflowError for a file that does not say so."""
    path = run_file(run)
    if not path.is_file():
        return {}
    about = read_json(path)
    if not isinstance(about, dict) or not isinstance(about.get(PLANNED), dict):
        raise BiasflowError(f"{path} does not say how results are made; delete it and run again")
    return about[PLANNED]


def job_digest(rule: str, params: Mapping) -> str:
    """Changes with a job's rule and with each of its parameters, its code among them."""
    return hashlib.sha256(json.dumps([rule, _plain(params)], sort_keys=True).encode()).hexdigest()


def check_as_planned(results: Iterable[str], digests: Mapping[str, str]) -> None:
    """BiasflowError for a result that another job made than the run plans for its path, by its record."""
    for path in map(str, results):
        record = read_record(path)
        if record and path in digests and job_digest(record["rule"], record["params"]) != digests[path]:
            raise BiasflowError(
                f"{path} was made with other parameters than this run has, by its record {record_file(path)}; "
                f"delete {path} and run again"
            )


def start(run: str, jobs: Mapping[str, Planned]) -> None:
    """Write down how the results of a run are made (others that it planned before stay), and look at those that are
    finished: BiasflowError, one line, for the first without a record, or with that of another job."""
    digests = planned(run) | {path: job_digest(job.rule, job.params) for path, job in jobs.items()}
    with whole_file(run_file(run)) as temporary:
        temporary.write_text(json.dumps({PLANNED: digests}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
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
    differences = _differences(record["params"], _plain(job.params))
    if not differences:
        return ""
    return f"{path} was made with {differences[0]}, which this run does not plan; delete it and run again"


def _differences(recorded: object, now: object, key: str = "") -> list[str]:
    """Where two parameters differ, each in words."""
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
