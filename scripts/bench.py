"""Speed as ratios: ours against the straightforward way, timed in the same run. python -m scripts.bench OUT.csv"""

import itertools
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from torch import nn
from transformers import BertConfig, BertForNextSentencePrediction, BertForSequenceClassification, BertTokenizer

from scripts.biasflow.encoders.batches import encode, grouped_by_length, length_sorted
from scripts.biasflow.encoders.contexts.extraction import hidden_states
from scripts.biasflow.encoders.contexts.occurrences import find_occurrences
from scripts.biasflow.encoders.contexts.places import every_layer
from scripts.biasflow.encoders.edit import edited, edits_of
from scripts.biasflow.encoders.first_token import first_token_vectors
from scripts.biasflow.encoders.interventions import (
    ATTENTION,
    BEFORE,
    LAST,
    POOLED,
    SENTENCE_DEBIAS,
    Subspaces,
    all_settings,
)
from scripts.biasflow.encoders.sweep import sweep
from scripts.biasflow.erasers import densray
from scripts.biasflow.erasers.eraser import Eraser
from scripts.biasflow.metrics import fairness
from scripts.biasflow.metrics.association import weat
from scripts.biasflow.metrics.codelength import codelengths, probe_split
from scripts.biasflow.metrics.combined_effect import draw_effects
from scripts.biasflow.metrics.nli import CLASSES
from scripts.biasflow.planted.nli import occupation_pair_words
from scripts.biasflow.progress import progress
from scripts.biasflow.tabular import write_csv
from scripts.biasflow.tasks.heads import own_heads
from scripts.biasflow.tasks.linear_heads import train_heads
from scripts.biasflow.tasks.nli import chunks_of_occupations, predict
from scripts.biasflow.tasks.occupation_scores import occupation_rows
from scripts.biasflow.text.occupation_pairs import OccupationPairs
from tests.unit.reference_ceat import one_by_one as ceat_one_by_one
from tests.unit.reference_probe import codelength_one_by_one, train_head

BATCH, TOKENS, REPEATS = 32, 32, 5


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


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


