"""The messages at the end of a run. No script imports this module, so an edit makes nothing run again."""

import csv
import errno
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from biasflow.base.errors import FAILED, printable

_FAILED = re.compile(r"rule (?P<rule>\S+) failed: (?P<message>.*)")
_INCOMPLETE = "a job execution failed"  # not there after an interrupt
_INTERRUPTED = ("Terminating processes on user request", "Will exit after finishing currently running jobs")
_FULL = tuple(f"[Errno {number}]" for number in (errno.ENOSPC, errno.EDQUOT))
_DENIED = tuple(f"[Errno {number}]" for number in (errno.EACCES, errno.EPERM, errno.EROFS))
# What Snakemake raises before the first job -> what to do.
_RAISED = {
    "LockException": "another run is at work in this folder, or one was killed and left its lock; if none is at work, "
    "add --unlock to the command, once, and run it again without",
    "ProtectedOutputException": "results cannot be written, because files of earlier runs are read-only; check their "
    "rights, or run with --directory FOLDER elsewhere",
    "IncompleteFilesException": "a killed run left results that are not whole; add --rerun-incomplete to the command",
}
_JOB = re.compile(
    r"^(?P<indent>[ \t]*)Error in rule (?P<rule>\S+):\n"
    r"[ \t]+message: (?P<message>.*(?:\n(?![ \t]).*)*)\n"  # an executor's has several lines
    r"(?:(?![ \t]*Error in rule ).*\n)*?[ \t]+log: (?P<paths>.+?) \(check log file",
    re.MULTILINE,
)
_GROUP = re.compile(
    r"^[ \t]+message: Error in group (?P<group>\S+)\n(?:[ \t]+log: (?P<path>.+?) \(check)?", re.MULTILINE
)
_ADVICE = "For further error details"  # with which every message of an executor ends


class LastWord(logging.Handler):
    """The last line that a user sees, after whatever Snakemake has to say. As a handler of Snakemake's logger it hears
    why a run ends that is not ended by its jobs: interrupted, locked, the disk full. Otherwise it says `message`, or
    `plan`, what was found while planning, if nothing went wrong: Snakemake's own message of an error stays the last."""

    def __init__(self):
        super().__init__()
        self.message, self.heard, self.plan = "", "", ""

    def emit(self, record: logging.LogRecord) -> None:
        text, raised = record.getMessage(), getattr(record, "exception", "")
        if any(words in text for words in _INTERRUPTED):
            self.heard = "interrupted; finished results are kept, and the same command goes on from them"
        elif raised in _RAISED:
            self.heard = _RAISED[raised]
        elif raised and any(number in text for number in _DENIED):
            denied = next(line for line in reversed(text.splitlines()) if any(number in line for number in _DENIED))
            self.heard = f"Snakemake cannot write where it must ({denied.strip()}); check the rights of that place"
        elif raised and any(number in text for number in _FULL):
            self.heard = "no space left on the disk; free some, and the same command goes on from the finished results"
        elif raised:
            self.plan = ""

    def say(self) -> None:
        """Print the one message that applies, if there is one."""
        if line := self.heard or self.message or self.plan:
            print("biasflow: " + "\n".join(map(printable, line.split("\n"))), file=sys.stderr, flush=True)


def failures(logs: Iterable[str | Path], run_logs: Iterable[str | Path] = (), *, since: float = 0) -> str:
    """Return what went wrong in a run, in one line: the last failed rule's message and its log.

    logs: Snakemake's, which name the failed jobs; with --quiet they do not. Then the jobs' own logs in the folders
    `run_logs` are looked through, those written after `since` (seconds)."""
    texts = [_text(Path(log)) for log in logs]
    reasons = list(dict.fromkeys(reason for text in texts for reason in _reasons(text, since)))
    reasons = reasons or [reason for path in _written(run_logs, since) for reason in _reasons_of_job(path)]
    reasons = reasons or [reason for text in texts for reason in _reasons_of_groups(text)]
    if not reasons and any(_INCOMPLETE in text for text in texts):
        return "a job left no message: killed, or out of memory; finished results are kept"
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


def _reasons(text: str, since: float) -> list[str]:
    """What each job that Snakemake calls failed says itself, or else what its executor says, such as why a scheduler
    refused it. Of a group all jobs are called failed: those that say nothing are passed over."""
    reasons: dict[str, str] = {}  # by the job's log: of several tries the last counts
    for match in _JOB.finditer(text):
        paths = match["paths"].split(", ")  # of the rule, and of the scheduler
        fresh = [path for path in paths if _is_since(path, since)]
        from_job = [reason for path in fresh for reason in _reasons_of_job(path)]
        message = " ".join(match["message"].partition(_ADVICE)[0].split()).rstrip(".")
        if from_job:
            reasons[paths[0]] = from_job[0]
        elif message not in ("", "None"):
            reasons[paths[0]] = f"rule {match['rule']}: {message}" + (f" (log: {fresh[-1]})" if fresh else "")
        elif not match["indent"]:
            silent = "left no message: killed, out of memory, or see above"
            reasons[paths[0]] = f"rule {match['rule']} {silent} (log: {paths[-1]})"
    return list(reasons.values())


def _reasons_of_groups(text: str) -> Iterator[str]:
    """Groups of jobs that failed as a whole: Snakemake does not say why."""
    for match in _GROUP.finditer(text):
        if match["path"]:
            yield f"group {match['group']} left no message: killed, or out of memory (log: {match['path']})"
        else:
            yield f"group {match['group']}: the scheduler took no job of it; are the names of its partitions right?"


def _reasons_of_job(path: str | Path) -> Iterator[str]:
    """The last failure that the log of a job tells of, if it tells of any."""
    failed = [line for line in map(_FAILED.search, _text(Path(path)).splitlines()) if line]
    if failed:
        yield f"rule {failed[-1]['rule']}: {failed[-1]['message'].rstrip('.')} (log: {path})"


def _is_since(path: str | Path, since: float) -> bool:
    """Whether a log is of this run: one that a refused job did not write may be there from an earlier run."""
    try:
        return Path(path).stat().st_mtime >= since
    except OSError:
        return False


def _written(folders: Iterable[str | Path], since: float) -> list[Path]:
    """The logs in these folders that were written after `since`, the oldest first."""
    logs = [(path.stat().st_mtime, path) for folder in folders for path in Path(folder).rglob("*.log")]
    return [path for time, path in sorted(logs) if time >= since]


def _text(path: Path) -> str:
    """A log, or nothing where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
