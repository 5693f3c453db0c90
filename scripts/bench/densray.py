"""Paper A: DensRay's fit, exact WEAT, hidden states in context."""

import itertools
import statistics
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification

from scripts.bench.encoders import planted_pairs, small_bert
from scripts.bench.timing import REPEATS, row, seconds
from scripts.biasflow.erasers import densray
from scripts.biasflow.methods.contexts.extraction import hidden_states
from scripts.biasflow.methods.contexts.occurrences import find_occurrences
from scripts.biasflow.methods.contexts.places import every_layer
from scripts.biasflow.metrics.association import weat


def bench_densray() -> Iterator[dict]:
    """DensRay's fit against the sum over all pairs that defines it, at n = 1,000 vectors of 768 dimensions."""
    n, dimension, sample = 1000, 768, 2000
    generator = torch.Generator().manual_seed(0)
    masculine, feminine = torch.randn(2, n // 2, dimension, generator=generator)
    X = torch.cat([masculine, feminine]).double()
    pairs = torch.randint(n, (sample, 2), generator=generator).tolist()
    total = X.new_zeros(dimension, dimension)

    def sum_pairs() -> None:
        for i, j in pairs:
            d = X[i] - X[j]
            d /= d.norm().clamp_min(1e-12)
            total.addr_(d, d)

    densray.fit(masculine, feminine)  # warm up
    ours = statistics.median(seconds(lambda: densray.fit(masculine, feminine)) for _ in range(REPEATS))
    eigen = seconds(lambda: torch.linalg.eigh(total))  # both ways end with it
    other = seconds(sum_pairs) * n * (n - 1) / 2 / sample + eigen
    note = (
        f"{n} vectors of {dimension} dimensions, {torch.get_num_threads()} threads; the sum takes each unordered pair "
        f"once, timed on {sample} pairs and scaled"
    )
    yield row("DensRay: fit against the sum over pairs", ours, other, note)


def bench_weat() -> Iterator[dict]:
    """WEAT's exact p, 8 against 8 words, against making every cosine anew for every partition."""
    X, Y, A, B = np.random.default_rng(0).normal(size=(4, 8, 768))
    words, sample = np.concatenate([X, Y]), 500

    def unit(vectors: np.ndarray) -> np.ndarray:
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def associated(targets: np.ndarray) -> float:
        return float((unit(targets) @ unit(A).T).mean(axis=1).sum() - (unit(targets) @ unit(B).T).mean(axis=1).sum())

    def plainly(partitions: list[tuple[int, ...]]) -> list[float]:
        chosen = [np.isin(np.arange(len(words)), partition) for partition in partitions]
        return [associated(words[in_x]) - associated(words[~in_x]) for in_x in chosen]

    partitions = list(itertools.combinations(range(len(words)), len(X)))
    weat(X, Y, A, B)  # warm up
    ours = statistics.median(seconds(lambda: weat(X, Y, A, B)) for _ in range(REPEATS))
    drawn = [partitions[i] for i in np.random.default_rng(1).choice(len(partitions), sample, replace=False)]
    plain = seconds(lambda: plainly(drawn)) * len(partitions) / sample
    note = (
        f"8 against 8 words, {len(X[0])} dimensions, {len(partitions)} partitions; "
        f"the plain way timed on {sample} partitions and scaled"
    )
    yield row("WEAT: exact p against cosines made anew for every partition", ours, plain, note)


def bench_contexts() -> Iterator[dict]:
    """Hidden states of words in context, batched and sorted by length, against one sentence at a time.

    On a processor the gain is what a sentence at a time wastes outside of matrix products: much in the small encoders
    of the demo, less in larger ones, whose products are nearly as fast for one sentence as for many."""
    _, tokenizer = planted_pairs()
    rng = np.random.default_rng(0)
    words = sorted(word for word in tokenizer.get_vocab() if word.isalpha())
    sentences = [
        " ".join([*rng.choice(words, size=length), ("man", "woman")[i % 2]])
        for i, length in enumerate(rng.integers(5, 40, size=320))
    ]
    occurrences = find_occurrences(tokenizer, sentences, ["man"], ["woman"], n=300, max_length=64)
    torch.manual_seed(0)
    demo = BertConfig(hidden_size=128, num_hidden_layers=4, num_attention_heads=4, intermediate_size=256)
    for model, size in ((BertForSequenceClassification(demo).eval(), "4 layers x 128"), (small_bert(2), "12 x 384")):

        def states(batch_size: int, model: nn.Module = model) -> None:
            places = every_layer(model)
            hidden_states(model, tokenizer, sentences, occurrences, places=places, batch_size=batch_size)

        states(32)  # warm up
        ours, one_by_one = (statistics.median(seconds(lambda n=n: states(n)) for _ in range(3)) for n in (32, 1))
        note = f"{len(sentences)} sentences of 6 to 40 words, random BERT of {size}, batches of 32, all layers"
        yield row(f"contexts, {size}: batched and length-sorted against a sentence at a time", ours, one_by_one, note)
