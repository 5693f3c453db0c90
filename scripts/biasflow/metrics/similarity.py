"""The cost of debiasing for encoders without a head: is a sentence still similar to the same sentences as before?

The cosines of a sentence with all others are ranked, in the untouched encoder and under a method; what stays is the
rank correlation of the two. It needs no head, so that every encoder has it.

Source: Kriegeskorte et al. (2008, representational similarity analysis), who correlate all pairs at once; here it is
sentence by sentence, so that a few remote sentences do not decide."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError
from biasflow.readouts.files import METHOD, load_arrays
from biasflow.results.bootstrap import NOWHERE, RESAMPLED, Interval, interval, weighted_mean
from biasflow.results.scores import NA, NONE
from biasflow.results.statistics import row_correlations

LEAST = 4  # sentences: of three, each has the cosines with two others, which correlate at -1 or 1


def similarity_kept(before: ArrayLike, after: ArrayLike) -> np.ndarray:
    """Return how much of every sentence's similarity to the others is kept, [n], from -1 to 1 (all).

    kept_i = Spearman's rho over j != i of cos(h_i, h_j) and cos(h'_i, h'_j), with the vectors h before and h' after:
    before and after are [n, d], row by row of the same sentences. 1: the others are in the same order; 0: in any order.
    Rotating all vectors, or giving each another length, changes nothing. A vector that is zero, before or after, is
    similar to nothing: its sentence is left out, and NaN, as is one whose cosines are all the same.

    Fewer than LEAST sentences have none. Raises BiasflowError for values that are not finite."""
    before, after = (np.asarray(vectors, dtype=float) for vectors in (before, after))
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        raise BiasflowError("similarity: a vector holds a number that is not finite; check the encoder")
    kept, nonzero = np.full(len(before), np.nan), before.any(axis=1) & after.any(axis=1)
    if nonzero.sum() >= LEAST:
        kept[nonzero] = row_correlations(
            _cosines_with_others(before[nonzero]), _cosines_with_others(after[nonzero]), "spearman"
        )
    return kept


def relative_change(before: ArrayLike, after: ArrayLike) -> np.ndarray:
    """Return how far every vector moved, relative to its length: ||h' - h|| / ||h||, [n, d] twice -> [n]; NaN if h =
    0."""
    before, after = (np.asarray(vectors, dtype=float) for vectors in (before, after))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.linalg.norm(after - before, axis=-1) / np.linalg.norm(before, axis=-1)


def score(path: str | Path) -> pd.DataFrame:
    """Return both scores under every method, from a file of readouts/sentence_vectors.py: columns method, setting,
    metric, value, n, low, high, resampled.

    similarity_kept and vector_change: the means of `similarity_kept` and `relative_change` over the sentences for which
    they are defined; n: how many these are; low, high: bootstrap over them (the sentences that each is compared with
    stay). BiasflowError for a readout without the untouched encoder."""
    read = load_arrays(path)
    if (NONE, NA) not in read.axis:
        raise BiasflowError(f"{path}: no vectors of the untouched encoder to compare with; delete it and run again")
    vectors = read.arrays["vectors"]
    before, rows = vectors[read.axis.index((NONE, NA))], []
    for method, after in zip(read.axis, vectors, strict=True):
        for name, values in (
            ("similarity_kept", similarity_kept(before, after)),
            ("vector_change", relative_change(before, after)),
        ):
            defined = values[~np.isnan(values)]
            value = defined.mean() if len(defined) else np.nan
            rows.append((*method, name, value, len(defined), *_interval(defined)))
    columns = [*METHOD, "metric", "value", "n", "low", "high", RESAMPLED]
    return pd.DataFrame(rows, columns=columns)


def _interval(values: np.ndarray) -> Interval:
    if not len(values):
        return NOWHERE
    return interval(lambda counts: weighted_mean(counts, values), np.arange(len(values)))


def _cosines_with_others(vectors: np.ndarray) -> np.ndarray:
    """[n, d] -> [n, n - 1], row i without the cosine of sentence i with itself; rounded, so that equal ones tie."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    n = len(unit)
    return np.round((unit @ unit.T)[~np.eye(n, dtype=bool)].reshape(n, n - 1), 9)
