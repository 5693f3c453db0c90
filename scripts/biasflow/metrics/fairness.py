"""Extrinsic bias of a classifier: does it treat men and women of the same profession alike?

Everything here is computed from one table of integers, C[z, y, r]: how many people of gender z (0 masculine,
1 feminine) and gold class y were predicted as class r. A sum over an index is written with a dot: C[z, ., r] are the
people of gender z who were predicted as r. Tables may have leading axes, [..., 2, K, K], for many classifiers: hundreds
of them are scored at once, and every result has the same leading axes.

What is 0/0 (a class that one gender never has, or that is never predicted for it) is NaN; the class is left out of sums
and correlations, and `undefined` counts such cells.

Sources: Orgad et al. (2022, sec. 3.2 and appendix A.4), De-Arteaga et al. (2019, the gap in the true positive rate)."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError, check_choice

MASCULINE, FEMININE = 0, 1
AGGREGATES = ("absdiff", "sum")
DISTANCES = ("label-order", "order-free")
FEWEST_CLASSES = 3  # two points always lie on a line
ROUNDING = 1e-12  # rates are at most 1, so a smaller difference is rounding only

Within = Literal["gold", "predicted", "all"]
Scores = float | np.ndarray  # a number for one table of counts, an array for tables with leading axes


@dataclass(frozen=True)
class ByGender:
    """One number for each gender and class: values [..., 2, K], NaN for 0/0."""

    values: np.ndarray

    @property
    def undefined(self) -> int | np.ndarray:
        """The number of cells (class x gender) that are 0/0."""
        return np.isnan(self.values).sum(axis=(-2, -1))[()]


@dataclass(frozen=True)
class Rate(ByGender):
    """One rate for each gender and class, in [0, 1]; people [..., 2, K]: how many people it is a share of."""

    people: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """The difference feminine - masculine of the rates, signed: [..., K]."""
        return self.values[..., FEMININE, :] - self.values[..., MASCULINE, :]

    @property
    def gap_variance(self) -> np.ndarray:
        """The sampling variance of `gap`, estimated without bias: sum over genders of p (1 - p) / (n - 1), [..., K].

        A share of one person has the largest variance that there is, 1/4."""
        alone = self.people == 1
        of_genders = self.values * (1 - self.values) / np.where(alone, 1, self.people - 1)
        return np.where(alone, 0.25, of_genders).sum(axis=-2)

    def gap_sum(self) -> Scores:
        """The sum over classes of |gap|, the paper's "(S)"; NaN if no class has a gap.

        (The released code logs the mean; the printed numbers are sums.)"""
        return _sum_of_defined(np.abs(self.gap))

    def gap_pearson(self, share_of_women: ArrayLike) -> Scores:
        """The paper's "(P)": Pearson correlation over classes of the signed gap with the share of women in the class.

        share_of_women  [K] or [..., K], in [0, 1]; NaN or infinite for a class that takes no part

        NaN for fewer than 3 classes that have both, or equal gaps or equal shares in all of them. Raises BiasflowError
        for shares that are not one a class."""
        gap, share = self.gap, np.asarray(share_of_women, dtype=float)
        if share.ndim == 0 or share.shape[-1] != gap.shape[-1]:
            raise BiasflowError(f"share of women of shape {share.shape}: give one share a class, {gap.shape[-1]}")
        gap, share = np.broadcast_arrays(gap, share)
        both = np.isfinite(gap) & np.isfinite(share)
        x, y = _centred(share, both), _centred(gap, both)
        with np.errstate(invalid="ignore"):
            r = (x * y).sum(axis=-1) / np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
        spread = np.minimum(np.abs(x).max(axis=-1), np.abs(y).max(axis=-1))
        defined = (both.sum(axis=-1) >= FEWEST_CLASSES) & (spread > ROUNDING)
        return np.where(defined, np.clip(r, -1, 1), np.nan)[()]


@dataclass(frozen=True)
class Gaps:
    """The rates whose gaps are the performance gaps: `gaps(c).tpr.gap_sum()`, `gaps(c).tpr.gap_pearson(share)`."""

    tpr: Rate
    fpr: Rate
    precision: Rate


class Distances(ByGender):
    """How far each gender's distribution is from that of both genders together, for each class (d).

    NaN for a class that the gender does not have."""

    def terms(self, aggregate: str = "absdiff") -> np.ndarray:
        """What each class contributes, [..., K]: |d_M - d_F| ("absdiff") or d_M + d_F ("sum").

        NaN unless both are defined. Raises BiasflowError for another aggregate."""
        check_choice("fairness: aggregate", aggregate, AGGREGATES)
        masculine, feminine = self.values[..., MASCULINE, :], self.values[..., FEMININE, :]
        return np.abs(masculine - feminine) if aggregate == "absdiff" else masculine + feminine

    def total(self, aggregate: str = "absdiff") -> Scores:
        """The sum of the terms over classes; NaN if none is defined."""
        return _sum_of_defined(self.terms(aggregate))


def counts(y: ArrayLike, y_pred: ArrayLike, z: ArrayLike, *, n_classes: int) -> np.ndarray:
    """Count people by gender, gold and predicted class: the integers [2, K, K] that every measure here is computed
    from. Arguments and errors are those of `cells`; many classifiers give [..., 2, K, K]."""
    return counted(cells(y, y_pred, z, n_classes=n_classes), n_classes=n_classes)


def counted(cells: np.ndarray, *, n_classes: int) -> np.ndarray:
    """The table [..., 2, K, K] of people who fall into these `cells` [..., n]."""
    size = 2 * n_classes**2
    classifiers = cells.reshape(-1, cells.shape[-1])
    table = np.bincount(
        (classifiers + size * np.arange(len(classifiers))[:, None]).ravel(), minlength=size * len(classifiers)
    )
    return table.reshape(*cells.shape[:-1], 2, n_classes, n_classes)


def cells(y: ArrayLike, y_pred: ArrayLike, z: ArrayLike, *, n_classes: int) -> np.ndarray:
    """Return the cell of each person in the table of `counts`, as a number of the flat table: [n].

    y       gold classes [n], whole numbers 0 .. n_classes - 1
    y_pred  predicted classes [n], or [..., n] for many classifiers, which give [..., n]
    z       genders [n]: 0 masculine, 1 feminine

    Raises BiasflowError, naming the row (from 0), for a value out of range, NaN or one that is no whole number; for
    unequal lengths, no rows, or fewer than two classes."""
    if n_classes < 2:
        raise BiasflowError(f"counts: n_classes is {n_classes}; give at least 2")
    y = _numbers("y", y, n_classes, "classes")
    y_pred = _numbers("y_pred", y_pred, n_classes, "classes")
    z = _numbers("z", z, 2, "genders (0 masculine, 1 feminine)")
    if y.ndim != 1 or z.shape != y.shape or y_pred.ndim == 0 or y_pred.shape[-1] != len(y) or not y_pred.size:
        raise BiasflowError(
            f"counts: y {y.shape}, y_pred {y_pred.shape}, z {z.shape}: give one row a person, at least one, in each"
        )
    return (z * n_classes + y) * n_classes + y_pred


def shuffled_genders(counts: ArrayLike, *, within: Within, resamples: int, seed: int = 0) -> np.ndarray:
    """Return tables [resamples, 2, K, K] in which genders are shuffled among people, so that they make no difference.

    counts  [2, K, K]
    within  among whom it is dealt: the people of a "gold" class, those of a "predicted" class, or "all"; the sizes of
            the genders among them, and everything else about a person, stay

    Raises BiasflowError as `gaps`, and for another `within`."""
    check_choice("fairness: within", within, get_args(Within))
    counts = _checked(counts)
    k, rng = counts.shape[-1], np.random.default_rng(seed)
    turned = np.swapaxes(counts, -1, -2) if within == "predicted" else counts
    groups = turned.reshape(2, -1, k * k if within == "all" else k)  # [2, groups, cells]
    both, women = groups.sum(axis=0), groups[FEMININE].sum(axis=-1)
    dealt = [
        rng.multivariate_hypergeometric(cells, n, size=resamples, method="marginals")
        for cells, n in zip(both, women, strict=True)
    ]
    feminine = np.stack(dealt, axis=1)
    tables = np.stack([both - feminine, feminine], axis=1).reshape(resamples, 2, k, k)
    return np.swapaxes(tables, -1, -2) if within == "predicted" else tables


def accuracy(counts: ArrayLike) -> Scores:
    """Return the share of people whose predicted class is the gold one, in [0, 1]; NaN for an empty table."""
    counts = _checked(counts)
    return _ratio(np.trace(counts.sum(axis=-3), axis1=-2, axis2=-1), counts.sum(axis=(-3, -2, -1)))[()]


def gaps(counts: ArrayLike) -> Gaps:
    """Return true positive rate, false positive rate and precision of each gender z and class k, with their gaps.

        TPR       = C[z, k, k] / C[z, k, .]
        FPR       = (C[z, ., k] - C[z, k, k]) / (C[z, ., .] - C[z, k, .])
        precision = C[z, k, k] / C[z, ., k]

    (The released code divides the true positives by the size of the test set and calls that precision; the printed
    numbers are only possible with the above.) Raises BiasflowError unless counts are whole, >= 0 and [..., 2, K, K]."""
    counts = _checked(counts)
    hits = np.diagonal(counts, axis1=-2, axis2=-1)
    gold, predicted = counts.sum(axis=-1), counts.sum(axis=-2)
    negatives = gold.sum(axis=-1, keepdims=True) - gold
    return Gaps(
        tpr=Rate(_ratio(hits, gold), gold),
        fpr=Rate(_ratio(predicted - hits, negatives), negatives),
        precision=Rate(_ratio(hits, predicted), predicted),
    )


def independence(counts: ArrayLike) -> Scores:
    """Return how far predictions depend on gender, in nats: d_M + d_F with d_z = KL( P(r | z) || P(r) ).

    The distributions are shares of predicted classes, not smoothed; 0 log 0 = 0. NaN if a gender has no one. Raises
    BiasflowError as `gaps`."""
    predicted = _checked(counts).sum(axis=-2)
    return _kl(predicted, predicted.sum(axis=-2, keepdims=True)).sum(axis=-1)[()]


def separation_distances(counts: ArrayLike) -> Distances:
    """Return how far predictions depend on gender, given the gold class: d_{y,z} = KL( P(r | y, z) || P(r | y) ), in
    nats. Their `total` is separation: the paper's text says sum, its code and its numbers are the difference. On a test
    set with equally many men and women P(r | y) lies half-way between the two, so that the difference is small however
    large both are.

    Not smoothed, 0 log 0 = 0; NaN for a gold class that the gender lacks. Raises BiasflowError as `gaps`."""
    counts = _checked(counts)
    return Distances(_kl(counts, counts.sum(axis=-3, keepdims=True)))


def separation(counts: ArrayLike, *, aggregate: str = "absdiff") -> Scores:
    """Return separation in nats: the sum over gold classes y of |d_{y,M} - d_{y,F}|, or with aggregate="sum" of d_{y,M}
    + d_{y,F}; d as in `separation_distances`."""
    return separation_distances(counts).total(aggregate)


def sufficiency_distances(counts: ArrayLike, *, distance: str = "label-order") -> Distances:
    """Return how far gold classes depend on gender, given the predicted class: d_{r,z} = W1( P(y | r, z), P(y | r) ).

    Their `total` is sufficiency. With w_z the share of gender z among those predicted as r, d_{r,M} = w_F W and
    d_{r,F} = w_M W, W the distance between the genders: their sum is W, and their difference, which the paper prints,
    is 0 for a class that is predicted equally often for both, however differently.

    distance  "label-order": the Wasserstein distance with class k at the position k, as in the paper's code; it is at
              most K - 1 and depends on the order of the classes (alphabetical there).
              "order-free": all classes at distance 1 from each other, which makes W1 the total variation,
              sum |p - q| / 2, at most 1.

    Not smoothed; NaN for a class that is never predicted for the gender. Raises BiasflowError as `gaps`, and for
    another distance."""
    check_choice("fairness: distance", distance, DISTANCES)
    of_predicted = np.swapaxes(_checked(counts), -1, -2)
    both = of_predicted.sum(axis=-3, keepdims=True)
    if distance == "order-free":
        return Distances(np.abs(_distribution(of_predicted) - _distribution(both)).sum(axis=-1) / 2)
    # On a line W1 is the area between the two cumulative distributions.
    return Distances(np.abs(_cumulative(of_predicted) - _cumulative(both)).sum(axis=-1))


def sufficiency(counts: ArrayLike, *, aggregate: str = "absdiff", distance: str = "label-order") -> Scores:
    """Return sufficiency: the sum over predicted classes r of |d_{r,M} - d_{r,F}|, or with aggregate="sum" of d_{r,M} +
    d_{r,F}; d as in `sufficiency_distances`."""
    return sufficiency_distances(counts, distance=distance).total(aggregate)


def _numbers(name: str, values: ArrayLike, n: int, kind: str) -> np.ndarray:
    """The values as whole numbers 0 .. n - 1; BiasflowError names the row of the first that is none."""
    values = np.asarray(values)
    if values.dtype.kind not in "iuf":
        raise BiasflowError(f"counts: {name} is of type {values.dtype}; give the numbers of {kind}")
    right = (values >= 0) & (values < n)
    if values.dtype.kind == "f":
        right &= values == np.trunc(values)
    if not right.all():
        wrong = tuple(np.argwhere(~right)[0])
        raise BiasflowError(f"counts: {name}, row {wrong[-1]}: {values[wrong]} is none of the {kind}, 0 to {n - 1}")
    return values.astype(np.int64, copy=False)


def _checked(counts: ArrayLike) -> np.ndarray:
    counts = np.asarray(counts)
    if counts.ndim < 3 or counts.shape[-3] != 2 or counts.shape[-1] != counts.shape[-2] or counts.shape[-1] < 2:
        raise BiasflowError(f"counts of shape {counts.shape}: give [..., 2 genders, gold classes, predicted classes]")
    if counts.dtype.kind not in "iu" or (counts < 0).any():
        raise BiasflowError(f"counts of type {counts.dtype}: give whole numbers, none below 0; make them with counts()")
    return counts.astype(np.int64, copy=False)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part / whole, NaN for 0/0."""
    return np.divide(part, whole, out=np.full(np.broadcast_shapes(part.shape, whole.shape), np.nan), where=whole > 0)


