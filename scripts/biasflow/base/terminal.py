"""What a run shows on the terminal: a line for each job in place of Snakemake's lines, which are in its log, and the
messages at its end. No script imports this module, so an edit makes nothing run again."""

import contextlib
import csv
import errno
import logging
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from snakemake.common import NOTHING_TO_BE_DONE_MSG

from biasflow.base.errors import FAILED, BiasflowError, nearest, printable
from biasflow.base.progress import duration, job_name

JOB_ERROR, GROUP_ERROR = "JOB_ERROR", "GROUP_ERROR"  # events of Snakemake
_FAILED = re.compile(r"rule (?P<rule>\S+) failed: (?P<message>.*)")
_BUILDING = "Building DAG of jobs..."
_INTERRUPTED = ("Terminating processes on user request", "Will exit after finishing currently running jobs")
_FULL = tuple(f"[Errno {number}]" for number in (errno.ENOSPC, errno.EDQUOT))
_DENIED = (*(f"[Errno {number}]" for number in (errno.EACCES, errno.EPERM, errno.EROFS)), "missing read permissions")
# What Snakemake raises before the first job -> what to do.
_RAISED = {
    "LockException": "another run is at work in this folder, or one was killed and left its lock; if none is at work, "
    "and squeue lists no job of this folder on a cluster, add --unlock to the command, once, and run it again without",
    "IncompleteFilesException": "a killed run left results that are not whole; add --rerun-incomplete to the command",
}
_PROTECTED = re.compile(r"affected files:\s+(?P<path>\S.*)")
_UNKNOWN = re.compile(r"No rule to produce (?P<target>\S+)")
_ADVICE = "For further error details"  # with which every message of an executor ends
# What Slurm, or its executor, writes of a job that asked for too little -> of what, and how to ask for more.
_LIMITS = {
    re.compile(r"OUT_OF_MEMORY|oom[_-]kill|exceeded (?:job |step )?memory limit", re.IGNORECASE): (
        "memory",
        "mem_mb=16000",
    ),
    re.compile(r"TIMEOUT|DUE TO TIME LIMIT"): ("time", "runtime=240"),
}
# Snakemake's events of single jobs, and what it says of itself.
IN_LOG = "WORKFLOW_STARTED RESOURCES_INFO JOB_STARTED JOB_INFO JOB_FINISHED GROUP_INFO PROGRESS".split()
ALSO = ("Select jobs to execute", "Using shell:", "Conda environments:", "Singularity containers:", "Group jobs:")


class LastWord(logging.Filter):
    """The last line that a user sees, after whatever Snakemake has to say. A filter of Snakemake's logger that lets
    everything pass, it hears why a run ends that is not ended by its jobs: interrupted, locked, the disk full.
    Otherwise it says `message`, or `plan`, what was found while planning, if nothing went wrong: Snakemake's own
    message of an error stays the last.

    targets: what a user may name, and why it cannot be made, "" where it can; judging: called before Snakemake judges
    which jobs are due; judged: called once, when it has, before it says so; also where none is."""

    def __init__(self):
        super().__init__()
        self.message, self.heard, self.plan = "", "", ""
        self.failed: list[logging.LogRecord] = []  # what Snakemake says of failed jobs, and of groups of them
        self.targets: Mapping[str, str] = {}
        self.judging: Callable[[], None] = lambda: None
        self.judged: Callable[[], None] | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        """Hear what Snakemake says; everything passes."""
        text, raised, event = record.getMessage(), getattr(record, "exception", ""), event_of(record)
        if event in (JOB_ERROR, GROUP_ERROR):
            self.failed.append(record)
        if text == _BUILDING:
            self.judging()
        if self.judged and (event == "RUN_INFO" or text == NOTHING_TO_BE_DONE_MSG):
            judged, self.judged = self.judged, None
            judged()
        if any(words in text for words in _INTERRUPTED):
            self.heard = "interrupted; finished results are kept, and the same command goes on from them"
        elif raised in _RAISED:
            self.heard = _RAISED[raised]
        elif raised == "ProtectedOutputException" and (protected := _PROTECTED.search(text)):
            path = Path(protected["path"].strip())
            self.heard = (
                f"{path} would be made again and is read-only; make the results writable (chmod -R u+w "
                f"{Path(*path.parts[:2])}), or name another run (--config run=NAME)"
            )
        elif raised == "MissingRuleException" and (unknown := _UNKNOWN.search(text)):
            name = Path(unknown["target"]).stem
            hints = filter(None, [nearest(name, self.targets), "`biasflow list papers` lists those of papers"])
            self.heard = f"there is no target {unknown['target']}; {self.targets.get(name) or '; '.join(hints)}"
        elif raised and any(number in text for number in _DENIED):
            denied = next(line for line in reversed(text.splitlines()) if any(number in line for number in _DENIED))
            self.heard = f"Snakemake cannot read or write where it must ({denied.strip()}); check the rights there"
        elif raised and any(number in text for number in _FULL):
            self.heard = "no space left on the disk; free some, and the same command goes on from the finished results"
        elif raised:
            self.plan = ""
        return True

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """Make a BiasflowError in the context the last line of a run that ends with it."""
        try:
            yield
        except BiasflowError as error:
            self.message = str(error)
            for note in getattr(error, "__notes__", ()):
                print(note, file=sys.stderr)
            raise SystemExit(1) from None

    def say(self) -> None:
        """Print the one message that applies, if there is one."""
        if line := self.heard or self.message or self.plan:
            print("biasflow: " + "\n".join(map(printable, line.split("\n"))), file=sys.stderr, flush=True)


