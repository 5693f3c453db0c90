"""Readouts: predictions under a grid, probes, heads, cosines in context, vectors of texts."""

import statistics
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from benchmarks.encoders import planted_pairs, small_bert
from benchmarks.methods import random_subspaces
from benchmarks.timing import REPEATS, in_turn, one_thread, peak_gib, row, seconds
from biasflow.base.progress import progress
from biasflow.corpora.nli import LABELS
from biasflow.encoders.batches import encode, padded
from biasflow.encoders.edit import edited
from biasflow.encoders.first_token import first_token_vectors
from biasflow.methods.fitted import NONE, Active, Fitted, Grid
from biasflow.methods.grid import all_settings, edits_of
from biasflow.metrics.combined_effect import draw_effects
from biasflow.readouts.cosines import drawn_cosines
from biasflow.readouts.families import probed
from biasflow.readouts.linear_heads import train_heads
from biasflow.readouts.predictions import batches, predict
from biasflow.readouts.probe import Code, send
from biasflow.readouts.reader import Reader
from biasflow.tasks.cuts import BALANCED, Cut, control_labels, probe_split
from biasflow.training.examples import Examples
from tests.unit.reference_ceat import one_by_one as ceat_one_by_one
from tests.unit.reference_probe import codelength_one_by_one, train_head


def bench_nli(*, occupations: int = 82, sample: int = 64, layers: int = 12, hidden: int = 384) -> Iterator[dict]:
    """All 76 settings on gender-occupation pairs, against one plain pass and 76 hooked ones."""
    model, batch_size = small_bert(len(LABELS), layers=layers, hidden=hidden), 64
    pairs, tokenizer = planted_pairs(occupations)
    subspaces = random_subspaces(model.config.hidden_size, model.config.num_attention_heads)
    settings = all_settings()
    methods = {NONE: (Active(NONE),), "grid": Grid("grid", tuple(settings[1:]), subspaces)}  # the first is the base
    reader = Reader(model, tokenizer, Fitted(methods, {name: [] for name in methods}), batch_size)
    examples = Examples(pairs.sentences, pairs.shape, LABELS)

    @torch.inference_mode()
    def plain_pass(examples: Examples) -> None:
        """The classes of all pairs without any intervention, in the same batches."""
        for _ in batches(lambda batch: model(**batch).logits.argmax(-1), reader, examples):
            pass

    plain_pass(replace(examples, shape=(1, *examples.shape[1:])))  # warm up
    plain = seconds(lambda: plain_pass(examples))
    before = peak_gib()
    ours = seconds(lambda: predict(reader, examples))
    memory = peak_gib() - before
    batch = padded(encode(tokenizer, *pairs.sentences(0, sample)), range(sample), model, tokenizer)
    hooked = 0.0
    for setting in progress(settings, total=len(settings), description="hooked"):
        with torch.inference_mode(), edited(model, edits_of(setting, subspaces)):
            hooked += seconds(lambda: model(**batch).logits.argmax(-1))
    threads, n = torch.get_num_threads(), len(settings)
    size = f"{len(pairs)} pairs, random BERT of {layers} layers x {hidden}, batches of {batch_size}, {threads} threads"
    yield row(
        f"NLI: {n} settings against one plain pass",
        ours,
        plain,
        f"{size}; 1/ratio is the cost in plain passes; memory above the model and one pass {memory:.2f} GiB",
    )
    yield row(
        f"NLI: {n} settings against {n} hooked passes",
        ours,
        hooked * len(pairs) / sample,
        f"{size}; the hooked passes timed on {sample} pairs and scaled",
    )


def bench_probe(*, n: int = 4000, dimension: int = 256, seeds: int = 10, hidden: int = 32) -> Iterator[dict]:
    """The online code of gender, all portions and seeds in lockstep, against one probe after the other: of a linear
    probe, and of one with a hidden layer."""
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=n)
    X = rng.normal(size=(n, dimension)).astype(np.float32)
    X[:, 0] += z  # the probe has something to find, but not everything
    train, dev, test = probe_split(n, 0)
    data = {"X_dev": X[dev], "z_dev": z[dev], "X_test": X[test], "z_test": z[test]}

    def ours(seeds: range, units: int) -> None:
        send(X, [Code(z, train, dev, test, seed) for seed in seeds], hidden=units)

    note = f"{n} vectors of {dimension} dimensions, one thread; the plain way timed on one seed"
    with one_thread():
        for kind, units in (("MDL probe", 0), (f"MDL probe with {hidden} hidden units", hidden)):
            ours(range(1), units)  # warm up
            plain = seconds(lambda k=units: codelength_one_by_one(X[train], z[train], seed=0, hidden=k, **data))
            for name, n_seeds in (("one seed", 1), (f"{seeds} seeds", seeds)):
                together = statistics.median(seconds(lambda k=n_seeds, u=units: ours(range(k), u)) for _ in range(3))
                yield row(f"{kind}, {name}: in lockstep against one by one", together, n_seeds * plain, note)


