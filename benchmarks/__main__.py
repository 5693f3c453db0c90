"""All benchmarks, one after the other, into one table. Each row is shown and kept as soon as it is measured."""

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from benchmarks import erasers, methods, metrics, pretraining, readouts, several, start, tasks
from biasflow.base.tabular import write_csv

Benchmark = Callable[..., Iterator[dict]]
TINY = {"layers": 2, "hidden": 24}  # of a random BERT
# Benchmark -> the sizes at which a test runs it in a second; without them it has those that it reports. Slow ones last.
BENCHMARKS: Mapping[Benchmark, Mapping[str, object]] = {
    metrics.bench_weat: {"words": 4, "sample": 5},
    metrics.bench_fairness: {"n": 2000, "classes": 4},
    metrics.bench_ranking: {"people": 100, "dimension": 4, "block": 30},
    erasers.bench_densray: {"n": 20, "dimension": 8, "sample": 5},
    readouts.bench_heads: {"n": 100, "dimension": 8, "heads": 2, "timed": 1},
    readouts.bench_ceat: {"draws": 20, "timed": 5, "dimension": 8},
    readouts.bench_probe: {"n": 200, "dimension": 4, "seeds": 2},
    readouts.bench_families: {"n": 200, "dimension": 4, "splits": 2},
    pretraining.bench_pretraining: {"pairs": 8, "layers": 1},
    start.bench_start: {"repeats": 1},
    several.bench_several: {"encoders": 2, "options": ["--dry-run"]},
    tasks.bench_coreference: {"steps": ((2, 48, tasks.SMALL, 40),)},
    tasks.bench_finetuning: {"n": 8, "batch_size": 4, **TINY},
    readouts.bench_first_token: {"n": 8, **TINY},
    methods.bench_contexts: {"n": 12, "sizes": ((2, 24),)},
    methods.bench_passes: {"batch": 2, **TINY},
    methods.bench_sweep: {"batch": 2, **TINY},
    readouts.bench_nli: {"occupations": 2, "sample": 4, **TINY},
}


def main(path: str, benchmarks: Mapping[Benchmark, Mapping[str, object]]) -> None:
    """Run the benchmarks at these sizes, and write their rows into the CSV file `path`. One that fails keeps no other
    from running: its traceback is printed, and the command ends with exit code 1 and the names of those that failed."""
    rows, failed, began = [], [], time.monotonic()
    for benchmark, sizes in benchmarks.items():
        try:
            for measured in benchmark(**sizes):
                rows.append(measured)
                shown = ", ".join(f"{name} {value}" for name, value in measured.items())
                print(f"{time.monotonic() - began:.0f} s: {shown}", flush=True)
                write_csv(pd.DataFrame(rows), path)
        except Exception:
            traceback.print_exc()
            failed.append(benchmark.__name__)
    if failed:
        sys.exit(f"biasflow: {len(failed)} benchmark(s) failed: {', '.join(failed)}; their tracebacks stand above")


if __name__ == "__main__":
    main(sys.argv[1], {benchmark: {} for benchmark in BENCHMARKS})