def failures(failed: Iterable[logging.LogRecord], *, since: float = 0) -> str:
    """Return what went wrong in a run, in one line: the last failed rule's message and its log.

    failed: what Snakemake says of failed jobs and groups of them (`LastWord.failed`); since: when the run began
    (seconds)."""
    jobs, groups = [], []
    for record in failed:
        (groups if event_of(record) == GROUP_ERROR else jobs).append(record)
    reasons = _reasons(jobs, since) or [*map(_reason_of_group, groups)]
    if not reasons:
        return "stopped before the end; finished results are kept"
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"{reasons[-1]}{more}. Finished results are kept; the same command goes on from them."


def ended(summary: str | Path, reasons: str | Path, *, since: float) -> str:
    """Return the summary of a successful run, if it was written after `since` (seconds), and what was not measured."""
    summary = Path(summary)
    written = summary.is_file() and summary.stat().st_mtime >= since
    return "\n".join(filter(None, [_text(summary).rstrip("\n") if written else "", unmeasured(reasons)]))


def unmeasured(path: str | Path) -> str:
    """Return what failed in a successful run, a line for each error, and how many other cells it could not measure,
    with the first reason of its reasons.csv; "" where it measured all."""
    rows = list(csv.DictReader(_text(Path(path)).splitlines()))
    failed: dict[str, dict[str, str]] = {}  # the first cell of each error
    for row in rows:
        if row["reason"].startswith(FAILED):
            failed.setdefault(row["reason"], row)
    lines = [f"{row['metric']} of {row['encoder']} {reason}" for reason, row in failed.items()]
    absent = [row for row in rows if row["reason"] not in failed]
    if absent:
        first = absent[0]
        lines.append(
            f"{len(absent)} cell(s) could not be measured, such as {first['metric']} of {first['encoder']} under "
            f"{first['method']}: {first['reason'].rstrip('.')} (all in {path})"
        )
    return "\n".join(lines)


def _reasons(jobs: Iterable[logging.LogRecord], since: float) -> list[str]:
    """What each failed job says itself, or else what its executor says, such as why a scheduler refused it. Of a group
    all jobs are called failed: those that say nothing are passed over."""
    reasons: dict[str, str] = {}  # by the job's log: of several tries the last counts
    for job in jobs:
        rule, logs = job.rule_name, job.log  # of the rule, and of the scheduler
        fresh = [path for path in logs if _is_since(path, since)]
        from_job = next(filter(None, map(_reason_of_job, fresh)), "")
        message = " ".join((job.rule_msg or "").partition(_ADVICE)[0].split()).rstrip(".")
        key = logs[0] if logs else rule
        if from_job:
            reasons[key] = from_job
        elif short := _too_little(rule, message, [path for path in logs[1:] if path in fresh]):
            reasons[key] = f"rule {rule} {short}"
        elif message:
            reasons[key] = f"rule {rule}: {message}" + (f" (log: {fresh[-1]})" if fresh else "")
        elif not job.indent:  # it is of no group
            where = f" (log: {logs[-1]})" if logs else ""
            reasons[key] = f"rule {rule} left no message: killed, out of memory, or see above{where}"
    return list(reasons.values())


def _reason_of_group(group: logging.LogRecord) -> str:
    """What is known of a group of jobs that failed as a whole: Snakemake does not say why."""
    if short := _too_little("RULE", "", group.aux_logs):
        return f"group {group.groupid} {short}"
    if group.aux_logs:
        return f"group {group.groupid} left no message: killed, or out of memory (log: {group.aux_logs[-1]})"
    return f"group {group.groupid}: the scheduler took no job of it; are the names of its partitions right?"


def _too_little(rule: str, message: str, logs: Sequence[str]) -> str:
    """What a job that Slurm has killed asked for too little of, and how to give it more; "" where it was not that.
    message: of the executor; logs: of Slurm."""
    text, where = message + "".join(map(_text, map(Path, logs))), f" (log: {logs[-1]})" if logs else ""
    for written, (what, example) in _LIMITS.items():
        if written.search(text):
            return f"needs more {what} than it asks for: Slurm killed it; add --set-resources {rule}:{example}{where}"
    return ""


def _reason_of_job(path: str | Path) -> str:
    """The last failure that the log of a job tells of; "" if it tells of none."""
    *_, last = "", *_FAILED.finditer(_text(Path(path)))
    return f"rule {last['rule']}: {last['message'].rstrip('.')} (log: {path})" if last else ""


def _is_since(path: str | Path, since: float) -> bool:
    """Whether a log is of this run: one that a refused job did not write may be there from an earlier run."""
    try:
        return Path(path).stat().st_mtime >= since
    except OSError:
        return False


def _text(path: Path) -> str:
    """A log, or nothing where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


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
        """Note when jobs begin and end; write a line for those that have ended when Snakemake counts them."""
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
