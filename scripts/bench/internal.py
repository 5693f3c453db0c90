"""Paper C: probes, heads, CEAT, vectors of texts, fairness measures."""

import statistics
import time
from collections.abc import Iterator

import numpy as np
import torch

from scripts.bench.encoders import planted_pairs, small_bert
from scripts.bench.timing import REPEATS, one_thread, row, seconds
from scripts.biasflow.encoders.first_token import first_token_vectors
from scripts.biasflow.metrics import fairness
from scripts.biasflow.metrics.codelength import codelengths, probe_split
from scripts.biasflow.metrics.combined_effect import draw_effects
from scripts.biasflow.metrics.occupation import occupation_rows
from scripts.biasflow.readouts.heads import train_heads
from tests.unit.reference_ceat import one_by_one as ceat_one_by_one
from tests.unit.reference_probe import codelength_one_by_one, train_head


def bench_probe() -> Iterator[dict]:
    """The online code of gender, all portions and seeds in lockstep, against one probe after the other."""
    n, dimension = 4000, 256
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=n)
    X = rng.normal(size=(n, dimension)).astype(np.float32)
    X[:, 0] += z  # the probe has something to find, but not everything
    train, dev, test = probe_split(n, 0)
    data = {"X_dev": X[dev], "z_dev": z[dev], "X_test": X[test], "z_test": z[test]}

    def ours(seeds: range) -> None:
        codelengths(X[train], z[train], seeds=seeds, **data)

    note = f"{n} vectors of {dimension} dimensions, one thread; the plain way timed on one seed"
    with one_thread():
        ours(range(1))  # warm up
        plain = seconds(lambda: codelength_one_by_one(X[train], z[train], seed=0, **data))
        for name, n_seeds in (("one seed", 1), ("ten seeds", 10)):
            together = statistics.median(seconds(lambda k=n_seeds: ours(range(k))) for _ in range(3))
            yield row(f"MDL probe, {name}: in lockstep against one by one", together, n_seeds * plain, note)


def bench_heads() -> Iterator[dict]:
    """Ten linear heads on the same vectors, trained together, against one by one."""
    n, dimension, classes, heads, timed = 5000, 768, 28, 10, 3
    generator = torch.Generator().manual_seed(0)
    X, y = torch.randn(n, dimension, generator=generator), torch.randint(classes, (n,), generator=generator)
    data = (X[:4000], y[:4000], X[4000:], y[4000:])
    options = {"n_classes": classes, "epochs": 2}

    def together() -> None:
        train_heads(data[0], data[1].numpy(), data[2], data[3].numpy(), seeds=range(heads), **options)

    def one_by_one(seeds: range) -> None:
        for seed in seeds:
            train_head(*data, seed=seed, **options)

    together(), one_by_one(range(1))  # warm up
    plain = seconds(lambda: one_by_one(range(timed))) * heads / timed
    note = f"{n} vectors of {dimension} dimensions, {classes} classes, 2 epochs; the plain way timed on {timed} heads"
    yield row(f"{heads} linear heads together against one by one", seconds(together), plain, note)


def bench_ceat() -> Iterator[dict]:
    """CEAT's draws, both orders of roles, against a draw at a time (one order), word by word with scikit-learn."""
    draws, words, contexts, dimension, timed = 1000, 8, 200, 768, 100
    sets = np.random.default_rng(0).normal(size=(4, words, contexts, dimension)).astype(np.float32)
    sets = [list(vectors) for vectors in sets]
    draw_effects(*sets, draws=draws, seed=0)  # warm up
    ours = statistics.median(seconds(lambda: draw_effects(*sets, draws=draws, seed=0)) for _ in range(REPEATS))
    plain = seconds(lambda: ceat_one_by_one(*sets, draws=timed, seed=0)) * draws / timed
    note = f"{draws} draws, 4 sets of {words} words, {dimension} dimensions; the plain way timed on {timed} draws"
    yield row("CEAT: draws at once against draw by draw", ours, plain, note)


def bench_first_token() -> Iterator[dict]:
    """The first token's vectors of texts in length-sorted batches against one text at a time, padded to 128 tokens."""
    _, tokenizer = planted_pairs()
    rng = np.random.default_rng(0)
    words = sorted(word for word in tokenizer.get_vocab() if word.isalpha())
    texts = [" ".join(rng.choice(words, size=size)) for size in rng.integers(20, 60, size=256)]
    model = small_bert(2)

    def padded() -> None:
        with torch.inference_mode():
            for text in texts[:64]:
                batch = tokenizer(text, padding="max_length", max_length=128, truncation=True, return_tensors="pt")
                model.base_model(**batch)

    first_token_vectors(model, tokenizer, texts[:64], max_length=128)  # warm up
    ours = seconds(lambda: first_token_vectors(model, tokenizer, texts, max_length=128))
    note = f"{len(texts)} texts of 20 to 60 words, random BERT of 12 layers x 384; the plain way timed on 64 and scaled"
    yield row("[CLS] vectors: length-sorted batches against a padded text at a time", ours, 4 * seconds(padded), note)


def bench_fairness() -> Iterator[dict]:
    """All fairness measures of 100,000 predictions from one table of counts, against a mask per class and gender."""
    n, classes = 100_000, 28
    rng = np.random.default_rng(0)
    gold, women = rng.integers(classes, size=n), rng.integers(2, size=n)
    predicted = np.where(rng.random(n) < 0.8, gold, rng.integers(classes, size=n))
    shares = {"train": rng.random(classes)}

    def measure() -> None:
        occupation_rows(fairness.counts(gold, predicted, women, n_classes=classes), shares=shares)

    def with_masks() -> None:
        """The three performance gaps alone."""
        for k in range(classes):
            for z in (0, 1):
                own = women == z
                tp = (own & (gold == k) & (predicted == k)).sum()
                tp / (own & (gold == k)).sum(), tp / (own & (predicted == k)).sum()
                (own & (gold != k) & (predicted == k)).sum() / (own & (gold != k)).sum()

    measure()  # warm up
    started = time.process_time()
    ours = statistics.median(seconds(measure) for _ in range(REPEATS))
    milliseconds = 1000 * (time.process_time() - started) / REPEATS
    note = f"{n} predictions, {classes} classes; ours takes {milliseconds:.0f} ms of processor time for all measures"
    yield row("fairness: all measures from counts against performance gaps from masks", ours, seconds(with_masks), note)
