"""All benchmarks, one after the other, into one table. Each row is shown as soon as it is measured."""

import sys
import time

import pandas as pd

from scripts.bench import erasers, methods, metrics, readouts, start, tasks
from scripts.biasflow.base.tabular import write_csv

BENCHMARKS = [
    methods.bench_sweep,
    methods.bench_passes,
    methods.bench_contexts,
    readouts.bench_nli,
    readouts.bench_probe,
    readouts.bench_heads,
    readouts.bench_ceat,
    readouts.bench_first_token,
    tasks.bench_finetuning,
    tasks.bench_coreference,
    erasers.bench_densray,
    metrics.bench_weat,
    metrics.bench_fairness,
    start.bench_start,
]


def main(path: str) -> None:
    rows, start = [], time.monotonic()
    for benchmark in BENCHMARKS:
        for measured in benchmark():
            rows.append(measured)
            shown = ", ".join(f"{name} {value}" for name, value in measured.items())
            print(f"{time.monotonic() - start:.0f} s: {shown}", flush=True)
    write_csv(pd.DataFrame(rows), path)


if __name__ == "__main__":
    main(sys.argv[1])