def random_subspaces(hidden: int, heads: int) -> Subspaces:
    def eraser(components: int, dimension: int, *leading: int) -> Eraser:
        basis = torch.linalg.qr(torch.randn(*leading, dimension, components))[0].transpose(-1, -2).contiguous()
        return Eraser(basis, torch.rand(*leading, components))

    erasers = {(name, "plain"): eraser(2, hidden) for name in (POOLED, SENTENCE_DEBIAS, LAST, BEFORE)}
    erasers |= {(part, "plain"): eraser(1, hidden // heads, heads) for part in ATTENTION}
    return Subspaces(erasers)


@torch.inference_mode()
def bench_sweep() -> Iterator[dict]:
    """All 76 settings on a random BERT-base against 76 hooked forward passes, and against one plain pass."""
    torch.manual_seed(0)
    model = BertForNextSentencePrediction(BertConfig()).eval()
    subspaces = random_subspaces(model.config.hidden_size, model.config.num_attention_heads)
    ids = torch.randint(1000, model.config.vocab_size, (BATCH, TOKENS))
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    settings = all_settings()
    size = f"random BERT-base, batch {BATCH} x {TOKENS} tokens, {torch.get_num_threads()} threads"

    model(**batch)  # warm up
    before = peak_gib()
    logits = sweep(model, batch, settings, subspaces)
    memory = peak_gib() - before
    plain, swept = [], []
    for _ in range(REPEATS):  # in turn, so that a noisy machine disturbs both alike
        plain.append(seconds(lambda: model(**batch)))
        swept.append(seconds(lambda: sweep(model, batch, settings, subspaces)))
    ours = statistics.median(swept)

    hooked, worst = 0.0, 0.0
    for setting, expected in progress(zip(settings, logits, strict=True), total=len(settings), description="hooked"):
        started = time.perf_counter()
        with edited(model, edits_of(setting, subspaces)):
            found = model(**batch).logits
        hooked += time.perf_counter() - started
        worst = max(worst, float((found - expected).abs().max()))
    yield row(
        "sweep of 76 settings against 76 hooked passes",
        ours,
        hooked,
        f"{size}; largest difference of a logit {worst:.1e}",
    )
    yield row(
        "sweep of 76 settings against one plain pass",
        ours,
        statistics.median(plain),
        f"{size}; 1/ratio is the cost in plain passes; memory above the model and one pass {memory:.2f} GiB",
    )


def small_bert(classes: int) -> BertForSequenceClassification:
    """As deep as BERT-base and half as wide, with random weights: the ratios depend on depth, the time on width."""
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=384, num_attention_heads=12, intermediate_size=1536, num_labels=classes, hidden_dropout_prob=0.0
    )
    config.id2label = dict(enumerate(CLASSES))
    return BertForSequenceClassification(config).eval()


def planted_pairs() -> tuple[OccupationPairs, BertTokenizer]:
    """As many gender-occupation pairs as the paper has, 10,824, in the words of the embedded corpus; a tokenizer."""
    words = occupation_pair_words()
    pairs = OccupationPairs(
        words["occupations"][:82], (*words["templates"], ("saw", "window")), ("man", "lord"), ("woman", "lady"), "the"
    )
    texts = [text for sentences in pairs.sentences(0, len(pairs)) for text in sentences]
    vocabulary = sorted({word for text in set(texts) for word in text.lower().replace(".", " .").split()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = {piece: number for number, piece in enumerate([*special, *vocabulary])}
    return pairs, BertTokenizer(vocab=pieces, model_max_length=128)


@torch.inference_mode()
def plain_pass(model, tokenizer, pairs: OccupationPairs, batch_size: int) -> None:
    """The classes of all pairs without any intervention, in the same batches."""
    for premises, hypotheses in chunks_of_occupations(pairs):
        encoded = encode(tokenizer, premises, hypotheses)
        for _, batch in length_sorted(encoded, tokenizer, batch_size=batch_size):
            model(**batch).logits.argmax(-1)


def bench_nli() -> Iterator[dict]:
    """All 76 settings on the paper's number of gender-occupation pairs against one plain pass and 76 hooked ones."""
    model, batch_size, sample = small_bert(len(CLASSES)), 64, 64
    pairs, tokenizer = planted_pairs()
    subspaces = random_subspaces(model.config.hidden_size, model.config.num_attention_heads)
    settings = all_settings()
    heads = {"own": own_heads(model, len(settings))}
    options = {"reports": {}, "batch_size": batch_size, "description": "bench"}
    plain_pass(model, tokenizer, replace(pairs, occupations=pairs.occupations[:1]), batch_size)  # warm up
    plain = seconds(lambda: plain_pass(model, tokenizer, pairs, batch_size))
    before = peak_gib()
    ours = seconds(
        lambda: predict(
            model, tokenizer, chunks_of_occupations(pairs), len(pairs), settings, subspaces, heads, **options
        )
    )
    memory = peak_gib() - before
    encoded = encode(tokenizer, *pairs.sentences(0, sample))
    _, batch = next(length_sorted(encoded, tokenizer, batch_size=sample))
    hooked = 0.0
    for setting in progress(settings, total=len(settings), description="hooked"):
        with torch.inference_mode(), edited(model, edits_of(setting, subspaces)):
            hooked += seconds(lambda: model(**batch).logits.argmax(-1))
    threads = torch.get_num_threads()
    size = f"{len(pairs)} pairs, random BERT of 12 layers x 384, batches of {batch_size}, {threads} threads"
    yield row(
        "NLI: 76 settings against one plain pass",
        ours,
        plain,
        f"{size}; 1/ratio is the cost in plain passes; memory above the model and one pass {memory:.2f} GiB",
    )
    yield row(
        "NLI: 76 settings against 76 hooked passes",
        ours,
        hooked * len(pairs) / sample,
        f"{size}; the hooked passes timed on {sample} pairs and scaled",
    )


def bench_finetuning() -> Iterator[dict]:
    """Training steps with batches of similar length against all pairs padded to 128 tokens."""
    model, batch_size, n = small_bert(len(CLASSES)).train(), 32, 640
    rng = np.random.default_rng(0)
    # As long as SNLI's pairs: 14 and 8 words on average (Bowman et al. 2015, table 3), and three special tokens.
    lengths = np.clip(rng.gamma(6, 14.1 / 6, n) + rng.gamma(6, 8.3 / 6, n) + 3, 8, 128).astype(int)
    order = grouped_by_length(lengths, batch_size=batch_size, rng=rng)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def train(width: Callable[[np.ndarray], int]) -> None:
        for start in range(0, n, batch_size):
            rows = lengths[order[start : start + batch_size]]
            ids = torch.randint(1000, 30000, (len(rows), width(rows)))
            mask = (torch.arange(ids.shape[1])[None] < torch.from_numpy(rows)[:, None]).long()
            loss = model(input_ids=ids, attention_mask=mask, labels=torch.zeros(len(rows), dtype=torch.long)).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    ours, padded = seconds(lambda: train(np.max)), seconds(lambda: train(lambda rows: 128))
    note = (
        f"{n} pairs of {lengths.mean():.0f} tokens on average, batches of {batch_size}, random BERT of 12 layers x 384"
    )
    yield row("fine-tuning: batches of similar length against padding to 128", ours, padded, note)


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


BENCHMARKS = [
    bench_sweep,
    bench_nli,
    bench_finetuning,
    bench_densray,
    bench_weat,
    bench_contexts,
    bench_probe,
    bench_heads,
    bench_ceat,
    bench_first_token,
    bench_fairness,
]


def main(path: str) -> None:
    rows = pd.DataFrame([measured for benchmark in BENCHMARKS for measured in benchmark()])
    write_csv(rows, path)
    print(rows.to_string(index=False))


if __name__ == "__main__":
    main(sys.argv[1])
