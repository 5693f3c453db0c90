"""All extrinsic scores of occupation classifiers, from their tables of counts (paper C, Orgad et al. 2022)."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.tabular import read_text_csv
from scripts.biasflow.metrics import fairness
from scripts.biasflow.readouts.files import METHOD, load_table

# Where the share of women in a profession is taken from: the training split (what the paper says), the test split
# (what its code does), or US labour statistics (its figure 7).
*_, LABOUR = SHARES = ("train", "test", "labour")
NA = "-"  # a key of the table of scores that does not apply
GENDERS = ("M", "F")  # in the order of the tables of counts


def score(path: str | Path, *, professions: str | Path | None = None) -> pd.DataFrame:
    """Every extrinsic score of every head under every method, from a file of `readouts.heads`: `occupation_rows` with
    the columns method, setting, head, head_seed and split_seed.

    professions: the table of `tasks.occupation.data.profession_table`, for the shares of the labour market; without it
    there are none. BiasflowError names a file that is no such table, and a profession without shares."""
    names = [*METHOD, "head", "head_seed", "split_seed"]
    shares = [f"share_{part}" for part in ("train", "test")]
    table = load_table(path, [*names[2:], "gender", "gold", "predicted", "biographies", *shares])
    classes = sorted({*table["gold"], *table["predicted"]})
    classifier = table.groupby(names, sort=False).ngroup().to_numpy()
    gold, predicted = (pd.Categorical(table[column], classes).codes for column in ("gold", "predicted"))
    gender = pd.Categorical(table["gender"], GENDERS).codes
    counts = np.zeros((classifier.max() + 1, len(GENDERS), len(classes), len(classes)), dtype=np.int64)
    np.add.at(counts, (classifier, gender, gold, predicted), table["biographies"])
    of_women = {part: np.full((len(counts), len(classes)), np.nan) for part in ("train", "test")}
    for part, share in of_women.items():
        share[classifier, gold] = table[f"share_{part}"]
    if professions is not None:
        of_women[LABOUR] = read_labour_shares(professions).reindex(classes).to_numpy(float)
    rows = occupation_rows(counts, shares=of_women)
    heads = table[names].drop_duplicates(ignore_index=True)
    return heads.iloc[rows.pop("classifier")].reset_index(drop=True).join(rows)


def read_labour_shares(path: str | Path) -> pd.Series:
    """Share of women in the labour market by profession, from the table of the data's professions."""
    table = read_text_csv(path).set_index("profession")
    return pd.to_numeric(table["labour_share"], errors="coerce")


def occupation_rows(
    counts: ArrayLike,
    *,
    shares: Mapping[str, ArrayLike],
    gaps: Callable[[np.ndarray], fairness.Gaps] = fairness.gaps,
    separation: Callable[[np.ndarray], fairness.Distances] = fairness.separation_distances,
) -> pd.DataFrame:
    """Every extrinsic score of C classifiers: columns classifier (its number), metric, part, variant, value, n.

    counts  [C, 2, K, K], or [2, K, K] of one classifier, of `fairness.counts`; n is how many people these are
    shares  source (of SHARES) -> share of women in each class that has gaps, [K] or [C, K], NaN for one that takes no
            part in correlations
    gaps, separation  how they follow from the counts, where not all classes have gaps, or not all predictions count

        accuracy, independence, test_size (how many people)
        tpr_gap_sum, fpr_gap_sum, precision_gap_sum
        tpr_gap_pearson, fpr_gap_pearson, precision_gap_pearson, each with every source as variant
        separation with the variants "absdiff" and "sum"
        sufficiency with "absdiff", "sum", and by the order-free distance "absdiff-order-free", "sum-order-free"
        undefined_cells with the parts "tpr", "fpr", "precision", "separation", "sufficiency": how many cells, class x
        gender, are 0/0

    What cannot be computed is NaN. Raises BiasflowError for counts or shares of another form, shares outside [0, 1],
    and an unknown source or none."""
    counts = np.asarray(counts)
    if counts.ndim not in (3, 4):
        raise BiasflowError(f"counts of shape {counts.shape}: give [classifiers, 2, classes, classes]")
    counts = counts if counts.ndim == 4 else counts[None]
    scores = _scores(counts, shares, gaps(counts), separation(counts))
    keys = pd.DataFrame(list(scores), columns=["metric", "part", "variant"])
    classifiers = np.arange(len(counts))
    return (
        keys.iloc[np.tile(np.arange(len(keys)), len(counts))]
        .reset_index(drop=True)
        .assign(
            classifier=np.repeat(classifiers, len(keys)),
            value=np.stack([np.asarray(value, dtype=float) for value in scores.values()], axis=1).ravel(),
            n=np.repeat(counts.sum(axis=(1, 2, 3)), len(keys)),
        )
    )


def _scores(
    counts: np.ndarray, shares: Mapping[str, ArrayLike], gaps: fairness.Gaps, separation: fairness.Distances
) -> dict[tuple[str, str, str], np.ndarray]:
    """(metric, part, variant) -> the scores of all classifiers [C]."""
    shares = _checked_shares(shares, gaps.tpr.gap.shape)
    rates = {"tpr": gaps.tpr, "fpr": gaps.fpr, "precision": gaps.precision}
    sufficiency = fairness.sufficiency_distances(counts)
    order_free = fairness.sufficiency_distances(counts, distance="order-free")
    cells = rates | {"separation": separation, "sufficiency": sufficiency}

    scores = {("accuracy", NA, NA): fairness.accuracy(counts)}
    scores |= {(f"{name}_gap_sum", NA, NA): rate.gap_sum() for name, rate in rates.items()}
    scores |= {
        (f"{name}_gap_pearson", NA, source): rate.gap_pearson(share)
        for name, rate in rates.items()
        for source, share in shares.items()
    }
    scores["independence", NA, NA] = fairness.independence(counts)
    for aggregate in fairness.AGGREGATES:
        scores["separation", NA, aggregate] = separation.total(aggregate)
        scores["sufficiency", NA, aggregate] = sufficiency.total(aggregate)
        scores["sufficiency", NA, f"{aggregate}-order-free"] = order_free.total(aggregate)
    scores |= {("undefined_cells", name, NA): values.undefined for name, values in cells.items()}
    scores["test_size", NA, NA] = counts.sum(axis=(1, 2, 3))
    return scores


def _checked_shares(shares: Mapping[str, ArrayLike], shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The shares as arrays [K] or [C, K], in the order of SHARES, for gaps of that shape."""
    unknown = sorted(set(shares) - set(SHARES))
    if unknown or not shares:
        raise BiasflowError(f"shares of women from {', '.join(unknown) or 'nowhere'}: give {', '.join(SHARES)}")
    checked = {}
    for source in (source for source in SHARES if source in shares):
        share = np.asarray(shares[source], dtype=float)
        if share.shape not in ((shape[-1],), (shape[0], shape[-1])):
            raise BiasflowError(f"shares of women, {source}: shape {share.shape}; give one a class, {shape[-1]}")
        outside = np.argwhere((share < 0) | (share > 1))
        if len(outside):
            wrong = tuple(outside[0])
            raise BiasflowError(
                f"shares of women, {source}: class {wrong[-1]} has {share[wrong]}; give a share between 0 and 1"
            )
        checked[source] = share
    return checked
