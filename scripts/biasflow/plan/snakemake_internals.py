"""What biasflow asks of Snakemake beyond its documented interface, in one place, as another version may change it.

Tried with Snakemake 9.20 to 9.27; a test holds every name."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from pathlib import Path

from snakemake.jobs import Job

from biasflow.base.paths import is_corpus_file
from biasflow.base.planned import Planned, plain
from biasflow.base.records import record_file


def planned_jobs(dag) -> dict[str, Planned]:
    """Return result -> its job, for all results that the targets need; dag: Snakemake's graph of all jobs."""
    return {
        path: Planned(
            job.rule.name,
            plain(job.params.items()),
            tuple(str(Path(file)) for file in job.input),
            dag.needrun(job),
        )
        for job in dag.jobs
        for path in job.output
        if record_file(path)
    }


def due_jobs(dag) -> list[Job]:
    """Return the jobs that will run."""
    return [*dag.needrun_jobs()]


def submitted(dag) -> list[Job]:
    """Return the jobs that a scheduler gets; to a dry run every job is local."""
    local = dag.workflow._localrules
    return [job for job in due_jobs(dag) if not job.rule.norun and job.rule.name not in local]


def make_again(workflow, results: Collection[str]) -> None:
    """Have these results made again, whatever their times say."""
    workflow.dag.forcefiles.update(results)


def name_submissions(workflow, name: str) -> None:
    """Have Slurm's executor put a name before the id by which it calls and finds its jobs; others have no such id."""
    executor = workflow.scheduler._executor
    if hasattr(executor, "run_uuid"):
        executor.run_uuid = f"{name}_{executor.run_uuid}"


def brought_here(workflow, names: Iterable[str]) -> list[str]:
    """Return where outputs lie that are called so: copies of those in a storage, which are brought here."""
    stored = [file for job in workflow.dag.jobs for file in job.output if file.is_storage]
    found = []
    for name in names:
        copy = next((file for file in stored if file.endswith(f"/{name}")), None)
        if copy is not None:
            workflow.async_run(copy.retrieve_from_storage())
        found.append(name if copy is None else copy)
    return found


def share_corpora(workflow) -> None:
    """Snakemake refuses a run that needs a file which another one makes. External files are shared: their jobs wait for
    one another (scripts/download.py), and no run for another."""
    for name in ("all_inputfiles", "all_outputfiles"):
        setattr(workflow.persistence, name, partial(_not_shared, getattr(workflow.persistence, name)))


def _not_shared(files: Callable[[], Iterable]) -> Iterator:
    return (file for file in files() if not is_corpus_file(str(file)))


def ignore_times(root: Path) -> None:
    """Snakemake takes a file that is newer than a result of it for another content. Of the rules in `root` no result is
    older than anything: what has changed is in their parameters, and in the records (`planned.outdated`)."""
    oldest = Job.output_mintime.fget

    async def time_of(job: Job) -> float | None:
        return math.inf if Path(job.rule.snakefile).is_relative_to(root) else await oldest(job)

    Job.output_mintime = property(time_of)
