"""How easily gender is read off a representation: the online code (minimum description length) of a linear probe.

The labels are sent in portions. The first one is sent at log2(K) bits a label; a probe trained on all labels sent so
far then encodes the next portion, and its cross-entropy there is the length of that portion. A representation that
gives gender away at once needs few bits: compression = uniform codelength / online codelength.

Sources: Voita & Titov (2020; the online code), Orgad et al. (2022; section 4.1 and the released probe). The released
code adds losses in nats to terms in bits ("mixed"), and by keeping a reference to the weights instead of a copy of them
it evaluates those of the last epoch, not of the best one ("last"); both readings come from one training. The first part
of a variant says whose labels are sent (`cuts` of each kind of task, tasks.cuts)."""

from collections.abc import Hashable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.readouts.files import METHOD, load_table
from biasflow.results.bootstrap import RESAMPLED, interval, share_interval, weighted_mean

UNITS = ("bits", "mixed")


def online_codelength_of(first: ArrayLike, nats: ArrayLike, *, units: str = "bits") -> np.ndarray:
    """Return the length of the code in bits: 1 bit for each label of the first portion + the probes' cross-entropies.

        online = int(f_0 n) log2(2) + sum over portions of -log2 p(z | x)        uniform = n log2(2)

    first  how many labels were sent before any probe, [...]
    nats   cross-entropy of all later portions together, [...]; turned into bits, or ("mixed") left in nats
    units  of UNITS"""
    return np.asarray(first) + np.asarray(nats) / (np.log(2) if units == "bits" else 1)


def score(path: str | Path) -> pd.DataFrame:
    """Return the compression of gender under every method, in all readings, from a file of `readouts.probes`.

    Columns method, setting, split_seed, readout_seed (the probe's), metric, variant, value, n, low, high, resampled (of
    accuracies only, over the tested people: the readout keeps no code length by label):

        compression, control_compression  uniform / online codelength of the true and of the shuffled labels, variant
                         "<data>-<units>-<checkpoint>"; n: how many labels were sent, with which compression grows
        probe_accuracy   of the probe trained on all labels sent, variant "<data>-<checkpoint>"; n: how many it was
                         tested on

    BiasflowError names a file that is no such readout."""
    columns = ["data", "split_seed", "readout_seed", "control", "keep", "portion", "tested", "n", "nats", "right"]
    table = load_table(path, [*columns, "answers"])
    keys = [*METHOD, "split_seed", "readout_seed"]
    coded, first = table[~table["tested"]], table["portion"] == 0
    parts = coded.assign(first=coded["n"].where(first, 0), nats=coded["nats"].mask(first, 0))
    lengths = parts.groupby([*keys, "data", "control", "keep"], sort=False)[["n", "first", "nats"]].sum().reset_index()
    lengths["metric"] = np.where(lengths["control"], "control_compression", "compression")
    readings = [
        lengths.assign(
            variant=lengths["data"] + f"-{units}-" + lengths["keep"],
            value=lengths["n"] / online_codelength_of(lengths["first"], lengths["nats"], units=units),
        )
        for units in UNITS
    ]
    tests = table[table["tested"] & ~table["control"]]
    accuracy = tests.assign(
        metric="probe_accuracy", variant=tests["data"] + "-" + tests["keep"], value=tests["right"] / tests["n"]
    )
    accuracy["low"], accuracy["high"] = share_interval(accuracy["right"], accuracy["n"])
    accuracy[RESAMPLED] = _resampled(accuracy)
    rows = pd.concat([*readings, accuracy], ignore_index=True)
    return rows[[*keys, "metric", "variant", "value", "n", "low", "high", RESAMPLED]]


def _resampled(tests: pd.DataFrame) -> list[ArrayLike]:
    """Accuracies of resamples of the tested people, for each test of `readouts.probes`; NaN for one of nobody."""
    drawn: dict[Hashable, np.ndarray] = {}
    for n, of_n in tests[tests["n"] > 0].groupby("n"):  # tests of as many people share their draws
        right = np.stack([np.unpackbits(np.frombuffer(told, np.uint8), count=n) for told in of_n["answers"]], axis=1)
        ends = interval(lambda counts, right=right: weighted_mean(counts, right), np.arange(n))
        drawn |= zip(of_n.index, ends.resampled, strict=True)
    return [drawn.get(test, np.nan) for test in tests.index]


def score_probe_mlp(path: str | Path) -> pd.DataFrame:
    """How easily a probe with a hidden layer reads gender off a representation, which need not be linear.

    What a linear eraser has taken out no linear probe finds; a network may still find it. Returns `score` of a file of
    `readouts.probes` with `hidden`; every metric has the prefix "mlp_".

    Source: Pimentel et al. (2020), who probe with networks; the online code is that of Voita & Titov (2020)."""
    return score(path).assign(metric=lambda scores: "mlp_" + scores["metric"])
