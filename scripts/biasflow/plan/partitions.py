"""To which partitions of Slurm the jobs of a run go, and what they ask for, told or refused before the first one.

The executor decides when it submits a job; a dry run has no executor, so the same functions of it are asked here."""

import contextlib
import importlib
import io
import logging
import math
import sys
from collections.abc import Iterable
from pathlib import Path

from biasflow.base.errors import BiasflowError, headline

TO_FILL_IN = ("CPU_PARTITION", "GPU_PARTITION")  # as profiles/slurm/partitions.yaml comes
QUIET = logging.Logger("partitions", logging.CRITICAL)


def partition_file() -> Path | None:
    """Return the file of partitions that the command, or its profile, names; None if there is none."""
    from snakemake.cli import parse_args

    with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        _, options = parse_args(sys.argv[1:])
        if file := getattr(options, "slurm_partition_config", None):
            return Path(file)
    return None


def asked_of_slurm(jobs: Iterable, file: Path) -> str:
    """Return which partitions jobs go to, with the time and memory that they ask for, in one line; "" if there are
    none. BiasflowError if a partition has no name of the user's, or no partition takes a job."""
    executor = importlib.import_module(
        "snakemake_executor_plugin_slurm.partitions"
    )  # is there, as the profile names it
    try:
        partitions, jobs_by_name = executor.read_partition_file(file), {}
    except Exception as error:  # of many kinds
        raise BiasflowError(
            f"{file}: lists no partitions ({headline(error)}); write them as profiles/slurm does"
        ) from error
    for job in jobs:
        name = job.resources.get("slurm_partition") or executor.get_best_partition(partitions, job, QUIET)
        if name is None:
            raise BiasflowError(
                f"{file}: no partition takes rule {job.name}, which asks for {_asked([job])}; raise their limits, or "
                f"ask for less (--set-resources {job.name}:runtime=MINUTES {job.name}:mem_mb=MEGABYTES)"
            )
        jobs_by_name.setdefault(name, []).append(job)
    if unfilled := [name for name in TO_FILL_IN if name in jobs_by_name]:
        raise BiasflowError(
            f"{file}: {unfilled[0]} stands for the name of a partition, to which {len(jobs_by_name[unfilled[0]])} jobs "
            "would go; write the name of one of your cluster's in its place (sinfo lists them)"
        )
    texts = [f"{len(group)} to the partition {name} ({_asked(group)})" for name, group in jobs_by_name.items()]
    return f"jobs for Slurm: {', '.join(texts)}" if texts else ""


def _asked(jobs: list) -> str:
    """What jobs ask for, in words."""
    minutes, memory = (
        [value for job in jobs if isinstance(value := job.resources.get(name), int | float)] or [0]
        for name in ("runtime", "mem_mb")  # of the user's, some may be known later only
    )
    gpu = " and a GPU" if any(job.resources.get("gpu") for job in jobs) else ""
    together = f", {sum(minutes) / 60:.1f} hours together" if len(jobs) > 1 else ""
    return f"up to {max(minutes) / 60:.1f} hours, {math.ceil(max(memory) / 1000)} GB{gpu} each{together}"
