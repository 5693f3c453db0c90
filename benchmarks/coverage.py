"""How often intervals cover the truth, and how often tests reject it, in simulations of the project's own sizes: the
tables of docs/scores/intervals.md. `python -m benchmarks.coverage FILE.csv` makes all of them anew; the tests make them
small."""

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import ndtri

from benchmarks import coverage_of_measures
from biasflow.base.tabular import write_csv
from biasflow.metrics import fairness
from biasflow.metrics import winobias as winobias_scores
from biasflow.metrics.association import EXACT_UP_TO, effect_interval, permutation_test
from biasflow.metrics.intrasentence import LABELS, NAMES, TARGETS, summary
from biasflow.metrics.occupation import GAP, PEOPLE, Tables, correlation_interval, intervals
from biasflow.metrics.stereoset import mean_of_top, top_interval
from biasflow.overview.agreement import agreement, conflicts
from biasflow.registry import INSIDE
from biasflow.results.bootstrap import interval, percentiles, share_interval, weighted_mean
from biasflow.results.changes import distance_differences
from biasflow.results.comparison import difference_interval, distances, with_items
from biasflow.results.differences import with_seeds
from biasflow.results.evidence import (
    ALL,
    COULD_NOT_TELL,
    DID_NOT,
    IN_ALL,
    IN_SOME,
    REFERENCE,
    SEES,
    evidence,
    follows,
)
from biasflow.results.statistics import (
    LEAST_RANKS,
    cluster_interval,
    false_discovery_rates,
    resampled_correlations,
    row_correlations,
    split_interval,
    t_interval,
)
from biasflow.strategies import Strategy
from biasflow.studies.judge import spearman_interval
from biasflow.studies.planted.designs import ratio_interval, welch_interval
from biasflow.tasks.classification.splits import held_out, rows_of, shares_of_women, split

RATES = ("tpr", "fpr", "precision")
BIOGRAPHIES = {"F": (371, 34, 2644, 98, 461), "M": (637, 34, 252, 45, 3118)}  # of config/frozen.yaml, by profession


