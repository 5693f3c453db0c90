"""Where a result comes from: a log with tracebacks for every rule, and a JSON record beside every result."""

import contextlib
import importlib.metadata
import json
import logging
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from scripts.biasflow.base.errors import headline
from scripts.biasflow.base.files import sha256, whole_file

LIBRARIES = (
    "numpy", "pandas", "scipy", "scikit-learn", "torch", "transformers", "tokenizers", "snakemake",
)  # fmt: skip


@contextlib.contextmanager
def rule_log(path: str | Path, *, rule: str) -> Iterator[logging.Logger]:
    """Log to `path` while the rule works. An exception leaves its traceback there and ends the process with code 1;
    what reaches the terminal is one line with the rule, the error and the log's place."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
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
        logger.exception("rule %s failed: %s", rule, message)
        print(f"biasflow: rule {rule}: {message} (traceback in {path})", file=sys.stderr, flush=True)
        raise SystemExit(1) from error
    finally:
        root.removeHandler(handler)
        handler.close()


def write_provenance(
    outputs: Iterable[str],
    *,
    rule: str,
    inputs: Iterable[str],
    params: Mapping,
    config: Mapping,
    started: float,
    facts: Mapping | None = None,
) -> None:
    """Write <output>.provenance.json beside every output of a rule.

    It holds the resolved configuration, the rule's parameters, library versions, the git commit, the sha256 of the
    inputs, the wall time in seconds, and `facts`: what the rule itself knows (device, seed, origin of a file)."""
    record = {
        "rule": rule,
        "params": dict(params),
        "config": dict(config),
        "inputs": {str(path): sha256(path) for path in _files(inputs)},
        "versions": versions(),
        "git": git_commit(),
        "wall_seconds": round(time.time() - started, 3),
        **(facts or {}),
    }
    for output in outputs:
        with whole_file(f"{output}.provenance.json") as temporary:
            text = json.dumps({"output": str(output), **record}, indent=1, sort_keys=True, default=str)
            temporary.write_text(text + "\n", encoding="utf-8")


def _files(inputs: Iterable[str]) -> list[Path]:
    """The input files, and those of input folders, sorted."""
    paths = map(Path, set(inputs))
    found = {file for path in paths for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()}
    return sorted(found)


def versions() -> dict[str, str]:
    """Python, platform and library versions; a library that is not installed is left out."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for library in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[library] = importlib.metadata.version(library)
    return found


def git_commit() -> str | None:
    """The commit of the working tree, with "+changes" if it has any; None outside a git repository."""
    try:
        root = Path(__file__).parent
        commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=root, text=True, stderr=subprocess.DEVNULL)
        changes = subprocess.check_output(["git", "status", "--porcelain", "-uno"], cwd=root, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.strip() + ("+changes" if changes.strip() else "")
