"""Speed as ratios: ours against the straightforward way, timed in the same run. python -m scripts.bench OUT.csv"""

import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import pandas as pd
import torch
from transformers import BertConfig, BertForNextSentencePrediction

from scripts.biasflow.encoders.edit import edited, edits_of
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
from scripts.biasflow.erasers.eraser import Eraser
from scripts.biasflow.progress import progress
from scripts.biasflow.tabular import write_csv

BATCH, TOKENS, REPEATS = 32, 32, 5


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


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


BENCHMARKS = [bench_sweep]


def main(path: str) -> None:
    rows = pd.DataFrame([measured for benchmark in BENCHMARKS for measured in benchmark()])
    write_csv(rows, path)
    print(rows.to_string(index=False))


if __name__ == "__main__":
    main(sys.argv[1])
