"""All extrinsic scores of occupation classifiers, from their tables of counts (paper C, Orgad et al. 2022)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import chndtr, chndtrinc, ndtri

from biasflow.base.errors import AbsentError
from biasflow.base.genders import GENDERS, WOMEN_FIRST, pair_name
from biasflow.base.tabular import read_parquet, read_text_csv
from biasflow.metrics import fairness
from biasflow.metrics.items import majority
from biasflow.readouts.files import METHOD, load_table
from biasflow.results.bootstrap import (
    NOWHERE,
    RESAMPLED,
    SEED,
    Interval,
    drawn_tables,
    ends,
    percentiles,
    share_interval,
)
from biasflow.results.scores import OF_MEASURES
from biasflow.tasks.classification.given import ORIGINAL
from biasflow.tasks.classification.labels import too_few

# The source of the share of women in a profession: the training split (in the paper's text), the test split (in its
# code), or US labour statistics (its figure 7).
*_, LABOUR = SHARES = ("train", "test", "labour")

NA = "-"  # a key of the table of scores that does not apply
PEOPLE_OF = "people"  # the column of a readout that says who is counted
DIFFERENCES = ("separation", NA, "absdiff")  # has no interval
OF_PREDICTIONS = ("independence", "largest_label_share", "test_size")  # what needs no gold classes
RESAMPLES = 1000  # of a classifier's tables, and with shuffled genders
# Simulated (docs/scores/intervals.md): with so many people of a gender in a class, times the root of the number of
# classes, a gap of 0.3 in each class is shown in 80 of 100 cases.
PEOPLE, GAP = 36, 0.3
ROUNDING = 1e-9

Key = tuple[str, str, str]  # metric, part, variant


def score(
    path: str | Path,
    *,
    professions: str | Path | None = None,
    pair: Sequence[object] = WOMEN_FIRST,
    texts: str | Path | None = None,
    least: int = 0,
) -> pd.DataFrame:
    """Return every extrinsic score of every head under every method, from a file of `readouts.heads`: the columns of
    `occupation_rows` with method, setting, head, head_seed and split_seed.

    pair: the groups that are compared, of which a gap is the first one's rate minus the second's; texts: the file of
    the texts, `least` of which a label needs of each group (tasks.classification.labels): AbsentError says how many are
    missing for a pair that the readout has not.

    professions: the table of `tasks.classification.collect.profession_table`, which has the shares of the labour
    market; None: no scores with these. BiasflowError names a file that is no such table, and a profession without
    shares."""
    names = [*METHOD, "head", "head_seed", "split_seed"]
    shares = [f"share_{part}" for part in ("train", "test")]
    table = load_table(path, [*names[2:], "pair", "gender", "gold", "predicted", "texts", *shares, PEOPLE_OF])
    table = table[table["pair"] == pair_name(pair)]
    if table.empty:
        raise AbsentError(_too_few(pair, texts, least))
    classes = sorted({*table["gold"], *table["predicted"]})
    classifier = table.groupby(names, sort=False).ngroup().to_numpy()
    gold, predicted = (pd.Categorical(table[column], classes).codes for column in ("gold", "predicted"))
    gender = pd.Categorical(table["gender"], GENDERS).codes
    counts = np.zeros((classifier.max() + 1, len(GENDERS), len(classes), len(classes)), dtype=np.int64)
    cells = classifier, gender, gold, predicted
    np.add.at(counts, cells, table["texts"])
    of_women = {part: np.full((len(counts), len(classes)), np.nan) for part in ("train", "test")}
    for part, share in of_women.items():
        share[classifier, gold] = table[f"share_{part}"]
    if professions is not None:
        of_women[LABOUR] = read_labour_shares(professions).reindex(classes).to_numpy(float)
    people = _in_order(table[PEOPLE_OF], classifier, np.ravel_multi_index(cells[1:], counts.shape[1:]))
    rows = occupation_rows(Tables(counts), shares=of_women, people=people)
    heads = table[names].drop_duplicates(ignore_index=True)
    scores = heads.iloc[rows.pop("classifier")].reset_index(drop=True).join(rows)
    why = ""
    if len(classes) < fairness.FEWEST_CLASSES:
        why = f"a correlation over classes needs {fairness.FEWEST_CLASSES} of them, and these data have {len(classes)}"
    elif table["share_train"].isna().all():
        why = "the share of women of each class in the training data is not known"
    without = [name for name in scores["metric"].unique() if name.endswith("_gap_pearson")]
    if (table["gold"] == "").all():
        why, without = "the texts have no label", [*{*scores["metric"]} - {*OF_PREDICTIONS}]
        scores = scores[scores["metric"].isin(OF_PREDICTIONS)].reset_index(drop=True)
    if why:
        scores.attrs[OF_MEASURES] = dict.fromkeys(without, why)
    return scores


def _too_few(pair: Sequence[object], texts: str | Path | None, least: int) -> str:
    """Why a pair of groups is not compared."""
    if texts is None:
        return f"{' and '.join(map(str, pair))} are not compared in this readout"
    table = read_parquet(texts)
    if "tested" in table:  # of a classifier that is given
        table = table[table["tested"] & (table["version"] == ORIGINAL)]
    why = too_few(table, pair, least) or "in the test part no two labels have texts of both groups"
    return f"{' and '.join(map(str, pair))}: {why}"


def _in_order(people: pd.Series, classifier: np.ndarray, cells: np.ndarray) -> list[np.ndarray]:
    """The cell of each person for each classifier, in the order of the people's numbers: [classifiers][n].

    people: the numbers of those in each row; classifier, cells: of the rows."""
    result = []
    for number in range(classifier.max() + 1):
        of_classifier = classifier == number
        numbers = people[of_classifier]
        who = np.concatenate(numbers.to_list())
        result.append(np.repeat(cells[of_classifier], numbers.map(len))[np.argsort(who)])
    return result


def read_labour_shares(path: str | Path) -> pd.Series:
    """Return the share of women in the labour market by profession, in [0, 1], from the table of the data's
    professions."""
    table = read_text_csv(path).set_index("profession")
    return pd.to_numeric(table["labour_share"], errors="coerce")


@dataclass(frozen=True)
class Tables:
    """Tables of counts [..., 2, K, K] and the measures made from them.

    gaps_of, separation_of: how gaps and separation follow from counts, for tasks in which some classes have no gaps or
    some predictions do not count."""

    counts: np.ndarray
    gaps_of: Callable[[np.ndarray], fairness.Gaps] = fairness.gaps
    separation_of: Callable[[np.ndarray], fairness.Distances] = fairness.separation_distances

    @cached_property
    def gaps(self) -> fairness.Gaps:
        """The rates of each class and gender."""
        return self.gaps_of(self.counts)

    @cached_property
    def separation(self) -> fairness.Distances:
        """The terms of separation, by gold class."""
        return self.separation_of(self.counts)

    @cached_property
    def sufficiency(self) -> fairness.Distances:
        """The terms of sufficiency, by predicted class."""
        return fairness.sufficiency_distances(self.counts)


def occupation_rows(
    tables: Tables,
    *,
    shares: Mapping[str, ArrayLike],
    people: Sequence[np.ndarray] | None = None,
    pairs: bool = False,
) -> pd.DataFrame:
    """Return every extrinsic score of C classifiers: columns classifier (its number), metric, part, variant, value, n,
    low, high, resampled.

    tables  of `fairness.counts` [C, 2, K, K], or [2, K, K] for one classifier; n: the number of people in them
    shares  source (of SHARES) -> share of women in each class that has gaps, [K] or [C, K], NaN for one that takes no
            part in correlations
    people  for each classifier the cell of its table into which each person falls, [n] numbers of the flat table; in
            one order for all, so that their resamples are of the same people. Without them nothing is `resampled`
    pairs   whether the second half of the people are the first half with the other gender, and so drawn with them

        accuracy, independence, test_size (how many people), largest_label_share (of the predictions)
        majority_share, majority_p (`items.majority`)
        tpr_gap_sum, fpr_gap_sum, precision_gap_sum
        tpr_gap_pearson, fpr_gap_pearson, precision_gap_pearson, each with every source as variant
        separation with the variants "absdiff" and "sum"
        sufficiency with "absdiff", "sum", and by the order-free distance "absdiff-order-free", "sum-order-free"
        smallest_gap_seen (`smallest_gap_seen`)
        undefined_cells with the parts "tpr", "fpr", "precision", "separation", "sufficiency": how many cells, class x
        gender, are 0/0

    low, high, resampled: of `intervals`. Scores that cannot be computed are NaN."""
    counts = np.asarray(tables.counts)
    tables = replace(tables, counts=counts if counts.ndim == 4 else counts[None])
    shape = tables.gaps.tpr.gap.shape
    shares = {source: np.broadcast_to(shares[source], shape) for source in SHARES if source in shares}
    scores = _scores(tables, shares)
    rows = []
    for number, table in enumerate(tables.counts):
        of_women = {source: share[number] for source, share in shares.items()}
        cells = None if people is None else people[number]
        limits = intervals(replace(tables, counts=table), of_women, cells, pairs=pairs)
        n = table.sum()
        rows += [(number, *key, values[number], n, *limits.get(key, NOWHERE)) for key, values in scores.items()]
    columns = ["classifier", "metric", "part", "variant", "value", "n", "low", "high", RESAMPLED]
    return pd.DataFrame(rows, columns=columns).astype({"value": float})


def intervals(
    tables: Tables, shares: Mapping[str, np.ndarray], people: np.ndarray | None = None, *, pairs: bool = False
) -> dict[Key, Interval]:
    """Return (metric, part, variant) -> 95 % interval over people, for one classifier: counts [2, K, K], shares [K];
    people, pairs: as in `occupation_rows`.

    For accuracy Jeffreys' interval, for correlations that of the correlation without the noise in the gaps
    (`correlation_interval`). Sums of absolute gaps and of distances cannot be negative, so noise inflates them: their
    interval is a reflected bootstrap from 0 up that holds the value. Its lower end is no higher than if the true sum
    were inflated as much as that with shuffled genders (`fairness.shuffled_genders`), and 0 unless the value is above
    97.5 % of these. Its upper end is no lower than the percentile of the resamples less half of the mean with shuffled
    genders: in few classes a large true sum can give a small value, whose reflection does not tell (without this the
    interval of two classes held the truth in 65 to 93 % of simulations). Other scores have none, nor has separation by
    differences: two divergences that noise inflates alike leave nothing that a resample could show.

    Resampled are of sums what `_down_to` makes of them, and of correlations `correlation_resamples`."""
    cells = _anyone(tables.counts) if people is None else people
    counts = drawn_tables(cells, tables.counts.shape, resamples=RESAMPLES, pairs=pairs)
    resampled = replace(tables, counts=counts)
    hits = int(np.trace(tables.counts.sum(axis=0)))
    accuracy = share_interval(hits, int(tables.counts.sum()))
    result = {("accuracy", NA, NA): Interval(*accuracy, fairness.accuracy(resampled.counts))}
    for name, rate in _rates(tables).items():
        drawn = _rates(resampled)[name].gap
        width = np.subtract(*percentiles(drawn)) if pairs else np.nan  # a pair's answers depend on each other
        variance = (width / 2 / ndtri(0.975)) ** 2 if pairs else rate.gap_variance
        for source, share in shares.items():
            of_rate = share, rate.gap, variance
            ends_of_r = correlation_interval(*of_rate)
            result[f"{name}_gap_pearson", NA, source] = Interval(*ends_of_r, correlation_resamples(*of_rate, drawn))
    for within, sums_of in _SUMS.items():
        shuffled = fairness.shuffled_genders(tables.counts, within=within, resamples=RESAMPLES, seed=SEED)
        value, drawn, by_chance = (sums_of(sample) for sample in (tables, resampled, replace(tables, counts=shuffled)))
        for key in (key for key in value if not np.isnan(value[key])):
            low, high = ends(drawn[key], value[key], reflected=True)
            sure = value[key] > percentiles(by_chance[key])[1]
            low = np.clip(low, 0, np.inf if sure else 0)
            inflated = np.nanmean(by_chance[key]) + np.nanmean(drawn[key]) - percentiles(drawn[key])[0]
            high = max(high, percentiles(drawn[key])[1] - np.nanmean(by_chance[key]) / 2)
            shown = (np.nan, np.nan) if key == DIFFERENCES else (np.clip(value[key] - inflated, 0, low), high)
            result[key] = Interval(*shown, _down_to(low, value[key], drawn[key]))
    return {key: limits._replace(resampled=np.nan) for key, limits in result.items()} if people is None else result


def _down_to(low: float, value: float, drawn: np.ndarray) -> np.ndarray:
    """Resamples of a sum, moved to lie around its value, of which those below are spread as far as the lower end of its
    interval."""
    resampled = value + drawn - percentiles(drawn).mean()
    reach = value - percentiles(resampled)[0]
    further = (1 + ROUNDING) * (value - low) / reach if reach > 0 else 1.0  # 0 is reached, whatever is rounded
    return np.where(resampled < value, value - max(further, 1.0) * (value - resampled), resampled)


def _anyone(counts: np.ndarray) -> np.ndarray:
    """The cells of people who are counted in a table, in an order that says nothing."""
    return np.random.default_rng(SEED).permutation(np.repeat(np.arange(counts.size), counts.ravel()))


def _scores(tables: Tables, shares: Mapping[str, np.ndarray]) -> dict[Key, np.ndarray]:
    """(metric, part, variant) -> the scores of all classifiers [C]."""
    rates = _rates(tables)
    scores = {("accuracy", NA, NA): fairness.accuracy(tables.counts)}
    for (name, rate), (source, share) in product(rates.items(), shares.items()):
        scores[f"{name}_gap_pearson", NA, source] = rate.gap_pearson(share)
    for sums_of in _SUMS.values():
        scores |= sums_of(tables)
    cells = rates | {"separation": tables.separation, "sufficiency": tables.sufficiency}
    scores |= {("undefined_cells", name, NA): values.undefined for name, values in cells.items()}
    predicted = tables.counts.sum(axis=(-3, -2))
    with np.errstate(invalid="ignore"):
        scores["largest_label_share", NA, NA] = predicted.max(axis=-1) / predicted.sum(axis=-1)
    hits = np.trace(tables.counts.sum(axis=-3), axis1=-2, axis2=-1)
    scores["majority_share", NA, NA], scores["majority_p", NA, NA] = majority(tables.counts.sum(axis=(-3, -1)), hits)
    scores["smallest_gap_seen", NA, NA] = smallest_gap_seen(tables.gaps.tpr.people)
    return scores | {("test_size", NA, NA): tables.counts.sum(axis=(-3, -2, -1))}


def smallest_gap_seen(people: ArrayLike) -> np.ndarray:
    """How large a gap in TPR, the same in every class, must be for the sum of gaps to show it in 80 of 100 cases.

    people: of each gender in each class, [..., 2, K] -> [...]; NaN if no class has both genders.

    GAP sqrt(PEOPLE / (n sqrt(k))), n the harmonic mean of the people and k the number of the classes with both."""
    people = np.asarray(people, dtype=float)
    both = people.min(axis=-2) > 0
    k = both.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = 2 * k / np.where(both, (1 / people).sum(axis=-2), 0).sum(axis=-1)
        return GAP * np.sqrt(PEOPLE / (mean * np.sqrt(k)))


def _rates(tables: Tables) -> dict[str, fairness.Rate]:
    return {name: getattr(tables.gaps, name) for name in ("tpr", "fpr", "precision")}


def _of_profession(tables: Tables) -> dict[Key, np.ndarray]:
    return {(f"{name}_gap_sum", NA, NA): _rates(tables)[name].gap_sum() for name in ("tpr", "fpr")} | {
        ("separation", NA, aggregate): tables.separation.total(aggregate) for aggregate in fairness.AGGREGATES
    }


def _of_prediction(tables: Tables) -> dict[Key, np.ndarray]:
    order_free = fairness.sufficiency_distances(tables.counts, distance="order-free")
    scores = {("precision_gap_sum", NA, NA): tables.gaps.precision.gap_sum()}
    for aggregate in fairness.AGGREGATES:
        scores["sufficiency", NA, aggregate] = tables.sufficiency.total(aggregate)
        scores["sufficiency", NA, f"{aggregate}-order-free"] = order_free.total(aggregate)
    return scores


def _of_all(tables: Tables) -> dict[Key, np.ndarray]:
    return {("independence", NA, NA): fairness.independence(tables.counts)}


# Scores that are never below 0, by the people among whom gender makes no difference to them if there is no bias.
_SUMS: Mapping[fairness.Within, Callable[[Tables], dict[Key, np.ndarray]]] = {
    "gold": _of_profession,
    "predicted": _of_prediction,
    "all": _of_all,
}


QUANTILES = 201  # of either distribution; all pairs of them are combined
FEWEST = 6  # points: its coverage was simulated for many more, and three points soon lie on a line


def correlation_interval(x: ArrayLike, y: ArrayLike, variances: ArrayLike) -> tuple[float, float]:
    """Return the 95 % interval (low, high) of the Pearson correlation that x and y would have if y were known without
    noise.

    x          [K], known exactly, such as shares of women in classes
    y          [K], estimates, such as gaps of these classes
    variances  [K], the variance of the noise in each y

    The K points are all that there are (no others are drawn); points without x or y are left out. With unit vector u of
    x less its mean, y has the part B = u'y along x and the squared length Q = |y - mean - B u|^2 beside it, and without
    noise the correlation is B / sqrt(B^2 + T), T the Q of the true values. Noise leaves B where it is on average and
    adds to Q, so that the correlation of the data, B / sqrt(B^2 + Q), is too near 0. B is normal about its truth; Q / c
    is taken as noncentral chi-square with d degrees of freedom and noncentrality T / c, c and d such that mean and
    variance of the noise in Q are right (Satterthwaite's). Both are turned into confidence distributions of their
    truths, and the ends are the percentiles of the correlation under these (generalized confidence interval, Weerahandi
    1993), widened to hold the correlation of the data.

    NaN for fewer than 6 points, equal x or equal y, and where no point has noise: then the noise is not known."""
    x, y, variances = (np.asarray(values, dtype=float) for values in (x, y, variances))
    points = _points(x, y, variances)
    if not points.any():
        return np.nan, np.nan
    y, variances = y[points], variances[points]
    u, along, beside, off_line = _parts(x[points], y, variances)
    noise, square = np.trace(off_line), (off_line * off_line.T).sum()
    scale = square / noise
    levels = (np.arange(QUANTILES) + 0.5) / QUANTILES
    true_along = along + np.sqrt(u**2 @ variances) * ndtri(levels)
    true_beside = scale * _noncentralities(beside / scale, noise / scale, levels)
    with np.errstate(invalid="ignore"):  # 0 / 0 at B = T = 0 says nothing
        true = true_along[:, None] / np.sqrt(true_along[:, None] ** 2 + true_beside)
    low, high = percentiles(true.ravel())
    value = along / np.sqrt(along**2 + beside)
    return float(min(low, value)), float(max(high, value))


def correlation_resamples(x: ArrayLike, y: ArrayLike, variances: ArrayLike, resampled: np.ndarray) -> np.ndarray:
    """Return resamples [resamples] of the correlation of `correlation_interval`, from resamples of y [resamples, K].

    A resample of y has the noise twice, so that twice as much as is known of it is taken off its squared length beside
    x. NaN where that correlation has no interval; a y that is NaN in a resample is as in the data."""
    x, y, variances = (np.asarray(values, dtype=float) for values in (x, y, variances))
    points = _points(x, y, variances)
    if not points.any():
        return np.full(len(resampled), np.nan)
    y = np.where(np.isfinite(resampled), resampled, y)[:, points]
    _, along, beside, off_line = _parts(x[points], y, variances[points])
    with np.errstate(invalid="ignore"):
        return along / np.sqrt(along**2 + np.maximum(beside - 2 * np.trace(off_line), 0))


def _points(x: np.ndarray, y: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Which points have x, y and noise: none if they are too few, do not differ, or have no noise."""
    points = np.isfinite(x) & np.isfinite(y) & np.isfinite(variances)
    few = points.sum() < FEWEST
    return points & (not few and np.ptp(x[points]) > 0 and np.ptp(y[points]) > 0 and variances[points].any())


def _parts(x: np.ndarray, y: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, ...]:
    """Of y [..., K]: the unit vector u of x, the part B along it [...], the squared length Q beside it [...], and the
    covariance of the noise there [K, K]."""
    u = x - x.mean()
    u /= np.linalg.norm(u)
    along = y @ u
    beside = np.maximum(((y - y.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1) - along**2, 0.0)
    return u, along, beside, (np.eye(len(x)) - 1 / len(x) - np.outer(u, u)) * variances


def _noncentralities(q: float, freedom: float, levels: np.ndarray) -> np.ndarray:
    """Quantiles of the confidence distribution of the noncentrality of a chi-square value q: where F(q) = 1 - level; 0
    where F(q) is below that for every noncentrality."""
    wanted = 1 - levels
    reached = wanted < chndtr(q, freedom, 0.0)
    result = np.zeros_like(levels)
    result[reached] = chndtrinc(q, freedom, wanted[reached])
    return result
