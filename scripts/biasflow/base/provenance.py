"""The provenance of results: a log with tracebacks for every rule, and a record for every result."""

import contextlib
import importlib.metadata
import logging
import math
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from biasflow.base.errors import headline
from biasflow.base.files import sha256
from biasflow.base.records import START, contents, write_record
from biasflow.base.shipped import PACKAGE, ROOT

_FINAL = re.compile(r" CRITICAL biasflow: rule \S+ failed: (?P<message>.*)")
LIBRARIES = (
    "numpy", "pandas", "scipy", "scikit-learn", "torch", "transformers", "tokenizers", "accelerate", "snakemake",
    "biasflow",
)  # fmt: skip


@contextlib.contextmanager
def rule_log(path: str | Path, *, rule: str, since: float = math.inf) -> Iterator[logging.Logger]:
    """Log to `path` while the rule works. An exception leaves its traceback there and ends the process with code 1;
    what reaches the terminal is one line with the rule, the error and the log's place.

    since: when the run began (seconds). A scheduler's retry of a job that has told in this run why it failed ends with
    the same line at once, and leaves the log as it is, unless the failure was one of memory or of files."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    told = _final_failure(Path(path), since)
    if told:
        _end(rule, told, path)
    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    logger = logging.getLogger("biasflow")
    try:
        yield logger
    except Exception as error:
        message = headline(error)
        level = logging.ERROR if may_pass(error) else logging.CRITICAL
        logger.log(level, "rule %s failed: %s", rule, message, exc_info=True)
        _end(rule, message, path, error)
    finally:
        root.removeHandler(handler)
        handler.close()


def _end(rule: str, message: str, path: str | Path, error: Exception | None = None) -> NoReturn:
    print(f"biasflow: rule {rule}: {message} (traceback in {path})", file=sys.stderr, flush=True)
    raise SystemExit(1) from error


def may_pass(error: Exception) -> bool:
    """Whether another try, with more memory or at another moment, may go better; also for what such an error caused."""
    of_machine = re.search("allocate memory|out of memory|CUDA error", str(error))
    passing = of_machine or isinstance(error, (MemoryError, OSError))
    return bool(passing) or (isinstance(error.__cause__, Exception) and may_pass(error.__cause__))


def _final_failure(log: Path, since: float) -> str:
    """The message of a failure that another try cannot mend, in a log that was written since; "" for none."""
    if not log.is_file() or log.stat().st_mtime < since:
        return ""
    match = _FINAL.search(log.read_text(encoding="utf-8", errors="replace"))
    return match["message"] if match else ""


def write_provenance(
    outputs: Iterable[str],
    *,
    rule: str,
    inputs: Mapping[str, str],
    params: Mapping,
    config: Mapping,
    started: float,
    facts: Mapping | None = None,
    of_output: Mapping[str, Mapping] | None = None,
) -> None:
    """Write the record of every output of a rule (base.records).

    It holds the sha256 of all files that the output consists of, and of the inputs (records.checked), the resolved
    configuration, the rule's parameters, library versions, the git commit, when the job started (UTC), the wall time
    in seconds, and `facts`: what the rule itself knows (device, seed). of_output: output -> what it knows of this one
    (origin of a file)."""
    record = {
        "rule": rule,
        "params": dict(params),
        "inputs": dict(inputs),
        START: start_facts(config),
        "started": datetime.fromtimestamp(started, UTC).isoformat(),
        "wall_seconds": round(time.time() - started, 3),
        **(facts or {}),
    }
    for output in map(str, outputs):
        digests = {str(file): sha256(file) for file in contents(Path(output))}
        write_record({"output": output, "sha256": digests, **record, **(of_output or {}).get(output, {})})


def start_facts(config: Mapping) -> dict:
    """Return what all jobs share that one start of a run makes: configuration, versions and commit."""
    return {"config": dict(config), "versions": versions(), "git": git_commit()}


def versions() -> dict[str, str]:
    """Return the versions of Python, platform and installed libraries."""
    result = {"python": platform.python_version(), "platform": platform.platform()}
    for library in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            result[library] = importlib.metadata.version(library)
    return result


def git_commit() -> str | None:
    """Return the commit of the checkout, with "+changes" if it has any; None outside a git repository, and of an
    installed package (`versions` has its version)."""
    root = Path(__file__).parent
    if ROOT.is_relative_to(PACKAGE):
        return None
    try:
        commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=root, text=True, stderr=subprocess.DEVNULL)
        changes = subprocess.check_output(["git", "status", "--porcelain", "-uno"], cwd=root, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.strip() + ("+changes" if changes.strip() else "")
