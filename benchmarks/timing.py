"""Shared by all benchmarks: timing, and the row that they report."""

import resource
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

REPEATS = 5


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def in_turn(*works: Callable[[], object]) -> list[float]:
    """Return the median time of each, in seconds; they run in turn, so that a noisy machine disturbs all alike."""
    times = [[seconds(work) for work in works] for _ in range(REPEATS)]
    return [statistics.median(of_one) for of_one in zip(*times, strict=True)]


@contextmanager
def one_thread() -> Iterator[None]:
    """With one thread, as the rules of probes and heads have it: their products are too small to be shared out."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def row(name: str, ours: float, other: float, note: str) -> dict:
    return {"name": name, "ours_seconds": ours, "other_seconds": other, "ratio": other / ours, "note": note}


def peak_gib() -> float:
    """The most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
