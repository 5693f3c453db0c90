"""What a run shows on the terminal in place of Snakemake's lines, which are in its log. No script imports this module,
so an edit makes nothing run again."""

import logging
import sys
import time

from biasflow.base.progress import duration, job_name

# Snakemake's events of single jobs, and what it says of itself.
IN_LOG = "WORKFLOW_STARTED RESOURCES_INFO JOB_STARTED JOB_INFO JOB_FINISHED GROUP_INFO PROGRESS".split()
ALSO = ("Select jobs to execute", "Using shell:", "Conda environments:", "Singularity containers:", "Group jobs:")


class JobLines(logging.Handler):
    """Writes a line for every job that has ended. As a handler of Snakemake's logger it hears of all jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: dict[int, tuple[str, float]] = {}  # job -> its name, and when it began
        self.ended: list[str] = []  # since the last line
        self.table = ""

    def is_shown(self, record: logging.LogRecord) -> bool:
        """Whether Snakemake's own handler of the terminal, of which this is a filter, is to write a line. The table of
        jobs, which a dry run has twice, stands once."""
        event, text = event_of(record), record.getMessage()
        is_again = event == "RUN_INFO" and text == self.table
        self.table = text if event == "RUN_INFO" else self.table
        is_in_log = event in IN_LOG or (not event and text.startswith(ALSO))
        return record.levelno > logging.INFO or not (is_again or is_in_log)

    def emit(self, record: logging.LogRecord) -> None:
        event, now = event_of(record), time.monotonic()
        if event == "JOB_INFO":
            self.begun[record.jobid] = job_name(record.rule_name, record.wildcards.values()), now
        elif event == "JOB_FINISHED":
            name, begun = self.begun.get(record.job_id, ("", now))
            self.ended.append(f"{name} ({duration(now - begun)})")
        elif event == "PROGRESS":
            line = f"{time.strftime('%H:%M:%S')} {record.done} of {record.total} jobs done: {', '.join(self.ended)}"
            print(line, file=sys.stderr, flush=True)
            self.ended = []


def event_of(record: logging.LogRecord) -> str:
    """The name of Snakemake's event that a record is of; "" if it is of none."""
    return getattr(getattr(record, "event", None), "name", "")


def shorten(logger: logging.Logger, workflow) -> None:
    """Have a line for each job on the terminal in place of Snakemake's, unless another handler writes there, the user
    chose by --verbose or --quiet, or biasflow is a module of another workflow."""
    own = [handler for handler in logger.handlers if handler.name == "DefaultStreamHandler"]
    chosen = workflow.output_settings.verbose or workflow.output_settings.quiet
    if own and workflow.is_main_process and not chosen and workflow.modifier.parent_modifier is None:
        lines = JobLines()
        own[0].addFilter(lines.is_shown)
        logger.addHandler(lines)
