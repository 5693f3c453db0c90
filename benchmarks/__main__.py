"""All benchmarks, one after the other, into one table. Each row is shown and kept as soon as it is measured."""

import sys
import time

import pandas as pd

from benchmarks import erasers, methods, metrics, pretraining, readouts, start, tasks
from biasflow.base.tabular import write_csv

BENCHMARKS = [  # the dear ones last
    metrics.bench_weat,
    metrics.bench_fairness,
    erasers.bench_densray,
    readouts.bench_heads,
    readouts.bench_ceat,
    readouts.bench_probe,
    pretraining.bench_pretraining,
    start.bench_start,
    tasks.bench_coreference,
    tasks.bench_finetuning,
    readouts.bench_first_token,
    methods.bench_contexts,
    methods.bench_passes,
    methods.bench_sweep,
    readouts.bench_nli,
]


def main(path: str) -> None:
    rows, began = [], time.monotonic()
    for benchmark in BENCHMARKS:
        for measured in benchmark():
            rows.append(measured)
            shown = ", ".join(f"{name} {value}" for name, value in measured.items())
            print(f"{time.monotonic() - began:.0f} s: {shown}", flush=True)
            write_csv(pd.DataFrame(rows), path)


if __name__ == "__main__":
    main(sys.argv[1])
