"""Models under many methods: the sweep of a grid, passes that resume at the first edit, states in context."""

import statistics
import time
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import nn
from transformers import BertForNextSentencePrediction, BertForSequenceClassification

from benchmarks.encoders import planted_pairs, random_bert, small_bert
from benchmarks.timing import in_turn, peak_gib, row, seconds
from biasflow.base.progress import progress
from biasflow.encoders import taps
from biasflow.encoders.edit import edited
from biasflow.erasers import conceptor, densray, hard, leace, mean_projection, random, sal, splince
from biasflow.erasers.eraser import Eraser
from biasflow.methods.fitted import NONE, Active
from biasflow.methods.grid import (
    ATTENTION,
    BEFORE,
    LAST,
    POOLED,
    SENTENCE_DEBIAS,
    Subspaces,
    all_settings,
    edits_of,
)
from biasflow.methods.occurrences import find_occurrences
from biasflow.methods.passes import passes
from biasflow.methods.states import WordStates
from biasflow.methods.sweep import grid_vectors

TOKENS = 32


def _inputs(model: nn.Module, batch: int) -> dict[str, torch.Tensor]:
    ids = torch.randint(1000, model.config.vocab_size, (batch, TOKENS))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def _size(model: nn.Module, batch: int) -> str:
    about = model.config
    architecture = f"random BERT of {about.num_hidden_layers} layers x {about.hidden_size}"
    return f"{architecture}, batch {batch} x {TOKENS} tokens, {torch.get_num_threads()} threads"


def random_subspaces(hidden: int, heads: int) -> Subspaces:
    def eraser(components: int, dimension: int, *leading: int) -> Eraser:
        basis = torch.linalg.qr(torch.randn(*leading, dimension, components))[0].transpose(-1, -2).contiguous()
        return Eraser.projection(basis, explained_variance=torch.rand(*leading, components))

    erasers = {(name, "plain"): eraser(2, hidden) for name in (POOLED, SENTENCE_DEBIAS, LAST, BEFORE)}
    erasers |= {(part, "plain"): eraser(1, hidden // heads, heads) for part in ATTENTION}
    return Subspaces(erasers)


@torch.inference_mode()
def bench_sweep(*, batch: int = 32, layers: int = 12, hidden: int = 768) -> Iterator[dict]:
    """All 76 settings on a random BERT, by default BERT-base, against 76 hooked passes, and against one plain pass."""
    torch.manual_seed(0)
    model = BertForNextSentencePrediction(random_bert(layers, hidden)).eval()
    subspaces = random_subspaces(model.config.hidden_size, model.config.num_attention_heads)
    inputs = _inputs(model, batch)
    settings, size = all_settings(), _size(model, batch)

    def sweep() -> torch.Tensor:
        return taps.classify(model, grid_vectors(model, inputs, settings, subspaces))

    model(**inputs)  # warm up
    before = peak_gib()
    logits = sweep()
    memory = peak_gib() - before
    plain, ours = in_turn(lambda: model(**inputs), sweep)

    hooked, worst = 0.0, 0.0
    for setting, expected in progress(zip(settings, logits, strict=True), total=len(settings), description="hooked"):
        started = time.perf_counter()
        with edited(model, edits_of(setting, subspaces)):
            result = model(**inputs).logits
        hooked += time.perf_counter() - started
        worst = max(worst, float((result - expected).abs().max()))
    yield row(
        "sweep of 76 settings against 76 hooked passes",
        ours,
        hooked,
        f"{size}; largest difference of a logit {worst:.1e}",
    )
    yield row(
        "sweep of 76 settings against one plain pass",
        ours,
        plain,
        f"{size}; 1/ratio is the cost in plain passes; memory above the model and one pass {memory:.2f} GiB",
    )


def fitted_erasers(dimension: int, n: int = 400) -> list[Eraser]:
    """Ten erasers as runs have them, fitted to random vectors: methods, random directions, and matched controls."""
    X, z, y = torch.randn(n, dimension), torch.arange(n) % 2, torch.arange(n) % 3
    X[:, 0] += z
    methods = [module.fit(X, z) for module in (conceptor, densray, hard, leace, mean_projection, random, sal)]
    labelled = splince.fit(X, z, y=y)
    return [*methods, labelled, *(random.matched(eraser, X)(0) for eraser in (methods[3], labelled))]


@torch.inference_mode()
def bench_passes(*, batch: int = 32, layers: int = 12, hidden: int = 768) -> Iterator[dict]:
    """Methods beside the untouched model, at the last layer and in all, against plain and against hooked passes."""
    torch.manual_seed(0)
    model = BertForSequenceClassification(random_bert(layers, hidden)).eval()
    inputs = _inputs(model, batch)
    erasers = fitted_erasers(model.config.hidden_size)
    many, size = len(erasers), _size(model, batch)

    def plain() -> torch.Tensor:
        return model(**inputs).logits

    for name, where in (("at the last layer", "last"), ("in all layers", "all")):
        places = taps.resolve(model, where)
        methods = [Active(str(i), edits=tuple((place, eraser) for place in places)) for i, eraser in enumerate(erasers)]

        def hooked(methods: list[Active] = methods) -> list[torch.Tensor]:
            logits = []
            for active in methods:
                with edited(model, active.edits):
                    logits.append(plain())
            return logits

        def together(methods: list[Active] = methods) -> list[torch.Tensor]:
            return passes(model, [Active(NONE), *methods], plain, {})

        worst = max(float((a - b).abs().max()) for a, b in zip(together()[1:], hooked(), strict=True))
        ours, one_pass, all_hooked = in_turn(together, plain, hooked)
        yield row(
            f"{many} methods {name} against one plain pass", ours, one_pass, f"{size}; 1/ratio: cost in plain passes"
        )
        note = f"{size}; largest difference of a logit {worst:.1e}"
        yield row(f"{many} methods {name} against {many} hooked passes", ours, all_hooked, note)


def bench_contexts(*, n: int = 320, sizes: Sequence[tuple[int, int]] = ((4, 128), (12, 384))) -> Iterator[dict]:
    """Hidden states of words in context, batched and sorted by length, against one sentence at a time.

    On a processor the gain is what a sentence at a time wastes outside of matrix products: much in the small encoders
    of the demo, less in larger ones, whose products are nearly as fast for one sentence as for many."""
    _, tokenizer = planted_pairs()
    rng = np.random.default_rng(0)
    words = sorted(word for word in tokenizer.get_vocab() if word.isalpha())
    sentences = [
        " ".join([*rng.choice(words, size=length), ("man", "woman")[i % 2]])
        for i, length in enumerate(rng.integers(5, 40, size=n))
    ]
    occurrences = find_occurrences(tokenizer, sentences, ["man"], ["woman"], n=n // 2 * 2, max_length=64)
    for layers, hidden in sizes:
        model, size = small_bert(2, layers=layers, hidden=hidden), f"{layers} layers x {hidden}"

        def states(batch_size: int, model: nn.Module = model) -> None:
            places = taps.resolve(model, "all")
            WordStates(model, tokenizer, batch_size, sentences, occurrences).at(places)

        states(32)  # warm up
        ours, one_by_one = (statistics.median(seconds(lambda n=n: states(n)) for _ in range(3)) for n in (32, 1))
        note = f"{len(sentences)} sentences of 6 to 40 words, random BERT of {size}, batches of 32, all layers"
        yield row(f"contexts, {size}: batched and length-sorted against a sentence at a time", ours, one_by_one, note)
