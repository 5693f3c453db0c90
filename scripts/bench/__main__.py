"""All benchmarks, one after the other, into one table."""

import sys

import pandas as pd

from scripts.bench import densray, internal, projective
from scripts.biasflow.base.tabular import write_csv

BENCHMARKS = [
    projective.bench_sweep,
    projective.bench_nli,
    projective.bench_finetuning,
    densray.bench_densray,
    densray.bench_weat,
    densray.bench_contexts,
    internal.bench_probe,
    internal.bench_heads,
    internal.bench_ceat,
    internal.bench_first_token,
    internal.bench_fairness,
]


def main(path: str) -> None:
    rows = pd.DataFrame([measured for benchmark in BENCHMARKS for measured in benchmark()])
    write_csv(rows, path)
    print(rows.to_string(index=False))


if __name__ == "__main__":
    main(sys.argv[1])
