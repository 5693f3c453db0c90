"""Formulas: exact WEAT, fairness measures."""

import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.timing import REPEATS, peak_gib, row, seconds
from biasflow.metrics import fairness
from biasflow.metrics.association import weat
from biasflow.metrics.occupation import Tables, occupation_rows
from biasflow.metrics.rankings import exposure_gap, exposures, ndcg, ranks


def bench_weat(*, words: int = 8, sample: int = 500) -> Iterator[dict]:
    """WEAT's exact p for equally many words X and Y, against recomputing all cosines for every partition."""
    X, Y, A, B = np.random.default_rng(0).normal(size=(4, words, 768))
    both = np.concatenate([X, Y])

    def unit(vectors: np.ndarray) -> np.ndarray:
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def associated(targets: np.ndarray) -> float:
        return float((unit(targets) @ unit(A).T).mean(axis=1).sum() - (unit(targets) @ unit(B).T).mean(axis=1).sum())

    def plainly(partitions: list[tuple[int, ...]]) -> list[float]:
        chosen = [np.isin(np.arange(len(both)), partition) for partition in partitions]
        return [associated(both[in_x]) - associated(both[~in_x]) for in_x in chosen]

    partitions = list(itertools.combinations(range(len(both)), len(X)))
    weat(X, Y, A, B)  # warm up
    ours = statistics.median(seconds(lambda: weat(X, Y, A, B)) for _ in range(REPEATS))
    drawn = [partitions[i] for i in np.random.default_rng(1).choice(len(partitions), sample, replace=False)]
    plain = seconds(lambda: plainly(drawn)) * len(partitions) / sample
    note = (
        f"{words} against {words} words, {len(X[0])} dimensions, {len(partitions)} partitions; "
        f"the plain way timed on {sample} partitions and scaled"
    )
    yield row("WEAT: exact p against cosines made anew for every partition", ours, plain, note)


def bench_fairness(*, n: int = 100_000, classes: int = 28) -> Iterator[dict]:
    """All fairness measures of n predictions from one table of counts, against a mask per class and gender."""
    rng = np.random.default_rng(0)
    gold, women = rng.integers(classes, size=n), rng.integers(2, size=n)
    predicted = np.where(rng.random(n) < 0.8, gold, rng.integers(classes, size=n))
    shares = {"train": rng.random(classes)}

    def measure() -> None:
        occupation_rows(Tables(fairness.counts(gold, predicted, women, n_classes=classes)), shares=shares)

    def with_masks() -> None:
        """The three performance gaps alone."""
        for k in range(classes):
            for z in (0, 1):
                of_gender = women == z
                tp = (of_gender & (gold == k) & (predicted == k)).sum()
                tp / (of_gender & (gold == k)).sum(), tp / (of_gender & (predicted == k)).sum()
                (of_gender & (gold != k) & (predicted == k)).sum() / (of_gender & (gold != k)).sum()

    measure()  # warm up
    started = time.process_time()
    ours = statistics.median(seconds(measure) for _ in range(REPEATS))
    milliseconds = 1000 * (time.process_time() - started) / REPEATS
    note = f"{n} predictions, {classes} classes; ours takes {milliseconds:.0f} ms of processor time for all measures"
    yield row("fairness: all measures from counts against performance gaps from masks", ours, seconds(with_masks), note)


def bench_ranking(
    *, people: int = 1_000_000, dimension: int = 384, queries: int = 20, block: int = 50_000
) -> Iterator[dict]:
    """A pool of vectors on the disk, ranked for each query, with exposure gap and nDCG@10: blocks of the pool, and one
    list in memory at a time, against the product of vectors alone."""
    rng = np.random.default_rng(0)
    asked, is_woman = rng.normal(size=(queries, dimension)).astype("float32"), rng.random(people) < 0.5
    is_own = rng.integers(queries, size=people)
    with tempfile.TemporaryFile() as stream:
        for start in range(0, people, block):
            rng.standard_normal((min(block, people - start), dimension), dtype="float32").tofile(stream)

        def products() -> np.ndarray:
            """The similarities [queries, people]."""
            stream.seek(0)
            blocks = (np.fromfile(stream, "float32", block * dimension) for _ in range(0, people, block))
            return np.concatenate([asked @ one.reshape(-1, dimension).T for one in blocks], axis=1)

        def ranked() -> None:
            for query, similarities in enumerate(products()):
                places, own = ranks(similarities), is_own == query
                exposure_gap(exposures(places)[own], is_woman[own])
                ndcg(exposures(places, 10), own, 10)

        plain = seconds(products)
        ours = seconds(ranked)
    note = f"{people:,} vectors of {dimension} dimensions, {queries} queries; peak of the process {peak_gib():.2f} GiB"
    yield row("ranked lists of a pool against the product of its vectors alone", ours, plain, note)