def _distribution(counts: np.ndarray) -> np.ndarray:
    """Shares over the last axis; NaN where all counts are 0."""
    return _ratio(counts, counts.sum(axis=-1, keepdims=True))


def _cumulative(counts: np.ndarray) -> np.ndarray:
    """Cumulative shares over the last axis; added up as integers, so that equal distributions are exactly equal."""
    return _ratio(counts.cumsum(axis=-1), counts.sum(axis=-1, keepdims=True))


def _kl(counts: np.ndarray, both: np.ndarray) -> np.ndarray:
    """KL divergence of the distribution of `counts` from that of `both`, over the last axis, in nats.

    `both` is `counts` with the counts of the other gender added, so that it is 0 only where `counts` is."""
    p, q = _distribution(counts), _distribution(both)
    p, q = np.broadcast_arrays(p, q)
    logarithm = np.log(np.divide(p, q, out=np.ones(p.shape), where=counts > 0))
    return np.maximum((p * logarithm).sum(axis=-1), 0)  # rounding can leave it a little below


def _centred(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """The values less their mean over `where` along the last axis; 0 elsewhere."""
    values = np.where(where, values, 0)
    means = values.sum(axis=-1, keepdims=True) / np.maximum(where.sum(axis=-1, keepdims=True), 1)
    return np.where(where, values - means, 0)


def _sum_of_defined(terms: np.ndarray) -> Scores:
    """The sum over the last axis without NaN; NaN where nothing else is there."""
    return np.where(np.isnan(terms).all(axis=-1), np.nan, np.nansum(terms, axis=-1))[()]
