"""Whether somebody is at work on the results of a run: a process that holds its lock, or jobs in Slurm's queue.

Snakemake's own lock does not tell: whichever run ends first in a folder removes those of all others."""

import atexit
import re
import shutil
import subprocess
from pathlib import Path

from filelock import FileLock, Timeout

from biasflow.base.errors import BiasflowError

LOCK = ".lock"  # in the run's folder; the kernel frees it when the process ends, also after SIGKILL
IN_QUEUE = "pending,running,configuring,suspended"  # not those that are being cancelled
UUID = 37  # characters that the executor ends a job's name with


def is_at_work(folder: str | Path) -> bool:
    """Return whether a process holds the lock of a run's folder."""
    path = Path(folder, LOCK)
    return path.exists() and not _take(path, keep=False)


def begin_work(folder: str | Path) -> None:
    """Hold the lock of a run's folder until this process ends; BiasflowError if another process holds it."""
    path = Path(folder, LOCK)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not _take(path, keep=True):
        raise BiasflowError(
            f"another start of this run is at work in {folder}; wait until it has ended, or name another run (run=NAME "
            "behind --config)"
        )


def _take(path: Path, *, keep: bool) -> bool:
    lock = FileLock(path, timeout=0, mode=0o666)  # for all who may write there
    try:
        lock.acquire()
    except Timeout:
        return False
    except OSError:  # a file system without locks: Snakemake's remains
        return True
    if keep:
        atexit.register(lock.release)
    else:
        lock.release()
    return True


def name_of_jobs(folder: str | Path) -> str:
    """Return how the names of a run's jobs begin in the queue, by which it is told from others."""
    return f"biasflow_{re.sub(r'[^A-Za-z0-9-]', '-', Path(folder).name)}"


def check_queue(folder: str | Path, submitted_from: str) -> None:
    """BiasflowError, with their numbers, if jobs that an earlier start of the run submitted from the same folder are in
    Slurm's queue. Says nothing where Slurm cannot be asked."""
    if shutil.which("squeue") is None:
        return
    command = ["squeue", "--noheader", f"--states={IN_QUEUE}", "--format=%i|%j|%Z"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return
    rows = [line.split("|", 2) for line in said.splitlines() if line.count("|") >= 2]
    ours = name_of_jobs(folder)
    if jobs := [number for number, name, place in rows if name[:-UUID] == ours and place == submitted_from]:
        raise BiasflowError(
            f"{len(jobs)} jobs of an earlier start of this run are in Slurm's queue, and would write the same results; "
            f"cancel them (scancel {' '.join(jobs)}), and run the same command again"
        )
