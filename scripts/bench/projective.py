"""Paper B: the sweep of all interventions, natural language inference, fine-tuning."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch
from transformers import BertConfig, BertForNextSentencePrediction

from scripts.bench.encoders import planted_pairs, small_bert
from scripts.bench.timing import REPEATS, peak_gib, row, seconds
from scripts.biasflow.base.progress import progress
from scripts.biasflow.encoders.batches import encode, grouped_by_length, length_sorted
from scripts.biasflow.encoders.edit import edited, edits_of
from scripts.biasflow.erasers.eraser import Eraser
from scripts.biasflow.methods.grid import (
    ATTENTION,
    BEFORE,
    LAST,
    POOLED,
    SENTENCE_DEBIAS,
    Subspaces,
    all_settings,
)
from scripts.biasflow.methods.sweep import sweep
from scripts.biasflow.metrics.nli import CLASSES
from scripts.biasflow.readouts.sweep_heads import own_heads
from scripts.biasflow.tasks.nli.task import chunks_of_occupations, predict
from scripts.biasflow.text.occupation_pairs import OccupationPairs

BATCH, TOKENS = 32, 32


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
