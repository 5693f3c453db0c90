"""What happens between the start of Snakemake and its first job: the plan, and what is checked with what Snakemake has
found out about its jobs."""

import atexit
import contextlib
import gc
import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from biasflow.base.at_work import begin_work, check_queue, name_of_jobs
from biasflow.base.command_line import WRITTEN
from biasflow.base.errors import BiasflowError
from biasflow.base.files import check_path, check_writable
from biasflow.base.paths import CORPORA
from biasflow.base.planned import check_finished, outdated
from biasflow.base.terminal import LastWord, ended, shorten
from biasflow.plan.asked import remember
from biasflow.plan.changed import check_kept
from biasflow.plan.compiled import Prepared, prepared
from biasflow.plan.device import CUDA, check_device, check_scheduler, planned_device, submits_jobs
from biasflow.plan.external import check_network
from biasflow.plan.listing import announced, costs, not_measured
from biasflow.plan.partitions import asked_of_slurm, partition_file
from biasflow.plan.snakemake_internals import (
    brought_here,
    due_jobs,
    ignore_times,
    make_again,
    name_submissions,
    planned_jobs,
    share_corpora,
    submitted,
)
from biasflow.plan.user_files import UserFiles


class Start(NamedTuple):
    """A run before its first job. device: "cpu" or "cuda"; on_cluster: whether a scheduler starts the jobs; last: what
    says the last line; since: when the run began, in seconds; user_files: the files that no job makes, whose content
    decides what runs again; root: of the project; cores: that the jobs share."""

    prepared: Prepared
    device: str
    on_cluster: bool
    last: LastWord
    since: float
    user_files: UserFiles
    root: Path
    cores: int

    def follow_content(self, workflow) -> None:
        """Have Snakemake, which has no jobs yet, make again what was made of another content, at whatever time."""
        ignore_times(self.root)
        with self.last.ending(), withdrawn():
            behind = outdated(self.prepared.setup.config["run"], self.user_files.content)
        make_again(workflow, behind)
        share_corpora(workflow)

    def compare(self, dag) -> None:
        """Stop, also a dry run, if a GPU or a partition is asked for and there is none, or finished results are not as
        planned."""
        config, jobs = self.prepared.setup.config, planned_jobs(dag)
        with self.last.ending(), withdrawn():
            check_device(self.device, cluster=self.on_cluster)
            check_kept(config, jobs, self.user_files.content)
            check_finished(jobs, self.user_files.content)
            due = {str(file) for job in due_jobs(dag) for file in job.output}
            takes = costs(self.prepared, due, cores=self.cores, on_gpu=self.device == CUDA)
            rules, listed = {job.rule for job in jobs.values()}, f"{self.prepared.setup.paths.root}/plan.csv"
            said = [takes, self.last.plan, not_measured(self.prepared.plan, listed, rules)]
            if self.on_cluster and (file := partition_file()):
                said.append(asked_of_slurm(submitted(dag), file))
            self.last.plan = "\nbiasflow: ".join(filter(None, said))

    def begin(self, workflow) -> None:
        """Stop before the first job if another start is at work on the same results, or nothing can be written,
        submitted or downloaded; note what is asked."""
        setup = self.prepared.setup
        with self.last.ending(), withdrawn():
            check_writable(setup.paths.root)
            begin_work(setup.paths.root)
            check_scheduler(workflow.executor_plugin.name)
            check_queue(setup.paths.root, str(workflow.workdir_init))
            name_submissions(workflow, name_of_jobs(setup.paths.root))
            check_network(due_jobs(workflow.dag), setup.config)
            remember(setup.paths.asked, self.prepared.plan.blocks, setup.facts.asked)
            self.last.say()
            self.last.plan = ""
        os.environ.pop(WRITTEN, None)

    def end(self, workflow) -> None:
        """Say what a successful run has found, and what it could not measure; also where results lie in a storage."""
        names = (f"{self.prepared.setup.paths.root}/{name}" for name in ("summary.txt", "reasons.csv"))
        self.last.message = ended(*brought_here(workflow, names), since=self.since)


def start(config, workflow, logger: logging.Logger, root: Path) -> Start:
    """Plan a run of Snakemake's, and end it with one line where it cannot be planned. logger: Snakemake's; root: of the
    project, whose files are inputs."""
    gc.set_threshold(50_000)  # planning makes objects that stay: looking for cycles among them takes a sixth of it
    last, since = LastWord(), os.environ.setdefault("BIASFLOW_STARTED", str(time.time()))  # jobs read this
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each job would compile all that it imports: half of its start
    logger.addFilter(last)
    atexit.register(last.say)
    shorten(logger, workflow)
    try:
        with withdrawn():
            check_path(root)
            run, settings = prepared(config, workflow.configfiles), workflow.resource_settings
            # A job of a cluster plans again, on its own machine: what it is given was decided before.
            on_cluster = workflow.remote_exec or submits_jobs(settings)
            device = planned_device(run.setup.config["device"], cluster=on_cluster)
            if workflow.is_main_process:
                last.plan = announced(run)
    except BiasflowError as error:
        sys.exit(f"biasflow: {error}")
    files = UserFiles((run.setup.paths.root, CORPORA))
    return Start(run, device, on_cluster, last, float(since), files, root, settings.cores or 1)


@contextlib.contextmanager
def withdrawn() -> Iterator[None]:
    """Let no configuration of a run that is refused before its first job stay behind, if it was written for it."""
    try:
        yield
    except BiasflowError:
        if file := os.environ.get(WRITTEN):
            Path(file).unlink(missing_ok=True)
        raise