def bench_families(*, n: int = 2300, dimension: int = 384, splits: int = 6, hidden: int = 50) -> Iterator[dict]:
    """Probes of four families of true and shuffled labels, against the online code of the same by a linear probe."""
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=n)
    X = rng.normal(size=(n, dimension)).astype(np.float32)
    X[:, :8] += 0.5 * z[:, None]
    X *= np.geomspace(1, 0.02, dimension, dtype=np.float32)[rng.permutation(dimension)]  # as in an encoder's states
    cuts = [Cut(BALANCED, str(seed), [seed], *probe_split(n, seed), control_labels(z, seed)) for seed in range(splits)]
    labels = {"true": [z] * splits, "shuffled": [cut.control for cut in cuts]}
    codes = [Code(y, cut.train, cut.dev, cut.test, 0) for cut in cuts for y in (z, cut.control)]
    with one_thread():
        families, linear = in_turn(lambda: probed(X, cuts, labels, hidden), lambda: send(X, codes))
    note = f"{n} vectors of {dimension} dimensions, {splits} splits, one thread"
    yield row("probes of four families against the linear probe's online code", families, linear, note)


def bench_heads(*, n: int = 5000, dimension: int = 768, heads: int = 10, timed: int = 3) -> Iterator[dict]:
    """Linear heads on the same vectors, trained together, against one by one."""
    classes, train = 28, n * 4 // 5
    generator = torch.Generator().manual_seed(0)
    X, y = torch.randn(n, dimension, generator=generator), torch.randint(classes, (n,), generator=generator)
    data = (X[:train], y[:train], X[train:], y[train:])
    options = {"n_classes": classes, "epochs": 2}
    rows = {"rows": [np.arange(train)] * heads, "valid_rows": [np.arange(train, n)] * heads}

    def together() -> None:
        train_heads(X, y.numpy(), seeds=range(heads), **rows, **options)

    def one_by_one(seeds: range) -> None:
        for seed in seeds:
            train_head(*data, seed=seed, **options)

    together(), one_by_one(range(1))  # warm up
    plain = seconds(lambda: one_by_one(range(timed))) * heads / timed
    note = f"{n} vectors of {dimension} dimensions, {classes} classes, 2 epochs; the plain way timed on {timed} heads"
    yield row(f"{heads} linear heads together against one by one", seconds(together), plain, note)


def bench_ceat(*, draws: int = 1000, timed: int = 100, dimension: int = 768) -> Iterator[dict]:
    """CEAT's draws, both orders of roles, against a draw at a time (one order), word by word with scikit-learn."""
    words, contexts = 8, 200
    sets = np.random.default_rng(0).normal(size=(4, words, contexts, dimension)).astype(np.float32)
    sets = [list(vectors) for vectors in sets]

    def at_once() -> None:
        draw_effects(drawn_cosines(*sets, draws=draws, seed=0), (words,) * 4)

    at_once()  # warm up
    ours = statistics.median(seconds(at_once) for _ in range(REPEATS))
    plain = seconds(lambda: ceat_one_by_one(*sets, draws=timed, seed=0)) * draws / timed
    note = f"{draws} draws, 4 sets of {words} words, {dimension} dimensions; the plain way timed on {timed} draws"
    yield row("CEAT: draws at once against draw by draw", ours, plain, note)


def bench_first_token(*, n: int = 256, layers: int = 12, hidden: int = 384) -> Iterator[dict]:
    """The first token's vectors of texts in length-sorted batches against one text at a time, padded to 128 tokens."""
    _, tokenizer = planted_pairs()
    rng = np.random.default_rng(0)
    words = sorted(word for word in tokenizer.get_vocab() if word.isalpha())
    texts = [" ".join(rng.choice(words, size=size)) for size in rng.integers(20, 60, size=n)]
    model, timed = small_bert(2, layers=layers, hidden=hidden), n // 4

    def padded() -> None:
        with torch.inference_mode():
            for text in texts[:timed]:
                batch = tokenizer(text, padding="max_length", max_length=128, truncation=True, return_tensors="pt")
                model.base_model(**batch)

    first_token_vectors(model, tokenizer, texts[:timed], max_length=128)  # warm up
    ours = seconds(lambda: first_token_vectors(model, tokenizer, texts, max_length=128))
    size = f"{n} texts of 20 to 60 words, random BERT of {layers} layers x {hidden}"
    note = f"{size}; the plain way timed on {timed} and scaled"
    yield row("[CLS] vectors: length-sorted batches against a padded text at a time", ours, 4 * seconds(padded), note)
