"""Fits of erasers."""

import statistics
from collections.abc import Iterator

import torch

from benchmarks.timing import REPEATS, row, seconds
from biasflow.erasers import densray


def bench_densray(*, n: int = 1000, dimension: int = 768, sample: int = 2000) -> Iterator[dict]:
    """DensRay's fit against the sum over all pairs that defines it."""
    generator = torch.Generator().manual_seed(0)
    vectors, z = torch.randn(n, dimension, generator=generator), torch.arange(n) % 2
    X = vectors.double()
    pairs = torch.randint(n, (sample, 2), generator=generator).tolist()
    total = X.new_zeros(dimension, dimension)

    def sum_pairs() -> None:
        for i, j in pairs:
            d = X[i] - X[j]
            d /= d.norm().clamp_min(1e-12)
            total.addr_(d, d)

    densray.fit(vectors, z)  # warm up
    ours = statistics.median(seconds(lambda: densray.fit(vectors, z)) for _ in range(REPEATS))
    eigen = seconds(lambda: torch.linalg.eigh(total))  # both ways end with it
    other = seconds(sum_pairs) * n * (n - 1) / 2 / sample + eigen
    note = (
        f"{n} vectors of {dimension} dimensions, {torch.get_num_threads()} threads; the sum takes each unordered pair "
        f"once, timed on {sample} pairs and scaled"
    )
    yield row("DensRay: fit against the sum over pairs", ours, other, note)