@dataclass(frozen=True)
class Classifier:
    """Classifiers of `professions` with `people` of a gender in each, on average: as many of both genders, or the share
    `first` of masculine ones in each, or, with `skewed`, by the share of women. The true TPR gaps have the standard
    deviation `spread` and correlate at `r` with the shares of women; who is missed is taken for a few of the other
    professions (Dirichlet, 0.3)."""

    professions: int
    people: float
    r: float
    skewed: bool = False
    spread: float = 0.1
    first: float = 0.5

    def drawn(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shares of women [K], the expected table [2, K, K], and a table of counts [2, K, K]."""
        k = self.professions
        shares = 0.05 + 0.9 * rng.beta(1.5, 1.5, size=k)
        along = _unit(shares - shares.mean())
        beside = rng.normal(size=k)
        beside = _unit(beside - beside.mean() - along * (along @ beside))
        gaps = self.spread * np.sqrt(k) * (self.r * along + np.sqrt(1 - self.r**2) * beside)
        tpr = np.clip(rng.uniform(0.6, 0.9, size=k) + np.array([[-0.5], [0.5]]) * gaps, 0.02, 0.98)
        others = np.where(np.eye(k), 0, rng.gamma(0.3, size=(k, k)))  # which professions it is taken for
        rates = (1 - tpr)[..., None] * others / others.sum(axis=-1, keepdims=True)
        rates[:, np.arange(k), np.arange(k)] = tpr
        weights = np.stack([1 - shares, shares]) if self.skewed else np.full((2, k), [[self.first], [1 - self.first]])
        sizes = np.maximum(2, np.round(2 * self.people * weights)).astype(int)
        counts = np.stack([rng.multinomial(n, p) for n, p in zip(sizes, rates, strict=True)])
        return shares, sizes[..., None] * rates, counts


def coverage_of_gaps(classifier: Classifier, *, replications: int, seed: int = 0) -> pd.Series:
    """How often `correlation_interval` covers the correlation of the true gaps with the shares of women, by rate; and
    `percentile`: how often the percentiles of resampled people do, of TPR gaps."""
    rng, hits = np.random.default_rng(seed), np.zeros(len(RATES) + 1)
    for _ in range(replications):
        shares, expected, counts = classifier.drawn(rng)
        truth = fairness.gaps(np.round(1e6 * expected).astype(np.int64))  # whole numbers, as many as make no difference
        gaps = fairness.gaps(counts)
        for number, name in enumerate(RATES):
            rate = getattr(gaps, name)
            low, high = correlation_interval(shares, rate.gap, rate.gap_variance)
            hits[number] += low <= getattr(truth, name).gap_pearson(shares) <= high
        people = gaps.tpr.people
        drawn = rng.binomial(people, gaps.tpr.values, size=(500, *people.shape)) / people
        low, high = percentiles(fairness.Rate(drawn, people).gap_pearson(shares))
        hits[-1] += low <= truth.tpr.gap_pearson(shares) <= high
    return pd.Series(hits / replications, index=[*RATES, "percentile"])


SUMS = {
    ("tpr_gap_sum", "-", "-"): lambda counts: fairness.gaps(counts).tpr.gap_sum(),
    ("fpr_gap_sum", "-", "-"): lambda counts: fairness.gaps(counts).fpr.gap_sum(),
    ("precision_gap_sum", "-", "-"): lambda counts: fairness.gaps(counts).precision.gap_sum(),
    ("independence", "-", "-"): fairness.independence,
    ("separation", "-", "sum"): lambda counts: fairness.separation_distances(counts).total("sum"),
    ("sufficiency", "-", "absdiff"): lambda counts: fairness.sufficiency_distances(counts).total(),
}


def coverage_of_sums(classifier: Classifier, *, replications: int) -> pd.Series:
    """How often the intervals of `metrics.occupation.intervals` hold the true sums of gaps and of distances."""
    rng, hits = np.random.default_rng(0), np.zeros(len(SUMS))
    for _ in range(replications):
        _, expected, counts = classifier.drawn(rng)
        found = intervals(Tables(counts), {})
        for number, (key, true) in enumerate(SUMS.items()):
            hits[number] += found[key].low <= true(np.round(1e6 * expected).astype(np.int64)) <= found[key].high
    return pd.Series(hits / replications, index=[metric for metric, *_ in SUMS])


DRAWS = {  # of values of seeds, with mean 0 and about the same spread
    "normal": lambda rng, size: rng.normal(size=size),
    "uniform": lambda rng, size: rng.uniform(-1.7, 1.7, size=size),
    "skewed": lambda rng, size: rng.exponential(size=size) - 1,
}
SEEDS, RESAMPLES = 5, 1000


def coverage_of_five_seeds(draw: str, *, replications: int, ratio: float = 1.0, seed: int = 0) -> pd.Series:
    """How often Welch's t interval (`t`) and the percentiles of resampled seeds (`percentile`) cover the difference of
    two groups of five seeds; ratio: of the spread of the second group to that of the first."""
    rng, hits = np.random.default_rng(seed), np.zeros(2)
    for _ in range(replications):
        one, other = (scale * DRAWS[draw](rng, SEEDS) for scale in (1.0, ratio))
        welch = welch_interval(one, other)
        picks = rng.integers(SEEDS, size=(2, RESAMPLES, SEEDS))
        low, high = percentiles(one[picks[0]].mean(axis=1) - other[picks[1]].mean(axis=1))
        hits += [welch["low"] <= 0 <= welch["high"], low <= 0 <= high]
    return pd.Series(hits / replications, index=["t", "percentile"])


def coverage_of_shares(
    spreads: tuple[float, float, float], *, replications: int, share: float = 0.6, seed: int = 0
) -> pd.Series:
    """How often the interval of the share of the way back covers it (`t`), and how often the percentiles of resampled
    seeds do: of five models whose bias is 1 and five whose bias is 0; spreads: standard deviations between seeds of
    models with bias, of these under a method, and of models without."""
    rng, hits = np.random.default_rng(seed), np.zeros(2)
    for _ in range(replications):
        present, never = 1 + spreads[0] * rng.normal(size=SEEDS), spreads[2] * rng.normal(size=SEEDS)
        erased = 1 - share + 0.3 * (present - 1) + spreads[1] * rng.normal(size=SEEDS)
        low, high = ratio_interval(present, erased, never)
        picks, others = rng.integers(SEEDS, size=(2, RESAMPLES, SEEDS))
        drawn = present[picks].mean(axis=1)
        ends = percentiles((drawn - erased[picks].mean(axis=1)) / (drawn - never[others].mean(axis=1)))
        hits += [not (share < low or high < share), ends[0] <= share <= ends[1]]
    return pd.Series(hits / replications, index=["t", "percentile"])


def coverage_of_rank_correlations(slope: float, *, doses: int, replications: int, seed: int = 0) -> pd.Series:
    """How often `spearman_interval` covers the rank correlation of dose and value (`fisher`), and how often the
    percentiles of seeds resampled within doses do: of five seeds a dose whose values are slope x dose plus noise."""
    rng, hits = np.random.default_rng(seed), np.zeros(2)

    def drawn(seeds: int) -> np.ndarray:
        return slope * np.arange(doses)[:, None] + rng.normal(size=(doses, seeds))

    def correlations(values: np.ndarray) -> np.ndarray:
        """Of values [..., doses, seeds] with their dose: [...]."""
        flat = values.reshape(-1, doses * values.shape[-1])
        dose = np.broadcast_to(np.repeat(np.arange(doses), values.shape[-1]), flat.shape)
        return row_correlations(dose, flat, "spearman")

    truth = correlations(drawn(20_000))[0]
    for _ in range(replications):
        values = drawn(SEEDS)
        low, high = spearman_interval(correlations(values)[0], values.size)
        picks = rng.integers(SEEDS, size=(RESAMPLES // 2, doses, SEEDS))
        again = np.take_along_axis(np.broadcast_to(values, picks.shape), picks, axis=-1)
        ends = percentiles(correlations(again + 1e-9 * rng.random(picks.shape)))  # the same seed twice is no tie
        hits += [low <= truth <= high, ends[0] <= truth <= ends[1]]
    return pd.Series(hits / replications, index=["fisher", "percentile"])


def claims_from_noise(*, units: int, measures: int, methods: int, replications: int, seed: int = 0) -> pd.Series:
    """In which share of runs of pure noise at least a pair of measures is said to agree or disagree, and at least a
    contradiction is claimed; and the share of single pairs with p <= 0.05, before the adjustment."""
    rng, hits = np.random.default_rng(seed), np.zeros(3)
    keys = pd.MultiIndex.from_product(
        [[f"m{m}" for m in range(measures)], [f"e{u}" for u in range(units)], [f"method {n}" for n in range(methods)]],
        names=["measure", "encoder", "name"],
    ).to_frame(index=False)
    for _ in range(replications):
        rows = keys.assign(task="-", seed="-", distance=rng.random(len(keys)), low=np.nan, high=np.nan)
        pairs = agreement(rows)
        hits += [(pairs["q"] <= 0.05).any(), bool(conflicts(rows)), (pairs["p"] <= 0.05).mean()]
    return pd.Series(hits / replications, index=["a pair", "a contradiction", "single pairs"])


SIZES = {  # of the slopes of measures that say nothing, by encoder, in standard deviations of the noise
    "normal": lambda rng, size: rng.normal(size=size),
    "up or down": lambda rng, size: rng.choice([-1.0, 1.0], size=size),
}


def claims_of_calibrations(
    slope: float,
    *,
    encoders: int = 1,
    seeds: int = 6,
    doses: int = 5,
    chance: float = 0.0,
    sizes: str = "normal",
    measures: int = 38,
    followers: int = 4,
    replications: int,
) -> dict[str, float]:
    """What `results.evidence` says of calibrations in which `followers` of the measures change by `slope` standard
    deviations of the noise for each unit of dose, and the others say nothing: their slopes are drawn for each encoder
    (SIZES, times `chance`). The values of a seed share an error three times as large as that of single encoders. Asked
    for is the power for a slope of 1.

    a false claim: the share of calibrations (of all encoders) in which a measure that says nothing follows; chance
    followed in all, chance on a page: the share of such measures, and of calibrations with one, that are said to follow
    in all encoders, in agreeing size; chance in any size: the first without that ("evidence in part" of the page is the
    rest of it); and how many of the followers get each word (power: followed in any)."""
    rng, pages = np.random.default_rng(0), []
    at = np.linspace(-1, 1, doses)
    ranks = at.argsort().argsort() - (doses - 1) / 2
    dealt = rng.permuted(np.broadcast_to(ranks, (5000, seeds, doses)), axis=-1)  # of the test of `trend_within_seeds`
    by_chance = np.sort((dealt @ ranks).mean(axis=-1))
    names = [f"SEAT ({number})" for number in range(measures * replications)]
    follower = np.arange(len(names)) % measures < followers
    reference = {
        "measure": REFERENCE[0],
        "occupations": REFERENCE[1],
        "slope": 1.0,
        "slope_low": 0.9,
        "slope_high": 1.1,
    }
    for encoder in range(encoders):
        slopes = np.where(follower, slope, chance * SIZES[sizes](rng, len(names)))[:, None, None]
        noise = rng.normal(0, 3, (len(names), seeds, 1)) + rng.normal(size=(len(names), seeds, doses))
        values = slopes * at + noise
        trends = ((values.argsort(axis=-1).argsort(axis=-1) - (doses - 1) / 2) @ ranks).mean(axis=-1)
        p = (len(by_chance) - np.searchsorted(by_chance, trends - 1e-9) + 1) / (len(by_chance) + 1)
        q = np.concatenate([false_discovery_rates(of_page) for of_page in np.split(p, replications)])
        of_seeds = values @ at / (at**2).sum()
        low, high = np.array([t_interval(one) for one in of_seeds]).T
        table = {"measure": names, "occupations": ALL, "slope": of_seeds.mean(axis=-1), "q": q, "share_dose": 0.1}
        table |= {"slope_low": low, "slope_high": high, "verdict": np.where(low > 0, SEES, "-")}
        rows = pd.concat([pd.DataFrame(table), pd.DataFrame([reference])])
        pages.append(rows.assign(encoder=str(encoder), group=INSIDE, seeds=seeds, mean_dose_0=1.0))
    table = pd.concat(pages)
    followed = follows(table).groupby(table["measure"]).sum().loc[names].to_numpy()
    chosen = table["measure"].isin(
        [REFERENCE[0], *np.array(names)[follower | (followed == encoders)]]
    )  # as it takes long
    found = evidence(table[chosen]).set_index("measure").reindex(names)
    in_all = found["evidence"].eq(IN_ALL).to_numpy().reshape(replications, -1)
    in_any_size = (followed == encoders).reshape(replications, -1)
    followed = followed.reshape(replications, -1) > 0
    words = found["evidence"][follower].value_counts(normalize=True).reindex([IN_ALL, IN_SOME, DID_NOT, COULD_NOT_TELL])
    return {
        "a false claim": followed[:, followers:].any(axis=1).mean(),
        "power": followed[:, :followers].mean(),
        "chance followed in all": in_all[:, followers:].mean(),
        "chance on a page": in_all[:, followers:].any(axis=1).mean(),
        "chance in any size": in_any_size[:, followers:].mean(),
        **words.fillna(0).to_dict(),
    }


def coverage_of_effect_sizes(
    words: int, shift: float, *, draw: str = "normal", sentences: int = 1, within: float = 0.0, replications: int
) -> dict:
    """How often `effect_interval` covers the effect size of two sets of `words` target words each, with `sentences`
    about each word (`jackknife`), and how often bias is shown: it leaves out 0, and the one-sided p of the permutation
    test is below 5 %, where that tries all partitions (`shown`). The associations have standard deviation 1 and means
    that differ by `shift`; those of words are drawn from DRAWS; `within` is the share of the variance that lies between
    the sentences about one word."""
    rng, hits = np.random.default_rng(0), np.zeros(2)
    tested = sentences == 1 and math.comb(2 * words, words) <= EXACT_UP_TO
    truth = shift / np.sqrt(1 + shift**2 / 4)
    about = np.repeat(np.arange(2 * words), sentences)
    for _ in range(replications):
        means = (1 - within) ** 0.5 * DRAWS[draw](rng, 2 * words) + np.repeat([shift, 0], words)
        s = means[about] + rng.normal(0, within**0.5, len(about))
        low, high, _ = effect_interval(s, words * sentences, words=about)
        hits[0] += low <= truth <= high
        options = {"ties": "strict", "exact_up_to": EXACT_UP_TO, "samples": 1, "seed": 0}
        sides = ("greater", "less") if tested else ()
        p = [permutation_test(s[None], words, alternative=side, **options)[0].item() for side in sides]
        hits[1] += min(p) < 0.05 and not low <= 0 <= high if tested else np.nan
    return dict(zip(("jackknife", "shown"), hits / replications, strict=True))


def coverage_of_targets(targets: int, items: int, spread: float, *, replications: int) -> dict:
    """How often the intervals of a Stereotype Score over targets and over items cover the score of all targets that
    there could be: of so many targets with so many items each, whose shares have the standard deviation `spread` about
    0.6 (beta)."""
    rng, hits = np.random.default_rng(0), []
    concentration = 0.24 / spread**2 - 1
    of = pd.Index(np.repeat(np.arange(targets), items))
    for _ in range(replications):
        shares = rng.beta(0.6 * concentration, 0.4 * concentration, targets)
        stereotype = rng.random(len(of)) < shares[of]
        scores = pd.DataFrame(np.where(stereotype[:, None], [3, 2, 1], [2, 3, 1]), columns=LABELS).stack()
        table = scores.rename_axis(["item", "label"]).rename("log_p").reset_index()
        found = summary(table.assign(target=of[table["item"]], filling="given"))
        found = found[(found["metric"] == NAMES[0]) & (found["variant"] == "given-terms")]
        covers = found["low"].le(0.6) & found["high"].ge(0.6)
        first = "targets" if targets >= TARGETS else "items"
        hits.append(dict(zip(found["part"].replace({"-": first}), covers, strict=True)))
    return pd.DataFrame(hits).mean().add_prefix("over ").to_dict()


def power_of_gaps(professions: int, people: int, gap: float, *, replications: int) -> float:
    """How often the sum of TPR gaps shows bias if every profession has a gap so large, to the genders by turns, and so
    many people of either gender."""
    rng, hits = np.random.default_rng(0), 0
    y = np.arange(professions)
    for _ in range(replications):
        gaps = np.where(y % 2, gap, -gap) / 2
        right = rng.binomial(people, rng.uniform(0.6, 0.8, professions) + np.stack([-gaps, gaps]))
        counts = np.zeros((2, professions, professions), dtype=np.int64)
        counts[:, y, y], counts[:, y, y - 1] = right, people - right
        hits += intervals(Tables(counts), {})["tpr_gap_sum", "-", "-"][0] > 0
    return hits / replications


def coverage_of_correlations(
    method: str, units: int, r: float, *, size: int = 1, replications: int, seed: int = 0
) -> pd.Series:
    """How often `cluster_interval` (`jackknife`; `none`: how often there is no interval; `width`: the median one) and
    the percentiles of resampled clusters (`percentile`) cover a correlation over so many clusters of `size` normal
    pairs each; r: of the clusters' means and, for a size of 1, of the pairs. The means have four fifths of the
    variance, and the pairs of a cluster do not correlate."""
    rng, found, hits = np.random.default_rng(seed), [], 0
    share = 1.0 if size == 1 else 0.8
    truth = r * share if method == "pearson" else 6 / np.pi * np.arcsin(r * share / 2)
    names = np.repeat(np.arange(units), size)
    for _ in range(replications):
        a, b = rng.normal(size=(2, units))
        means = np.sqrt(share) * np.stack([a, r * a + np.sqrt(1 - r**2) * b])
        x, y = (means[..., None] + np.sqrt(1 - share) * rng.normal(size=(2, units, size))).reshape(2, -1)
        found.append(cluster_interval(x, y, names, method))
        drawn = rng.integers(units, size=(RESAMPLES, units))
        picks = (drawn[..., None] * size + np.arange(size)).reshape(RESAMPLES, -1)
        ends = percentiles(row_correlations(x[picks], y[picks], method))
        hits += ends[0] <= truth <= ends[1]
    low, high = np.array(found)[~np.isnan(found).any(axis=1)].T
    covered = ((low <= truth) & (truth <= high)).mean() if len(low) else np.nan
    none, width = 1 - len(low) / replications, np.median(high - low) if len(low) else np.nan
    return pd.Series({"jackknife": covered, "none": none, "width": width, "percentile": hits / replications})


def coverage_of_changes(items: int, before: float, after: float, *, shares: bool = False, replications: int) -> dict:
    """How often the interval of the change of a distance from neutral covers it (`covers`), and says that a distance
    falls (`nearer`) or rises (`farther`); how wide it is, and an interval of two scores on different items (`width`,
    `unpaired`: medians).

    A score is the mean of `items` normal values of standard deviation 1, which correlate at 0.8 in the two models; its
    truth is so far from neutral `before` and `after`. shares: of items that are 1 or 0, from such values, with the
    neutral share 0.5 and the truths as differences from it."""
    rng = np.random.default_rng(0)
    values = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=(items, replications))
    if shares:
        values = (values < ndtri(0.5 + np.array([before, after]))) - 0.5
    else:
        values += [before, after]
    ends = interval(lambda counts: weighted_mean(counts, values), np.arange(items))
    sides = [values.mean(axis=0)[:, side] for side in (1, 0)], [ends.resampled[:, side] for side in (1, 0)]
    apart = [
        distances(values.mean(axis=0)[:, side], *(e[:, side] for e in ends[:2]), 0.0, "neutral") for side in (1, 0)
    ]
    unpaired = [
        np.diff(difference_interval(*pair)) for pair in zip(*(np.transpose(side) for side in apart), strict=True)
    ]
    return _of_changes(*sides, abs(after) - abs(before)) | {"unpaired": np.median(unpaired)}


def _of_changes(values: Sequence[np.ndarray], drawn: Sequence[np.ndarray], truth: float) -> dict:
    """What `coverage_of_changes` counts; values, drawn: after and before, [replications] and with their resamples."""
    _, low, high = distance_differences(values, drawn, 0.0, "neutral")
    return {
        "covers": ((low <= truth) & (truth <= high)).mean(),
        "nearer": (high < 0).mean(),
        "farther": (low > 0).mean(),
        "width": np.median(high - low),
    }


def coverage_of_effect_changes(
    words: int, before: float, after: float, *, draw: str = "normal", replications: int
) -> dict:
    """The same of the change of a WEAT effect size with so many words in each of the two sets. The associations of a
    word in the two models, drawn from DRAWS, correlate at 0.8; the means of the two sets differ by `before` and
    `after`."""
    rng = np.random.default_rng(0)
    values, drawn = np.empty((2, replications)), []
    for number in range(replications):
        one = DRAWS[draw](rng, 2 * words)
        other = 0.8 * one + 0.6 * DRAWS[draw](rng, 2 * words)
        for side, (s, shift) in enumerate(((other, after), (one, before))):
            s[:words] += shift
            values[side, number] = (s[:words].mean() - s[words:].mean()) / s.std()
            drawn.append(effect_interval(s, words).resampled)
    truth = abs(after) / np.sqrt(1 + after**2 / 4) - abs(before) / np.sqrt(1 + before**2 / 4)
    return _of_changes(values, [np.array(drawn[0::2]), np.array(drawn[1::2])], truth)


def coverage_of_correlation_changes(items: int, before: float, after: float, *, replications: int) -> dict:
    """The same of the change of a correlation r over so many items; what is not explained correlates at 0.8."""
    rng = np.random.default_rng(0)
    values, drawn = np.empty((2, replications)), ([], [])
    for number in range(replications):
        x, one, other = rng.normal(size=(3, items))
        for side, (noise, r) in enumerate(((0.8 * one + 0.6 * other, after), (one, before))):
            y = r * x + np.sqrt(1 - r**2) * noise
            values[side, number] = np.corrcoef(x, y)[0, 1]
            ends = interval(lambda counts, xy=(x, y): resampled_correlations(*xy, counts, "pearson"), np.arange(items))
            drawn[side].append(ends.resampled)
    return _of_changes(values, [*map(np.array, drawn)], abs(after) - abs(before))


def coverage_of_top_changes(triples: int, before: float, after: float, *, replications: int) -> dict:
    """The same of the change of the mean of the largest tenth of the absolute values of so many triples, which are
    normal with standard deviations of `before` and `after` and correlate at 0.8."""
    rng = np.random.default_rng(0)
    values, drawn = np.empty((2, replications)), ([], [])
    for number in range(replications):
        one, other = rng.normal(size=(2, triples))
        for side, triple_values in enumerate((after * (0.8 * one + 0.6 * other), before * one)):
            values[side, number] = mean_of_top(np.abs(triple_values), 0.1)
            drawn[side].append(top_interval(np.abs(triple_values), [0.1]).resampled[0])
    of_largest = 20 * np.exp(-(ndtri(0.95) ** 2) / 2) / np.sqrt(2 * np.pi)  # the mean of them, of a deviation of 1
    return _of_changes(values, [*map(np.array, drawn)], of_largest * (after - before))


def coverage_over_seeds(seeds: int, spread: float, *, replications: int) -> dict:
    """How often the interval of a mean over seeds covers the score of all seeds on all items: Student's t of the seeds
    (`t`), and with what the intervals over items add (`with items`). The items have an error of 1, which all seeds
    share, and the seeds a standard deviation of `spread`."""
    rng, hits = np.random.default_rng(0), np.zeros(2)
    for _ in range(replications):
        values = rng.normal() + rng.normal(0, spread, seeds)
        mean, over_seeds = values.mean(), t_interval(values)
        both = with_items(mean, over_seeds, (mean - 1.96, mean + 1.96))
        hits += [over_seeds[0] <= 0 <= over_seeds[1], both[0] <= 0 <= both[1]]
    return dict(zip(("t", "with items"), hits / replications, strict=True))


def equal_encoders_called_different(seeds: Sequence[int], spread: float, *, replications: int) -> dict:
    """How often two encoders that do not differ are called different (`differences.apart`): by the items alone
    (`items`), and where the spread of seeds enters (`with seeds`; NaN for one seed each). seeds: how many either has;
    the items of either have an error of 1, and the seeds a standard deviation of `spread`."""
    rng, called = np.random.default_rng(0), np.zeros(2)
    for _ in range(replications):
        sides = [rng.normal() + rng.normal(0, spread, n) for n in seeds]
        first, second = (side.mean() for side in sides)
        over_items = difference_interval(*((mean, mean - 1.96, mean + 1.96) for mean in (first, second)))
        both = with_seeds(first - second, sides, over_items) if max(seeds) > 1 else (np.nan, np.nan)
        called += [np.nan if np.isnan(low) else not low <= 0 <= high for low, high in (over_items, both)]
    return dict(zip(("items", "with seeds"), called / replications, strict=True))


def coverage_of_gaps_over_seeds(classifier: Classifier, *, replications: int, seeds: int = 3) -> dict:
    """The same of the TPR gaps of so many seeds with the same true gaps: of their correlation with the shares of women
    and of their sum."""
    rng, hits = np.random.default_rng(0), np.zeros(4)
    for _ in range(replications):
        shares, expected, _ = classifier.drawn(rng)
        truth = fairness.gaps(np.round(1e6 * expected).astype(np.int64)).tpr
        people = expected.sum(axis=-1, keepdims=True)
        counts = rng.multinomial(people[..., 0].round().astype(int), expected / people, size=(seeds, *people.shape[:2]))
        gaps = [fairness.gaps(table).tpr for table in counts]
        for place, (true, values, ends) in enumerate(
            (
                (
                    truth.gap_pearson(shares),
                    [gap.gap_pearson(shares) for gap in gaps],
                    [correlation_interval(shares, gap.gap, gap.gap_variance) for gap in gaps],
                ),
                (
                    truth.gap_sum(),
                    [gap.gap_sum() for gap in gaps],
                    [intervals(Tables(table), {})["tpr_gap_sum", "-", "-"][:2] for table in counts],
                ),
            )
        ):
            over_seeds = t_interval(values)
            both = with_items(float(np.mean(values)), over_seeds, tuple(np.mean(ends, axis=0)))
            hits[2 * place :][:2] += [low <= true <= high for low, high in (over_seeds, both)]
    return dict(zip(("r, t", "r, with items", "sum, t", "sum, with items"), hits / replications, strict=True))


def coverage_over_splits(apart: float, of_gender: float, *, replications: int, splits: int = 5) -> dict:
    """How often the interval of a mean over splits of the same people covers what other people would give on average:
    Student's t, and `split_interval`, of the sum of TPR gaps (`sum`), of their correlation with the shares of women
    (`r`), and of what subsampled training takes off the sum (`fall`).

    The people are those of config/frozen.yaml, cut, balanced and tested as there, the classifiers least squares on 16
    coordinates with a deviation of 1: each of five has a mean of `apart` for one profession, one of `of_gender` for
    women."""
    rng = np.random.default_rng(0)
    people = [(gender, y) for gender, sizes in BIOGRAPHIES.items() for y, size in enumerate(sizes) for _ in range(size)]
    bios = pd.DataFrame(people, columns=["gender", "label"])
    z, y = (bios["gender"] == "F").to_numpy(int), bios["label"].to_numpy()
    ways = [Strategy("plain", "strategies"), Strategy("subsampling", "strategies.balance")]
    rows = [[rows_of(bios, way, seed) for way in ways] for seed in range(splits)]
    tests = [held_out(bios, seed) for seed in range(splits)]
    shares = [
        shares_of_women(bios["label"], bios["gender"], split(bios, seed).test).to_numpy() for seed in range(splits)
    ]
    values = np.empty((replications, splits, 3))  # sum, r, fall
    for number in range(replications):
        X = np.c_[rng.normal(size=(len(y), 16)), np.ones(len(y))]
        X[:, :6] += np.c_[apart * np.eye(5)[y], of_gender * z]
        for seed in range(splits):
            gaps = []
            for part in rows[seed]:
                weight, *_ = np.linalg.lstsq(X[part.train], np.eye(5)[y[part.train]], rcond=None)
                told = (X[tests[seed]] @ weight).argmax(axis=1)
                table = fairness.counts(y[tests[seed]], told, z[tests[seed]], n_classes=5)
                gaps.append(fairness.gaps(table).tpr)
            sums = [gap.gap_sum() for gap in gaps]
            values[number, seed] = sums[0], gaps[0].gap_pearson(shares[seed]), sums[0] - sums[1]
    truth = values.mean(axis=(0, 1))
    result = {"mean sum": truth[0], "mean r": truth[1]}
    for place, name in enumerate(("sum", "r", "fall")):
        for of, ends_of in (("t", t_interval), ("splits", split_interval)):
            ends = np.array([ends_of(of_people) for of_people in values[..., place]])
            result[f"{name}, {of}"] = np.mean((ends[:, 0] <= truth[place]) & (truth[place] <= ends[:, 1]))
    return result


def coverage_near_ceiling(items: int, share: float, *, replications: int) -> dict:
    """The same of a share near 1 of so many items, over three seeds whose answers correlate at 0.81. Seeds
    that are all the same have the interval over items alone, as in results.matrix."""
    rng, hits = np.random.default_rng(0), np.zeros(2)
    for _ in range(replications):
        answers = 0.9 * rng.normal(size=items) + 0.19**0.5 * rng.normal(size=(3, items)) < ndtri(share)
        values = answers.mean(axis=1)
        over_seeds = t_interval(values)
        over_items = tuple(np.mean(share_interval(answers.sum(axis=1), items), axis=1))
        both = over_items if np.isnan(over_seeds).any() else with_items(values.mean(), over_seeds, over_items)
        hits += [low <= share <= high for low, high in (over_seeds, both)]
    return dict(zip(("t", "with items"), hits / replications, strict=True))


OF_GAPS = {
    "sum": ("tpr_gap_sum", "-", "-", "low"),
    "r": ("tpr_gap_pearson", "-", "train", "neutral"),
    "independence": ("independence", "-", "-", "low"),
    "separation": ("separation", "-", "absdiff", "low"),
    "sufficiency": ("sufficiency", "-", "absdiff", "low"),
}


def coverage_of_gap_changes(
    classifier: Classifier, kept: float, *, seeds: int = 1, winobias: bool = False, replications: int
) -> dict:
    """How often the interval of the change of gaps on the same people covers it, for each of OF_GAPS, and says nearer
    or farther; how often that of the score before the change holds the true one. kept: the share of every gap that a
    method leaves. Answers of all seeds and both models correlate at 0.81.

    winobias: the people are sentences of which each is there with a pronoun of either gender, whose answers correlate
    as much; half of the misses are "None", which has no gaps."""
    rng, found = np.random.default_rng(0), []
    for _ in range(replications):
        shares, expected, _ = classifier.drawn(rng)
        expected = _with_none(expected) if winobias else expected
        people = expected.sum(axis=-1).round().astype(int)
        before = expected / np.maximum(expected.sum(axis=-1, keepdims=True), 1)
        z, y = np.repeat(np.indices(people.shape).reshape(2, -1), people.ravel(), axis=1)
        alike = len(z) // 2 if winobias else len(z)  # those of one gender come before the others
        order = np.add.outer(np.arange(0, len(z), alike), rng.permutation(alike)).ravel()
        shared, other = rng.normal(size=alike), rng.random(alike)
        z, y, shared, other = z[order], y[order], np.resize(shared, len(z)), np.resize(other, len(z))
        after = _with_gaps(before, kept)
        truths = [
            _gaps_of(_tables(np.round(1e6 * people[..., None] * side).astype(np.int64), winobias), shares)
            for side in (after, before)
        ]
        true = {name: abs(truths[0][name]) - abs(truths[1][name]) for name in OF_GAPS}
        of_seeds: dict[str, list] = {name: [] for name in OF_GAPS}
        row = {}
        for _ in range(seeds):
            sides = []
            for side in (after, before):
                cells = fairness.cells(y, _answers(side, z, y, shared, other, rng), z, n_classes=people.shape[1])
                tables = _tables(fairness.counted(cells, n_classes=people.shape[1]), winobias)
                sides.append((_gaps_of(tables, shares), intervals(tables, {"train": shares}, cells, pairs=winobias)))
            for name, (*key, better) in OF_GAPS.items():
                values = [np.array([value[name]]) for value, _ in sides]
                ends_of = [ends[tuple(key)] for _, ends in sides]
                drawn = [ends.resampled[None] for ends in ends_of]
                of_seeds[name].append(np.ravel(distance_differences(values, drawn, 0.0, better)))
                ends = ends_of[1]
                row[f"{name} holds"] = ends.low <= truths[1][name] <= ends.high if np.isfinite(ends.low) else np.nan
        for name, ends in of_seeds.items():
            value, low, high = np.mean(ends, axis=0)
            if seeds > 1:
                low, high = with_items(value, t_interval(np.array(ends)[:, 0]), (low, high))
            row |= {name: low <= true[name] <= high, f"{name} nearer": high < 0, f"{name} farther": low > 0}
        found.append(row)
    return pd.DataFrame(found).mean().to_dict()


def _with_none(expected: np.ndarray) -> np.ndarray:
    """The expected table [2, 40, 40] of professions as one [2, 41, 41] of the classes of WinoBias."""
    missed = np.where(np.eye(expected.shape[-1]), 0, expected) / 2
    none = winobias_scores.classes().index(winobias_scores.NONE)
    return np.insert(np.insert(expected - missed, none, missed.sum(axis=-1), axis=-1), none, 0, axis=-2)


def _tables(counts: np.ndarray, winobias: bool) -> Tables:
    of_winobias = winobias_scores.profession_gaps, winobias_scores.profession_separation
    return Tables(counts, *of_winobias) if winobias else Tables(counts)


def _with_gaps(rates: np.ndarray, kept: float) -> np.ndarray:
    """Rates [2, K, K] with so much of every gap in the true positive rate; who is missed is taken for the same ones."""
    k = np.arange(rates.shape[-1])
    tpr = rates[:, k, k]
    changed = tpr.mean(axis=0) + kept * (tpr - tpr.mean(axis=0))
    result = rates * ((1 - changed) / (1 - tpr))[..., None]
    result[:, k, k] = changed
    return result


def _answers(
    rates: np.ndarray, z: np.ndarray, y: np.ndarray, shared: np.ndarray, other: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The predicted classes of people of gender z and class y; other: as whom somebody is missed, [n] in [0, 1)."""
    k = np.arange(rates.shape[-1])
    right = 0.9 * shared + 0.19**0.5 * rng.normal(size=len(z)) < ndtri(rates[z, y, y])
    missed = rates.copy()
    missed[:, k, k] = 0
    missed = missed.cumsum(axis=-1)
    wrong = (missed[z, y] < (other * missed[z, y, -1])[:, None]).sum(axis=1)
    return np.where(right, y, np.minimum(wrong, len(k) - 1))


def _gaps_of(tables: Tables, shares: np.ndarray) -> dict[str, float]:
    return {
        "sum": tables.gaps.tpr.gap_sum(),
        "r": np.nan_to_num(tables.gaps.tpr.gap_pearson(shares)),
        "independence": fairness.independence(tables.counts),
        "separation": tables.separation.total(),
        "sufficiency": tables.sufficiency.total(),
    }


def _over_seeds(replications: int) -> Iterator[dict]:
    for seeds, spread in product((3, 5), (0.2, 1.0, 3.0)):
        shares = coverage_over_seeds(seeds, spread, replications=10 * replications)
        yield {"what": "mean over seeds", "seeds": seeds, "spread": spread, **shares}
    for k, people, r in ((12, 60, 0.5), (28, 60, 0.8)):
        shares = coverage_of_gaps_over_seeds(Classifier(k, people, r), replications=replications)
        yield {"what": "gaps of three seeds", "professions": k, "people": people, "r": r, **shares}
    for apart, of_gender in ((1.4, 1.0), (1.0, 2.0), (0.8, 3.0)):
        shares = coverage_over_splits(apart, of_gender, replications=4 * replications)
        yield {"what": "splits of the same people", "apart": apart, "of gender": of_gender, **shares}
    for items, share in product((50, 200), (0.9, 0.98, 0.995)):
        shares = coverage_near_ceiling(items, share, replications=10 * replications)
        yield {"what": "share near 1 over seeds", "items": items, "share": share, **shares}


def _gap_changes(replications: int) -> Iterator[dict]:
    for (k, people, seeds), kept in product(((12, 20, 1), (28, 60, 1), (12, 20, 3)), (1.0, 0.5, 0.0)):
        shares = coverage_of_gap_changes(Classifier(k, people, 0.5), kept, seeds=seeds, replications=replications)
        yield {"what": "change of gaps", "professions": k, "people": people, "kept": kept, "seeds": seeds, **shares}
    winobias = Classifier(40, 20, 0.5, spread=0.2)
    for kept in (1.0, 0.5, 0.0):
        shares = coverage_of_gap_changes(winobias, kept, winobias=True, replications=max(2, replications // 4))
        yield {"what": "change of gaps of WinoBias", "sentences": 40, "kept": kept, **shares}


def _equal_encoders(replications: int) -> Iterator[dict]:
    for seeds, spread in product(((1, 1), (2, 2), (3, 3), (5, 5), (5, 1)), (0.2, 1.0, 3.0)):
        shares = equal_encoders_called_different(seeds, spread, replications=replications)
        yield {"what": "equal encoders", "seeds": " and ".join(map(str, seeds)), "spread": spread, **shares}


def _changes(replications: int) -> Iterator[dict]:
    stays, crosses, falls = [(0.0, 0.0), (0.3, 0.3), (0.8, 0.8)], [(0.3, -0.3), (0.8, -0.8)], [(0.8, 0.4), (0.3, 0.0)]
    for items, (before, after) in product((6, 8, 14, 40, 240), stays + crosses + falls):
        shares = coverage_of_changes(items, before, after, replications=replications)
        yield {"what": "change of a distance", "items": items, "before": before, "after": after, **shares}
    for items, (before, after) in product((32, 120, 262), ((0.0, 0.0), (0.1, 0.1), (0.1, -0.1), (0.2, 0.0))):
        shares = coverage_of_changes(items, before, after, shares=True, replications=replications)
        yield {"what": "change of a share", "items": items, "before": before, "after": after, **shares}
    of_effects = ((0.0, 0.0), (1.0, 1.0), (1.0, -1.0), (2.0, 1.0))
    for draw, words, (before, after) in product(("normal", "skewed"), (8, 18), of_effects):
        shares = coverage_of_effect_changes(words, before, after, draw=draw, replications=max(2, replications // 2))
        about = {"draw": draw, "items": words, "before": before, "after": after}
        yield {"what": "change of a WEAT effect size", **about, **shares}
    for items, (before, after) in product((8, 20, 60), ((0.0, 0.0), (0.5, 0.5), (0.5, -0.5), (0.9, 0.5))):
        shares = coverage_of_correlation_changes(items, before, after, replications=max(2, replications // 2))
        yield {"what": "change of a correlation", "items": items, "before": before, "after": after, **shares}
    for triples, (before, after) in product((100, 242), ((1.0, 1.0), (1.0, 0.7))):
        shares = coverage_of_top_changes(triples, before, after, replications=max(2, replications // 2))
        yield {"what": "change of the largest tenth", "items": triples, "before": before, "after": after, **shares}


def _correlations(replications: int) -> Iterator[dict]:
    for size, method, units, r in product((1, 6), ("pearson", "spearman"), (6, 8, 10, 30), (0.0, 0.5, 0.9)):
        if size == 1 and method == "spearman" and units < LEAST_RANKS:
            continue
        shares = coverage_of_correlations(method, units, r, size=size, replications=replications)
        yield {"what": "correlation", "method": method, "clusters": units, "pairs in each": size, "r": r, **shares}


def _effect_sizes(replications: int) -> Iterator[dict]:
    for draw, words, shift in product(("normal", "skewed"), (8, 18), (0.0, 0.5, 1.0, 2.0)):
        shares = coverage_of_effect_sizes(words, shift, draw=draw, replications=replications)
        yield {"what": "WEAT effect size", "draw": draw, "words": words, "shift": shift, **shares}
    for shift in (0.0, 0.5, 1.0, 2.0):
        shares = coverage_of_effect_sizes(8, shift, sentences=8, within=0.3, replications=replications)
        yield {"what": "SEAT effect size", "words": 8, "shift": shift, **shares}


def _targets(replications: int) -> Iterator[dict]:
    for targets, spread in product((10, 20, 30, 36), (0.1, 0.2)):
        shares = coverage_of_targets(targets, 26, spread, replications=replications)
        yield {"what": "targets of StereoSet", "targets": targets, "spread": spread, **shares}


def _people(replications: int) -> Iterator[dict]:
    for professions, gap in product((2, 6, 12, 28), (0.3, 0.2)):
        for share in (0.5, 1, 2):
            people = int(np.ceil(share * PEOPLE / np.sqrt(professions) * (GAP / gap) ** 2))
            shown = power_of_gaps(professions, people, gap, replications=replications)
            yield {"what": "gap", "professions": professions, "gap": gap, "people": people, "shown": shown}


def _seeds(replications: int) -> Iterator[dict]:
    for draw, ratio in product(DRAWS, (1.0, 0.3, 0.0)):
        shares = coverage_of_five_seeds(draw, ratio=ratio, replications=replications)
        yield {"what": "five seeds against five", "draw": draw, "ratio": ratio, **shares}
    for spreads in ((0.1, 0.1, 0.1), (0.02, 0.35, 0.0), (0.2, 0.2, 0.2), (0.1, 0.3, 0.1)):
        shares = coverage_of_shares(spreads, replications=replications)
        yield {"what": "share of the way back", "spreads": " ".join(map(str, spreads)), **shares}
    for doses, slope in product((5, 3), (0.0, 0.3, 1.0, 2.0)):
        shares = coverage_of_rank_correlations(slope, doses=doses, replications=replications)
        yield {"what": "rank correlation with the dose", "doses": doses, "slope": slope, **shares}


def _noise(replications: int) -> Iterator[dict]:
    for units, measures in product((6, 10), (5, 10)):
        shares = claims_from_noise(units=units, measures=measures, methods=8, replications=replications)
        yield {"what": "claims from noise", "units": units, "measures": measures, **shares}


def _calibrations(replications: int) -> Iterator[dict]:
    settings = [{"slope": slope, "seeds": seeds} for seeds, slope in product((3, 6), (0.0, 1.0, 2.0, 4.0))]
    for encoders, sizes, chance in product((1, 2, 3), SIZES, (0.0, 0.5, 1.0, 2.0, 4.0)):
        settings += [{"slope": 1.0, "encoders": encoders, "sizes": sizes, "chance": chance}]
    settings += [{"slope": slope, "encoders": encoders} for encoders, slope in product((2, 3), (0.0, 0.5, 2.0))]
    for setting in settings:
        yield {
            "what": "claims of a calibration",
            **setting,
            **claims_of_calibrations(**setting, replications=replications),
        }


def _gaps(replications: int) -> Iterator[dict]:
    for k, people, skewed, r in product((28, 40), (20, 60, 200), (False, True), (0.2, 0.5, 0.8, 0.95)):
        classifier = Classifier(k, people, r, skewed)
        covered = coverage_of_gaps(classifier, replications=replications)
        yield {"what": "gap correlation", **asdict(classifier), **covered}


def _sums(replications: int) -> Iterator[dict]:
    for (k, people), skewed, spread in product(((12, 60), (28, 200), (28, 700)), (False, True), (0.1, 0.3)):
        classifier = Classifier(k, people, 0.5, skewed, spread)
        yield {"what": "sum", **asdict(classifier), **coverage_of_sums(classifier, replications=replications)}


def _predictions(replications: int) -> Iterator[dict]:
    """Predictions of a classifier elsewhere at a user's sizes: the groups have 30 and 70 % of the people."""
    for k, n, spread in product((2, 4, 20), (300, 1000, 5000), (0.03, 0.1)):
        classifier = Classifier(k, n / (2 * k), 1.0 if k == 2 else 0.5, spread=spread, first=0.3)
        covered = coverage_of_sums(classifier, replications=replications)
        yield {"what": "predictions", "n": n, **asdict(classifier), **covered}


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / (np.linalg.norm(vector) or 1.0)  # of two points nothing lies beside a line


# name -> rows, replications of each
TABLES = {
    "gaps": (_gaps, 300),
    "sums": (_sums, 300),
    "predictions": (_predictions, 200),
    "seeds": (_seeds, 2000),
    "noise": (_noise, 200),
    "calibrations": (_calibrations, 100),
    "weat": (_effect_sizes, 500),
    "targets": (_targets, 200),
    "people": (_people, 60),
    "correlations": (_correlations, 1000),
    "changes": (_changes, 1000),
    "over seeds": (_over_seeds, 100),
    "gap changes": (_gap_changes, 200),
    "measures": (coverage_of_measures.measures, 200),
    "bias left": (coverage_of_measures.bias_left, 200),
    "equal encoders": (_equal_encoders, 4000),
}


def main(path: str, scale: float = 1.0) -> None:
    """Write all tables into one file; scale: a factor for the number of replications."""
    rows = []
    for table, n in TABLES.values():
        replications = max(2, round(scale * n))
        for row in table(replications):
            rows.append(row | {"replications": replications})
            write_csv(pd.DataFrame(rows), path)  # what there is, if it is stopped


if __name__ == "__main__":
    main(sys.argv[1])
