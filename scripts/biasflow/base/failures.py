"""What to tell the user at the end of a run. No script imports it: an edit runs nothing again."""

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_FAILED = re.compile(r"rule (?P<rule>\S+) failed: (?P<message>.*)")
_JOB = re.compile(
    r"^Error in rule (?P<rule>\S+):\n(?:[ \t]+.*\n)*?[ \t]+log: (?P<path>.+?) \(check log file", re.MULTILINE
)


def failures(logs: Iterable[str | Path]) -> str:
    """What went wrong in a run, in one line, from Snakemake's own logs: the last failed rule's message and its log."""
    found = list(dict.fromkeys(reason for log in logs for reason in _reasons(_text(Path(log)))))
    if not found:
        return "stopped before the end; finished results are kept"
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{found[-1]}{more}. Finished results are kept; the same command goes on from them."


def ended(summary: str | Path, reasons: str | Path, *, since: float) -> str:
    """The summary of a run that ended well, if it was written after `since` (seconds), and what was not measured."""
    summary = Path(summary)
    written = summary.is_file() and summary.stat().st_mtime >= since
    return "\n".join(filter(None, [_text(summary).rstrip("\n") if written else "", unmeasured(reasons)]))


def unmeasured(path: str | Path) -> str:
    """How many cells a run that ended well could not measure, with the first reason of its reasons.csv; "" for none."""
    rows = list(csv.DictReader(_text(Path(path)).splitlines()))
    if not rows:
        return ""
    first = rows[0]
    return (
        f"{len(rows)} cell(s) could not be measured, such as {first['metric']} of {first['encoder']} under "
        f"{first['method']}: {first['reason'].rstrip('.')} (all in {path})"
    )


def _reasons(text: str) -> Iterator[str]:
    for match in _JOB.finditer(text):
        path = match["path"].strip()
        failed = [line for line in map(_FAILED.search, _text(Path(path)).splitlines()) if line]
        if failed:
            yield f"rule {failed[-1]['rule']}: {failed[-1]['message'].rstrip('.')} (log: {path})"
        else:
            yield f"rule {match['rule']} left no message: killed, out of memory, or see above (log: {path})"


def _text(path: Path) -> str:
    """A log, or nothing where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
