"""All extrinsic scores of occupation classifiers, from their tables of counts (paper C, Orgad et al. 2022)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics import fairness

# Where the share of women in a profession is taken from: the training split (what the paper says), the test split
# (what its code does), or US labour statistics (its figure 7).
SHARES = ("train", "test", "labour")


def occupation_rows(counts: ArrayLike, *, shares: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """Every extrinsic score of one classifier: columns metric, variant, value.

    counts  [2, K, K] of `fairness.counts`
    shares  source (of SHARES) -> share of women in each class [K], NaN for a class that takes no part

        accuracy, independence, test_size (how many people)
        tpr_gap_sum, fpr_gap_sum, precision_gap_sum
        tpr_gap_pearson, fpr_gap_pearson, precision_gap_pearson, each with every source as variant
        separation with the variants "absdiff" and "sum"
        sufficiency with "absdiff", "sum", and by the order-free distance "absdiff-order-free", "sum-order-free"
        undefined_cells with "tpr", "fpr", "precision", "separation", "sufficiency": how many cells, class x gender, are
        0/0

    What cannot be computed is NaN. Raises BiasflowError for counts or shares of another form, shares outside [0, 1],
    and an unknown source or none."""
    counts = np.asarray(counts)
    if counts.ndim != 3:
        raise BiasflowError(f"counts of shape {counts.shape}: give [2, classes, classes], those of one classifier")
    return occupation_rows_of_heads(counts[None], [""], shares=shares).drop(columns="head_seed")


def occupation_rows_of_heads(
    counts: ArrayLike, head_seeds: Sequence[int | str], *, shares: Mapping[str, ArrayLike]
) -> pd.DataFrame:
    """`occupation_rows` of many heads, scored at once: columns head_seed (text), metric, variant, value.

    counts  [heads, 2, K, K]
    head_seeds  one a head, in that order, which the rows keep
    shares  as in `occupation_rows`: the heads have one test set

    Raises BiasflowError as `occupation_rows`, and for seeds that are not one a head or are repeated."""
    counts = np.asarray(counts)
    names = [str(seed) for seed in head_seeds]
    if counts.ndim != 4 or len(names) != len(counts):
        raise BiasflowError(
            f"counts of shape {counts.shape} for {len(names)} head seeds: give [heads, 2, classes, classes], one seed "
            "a head"
        )
    if len(set(names)) < len(names):
        raise BiasflowError(f"head seeds {', '.join(names)}: each head needs a seed of its own")
    scores = _scores(counts, _checked_shares(shares, counts.shape[-1]))
    rows = [
        (name, metric, variant, float(values[number]))
        for number, name in enumerate(names)
        for (metric, variant), values in scores.items()
    ]
    return pd.DataFrame(rows, columns=["head_seed", "metric", "variant", "value"])


def _scores(counts: np.ndarray, shares: Mapping[str, np.ndarray]) -> dict[tuple[str, str], np.ndarray]:
    """(metric, variant) -> the scores of all heads."""
    gaps = fairness.gaps(counts)
    rates = {"tpr": gaps.tpr, "fpr": gaps.fpr, "precision": gaps.precision}
    separation = fairness.separation_distances(counts)
    sufficiency = fairness.sufficiency_distances(counts)
    order_free = fairness.sufficiency_distances(counts, distance="order-free")
    cells = rates | {"separation": separation, "sufficiency": sufficiency}

    scores = {("accuracy", ""): fairness.accuracy(counts)}
    scores |= {(f"{name}_gap_sum", ""): rate.gap_sum() for name, rate in rates.items()}
    scores |= {
        (f"{name}_gap_pearson", source): rate.gap_pearson(share)
        for name, rate in rates.items()
        for source, share in shares.items()
    }
    scores["independence", ""] = fairness.independence(counts)
    for aggregate in fairness.AGGREGATES:
        scores["separation", aggregate] = separation.total(aggregate)
        scores["sufficiency", aggregate] = sufficiency.total(aggregate)
        scores["sufficiency", f"{aggregate}-order-free"] = order_free.total(aggregate)
    scores |= {("undefined_cells", name): values.undefined for name, values in cells.items()}
    scores["test_size", ""] = counts.sum(axis=(1, 2, 3))
    return scores


def _checked_shares(shares: Mapping[str, ArrayLike], n_classes: int) -> dict[str, np.ndarray]:
    """The shares as arrays, in the order of SHARES."""
    unknown = sorted(set(shares) - set(SHARES))
    if unknown or not shares:
        raise BiasflowError(f"shares of women from {', '.join(unknown) or 'nowhere'}: give {', '.join(SHARES)}")
    checked = {source: np.asarray(shares[source], dtype=float) for source in SHARES if source in shares}
    for source, share in checked.items():
        if share.shape != (n_classes,):
            raise BiasflowError(f"shares of women, {source}: shape {share.shape}; give one a class, {n_classes}")
        outside = np.flatnonzero((share < 0) | (share > 1))
        if outside.size:
            raise BiasflowError(
                f"shares of women, {source}: class {outside[0]} has {share[outside[0]]}; give a share between 0 and 1"
            )
    return checked
