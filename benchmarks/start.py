"""The processor time that a job needs to start, compared with its one indispensable import."""

import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.timing import row
from biasflow.registry import METRICS, READOUTS, module_of


def processor_seconds(*modules: str) -> float:
    """Return user and system time, in seconds, of a process that imports these modules and ends."""
    before = children()
    subprocess.run([sys.executable, "-c", f"import {', '.join(modules)}"], check=True)
    return children() - before


def bench_start(*, repeats: int = 3) -> Iterator[dict]:
    """A readout of a model against torch alone, one of stored vectors too, and a scoring job against pandas alone."""
    jobs = {
        "readout with a model": ("torch", "biasflow.readouts.source", module_of(READOUTS["vectors"])),
        "readout of stored vectors": ("torch", "biasflow.readouts.source", module_of(READOUTS["probes"])),
        "scoring job": ("pandas", "biasflow.results.changes", module_of(METRICS["weat"])),
    }
    for name, (least, *modules) in jobs.items():
        works = [("_rule", *modules), (least,)]
        times = [[processor_seconds(*work) for work in works] for _ in range(repeats)]  # in turn
        ours, other = map(statistics.median, zip(*times, strict=True))
        yield row(f"start of a {name} against `import {least}`", ours, other, "processor time of whole processes")


def children() -> float:
    """Return the processor time, in seconds, of all processes that this one has started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
