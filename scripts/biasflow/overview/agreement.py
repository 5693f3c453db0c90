"""Do the measures of bias agree? Their rank correlations over methods, the methods' mean ranks, and what two measures
say the other way round.

A row (method) is compared with others on one model alone: an encoder, or a fine-tuning of it with one seed. Methods on
one model are no independent observations, so that every interval draws whole encoders where there are three or more, or
else whole seeds; with fewer of both there is none."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from biasflow.overview.judgements import COST, distances
from biasflow.overview.maps import UNTOUCHED, name_of
from biasflow.plan.blocks import RANDOM
from biasflow.results.first_table import SETTINGS
from biasflow.results.matrix import OWN, by_rows
from biasflow.results.scores import NA
from biasflow.results.statistics import cluster_interval, t_interval

LEAST_ROWS = 5  # methods below which two measures are not said to agree
LEAST_CLUSTERS = 3
ENCODERS, SEEDS, ITEMS = "encoders", "seeds", "items"
UNIT = ["encoder", "seed"]
CAPTION = (
    "Rank correlation (Spearman) of the distances from neutral that two measures of bias find for the methods on the "
    "same model. "
    f"Ranks are those among the methods on one model, {LEAST_ROWS} or more; a measure of the encoder as pre-trained is "
    "compared with the mean over the seeds of a fine-tuning. The interval (95 %, bootstrap) draws whole encoders, from "
    "three on, or else whole seeds, from three on: methods on one model are not independent. Settings of a grid are "
    "left out; random controls count as methods."
)


@dataclass(frozen=True)
class Conflict:
    """Measure `a` calls `better` better than `worse`, and measure `b` the other way round, on the models `where`; over:
    what the intervals are over, of a and of b; size: the smaller of both differences, in distances from neutral of the
    untouched model (or of the larger of the two rows, where there is none)."""

    where: str
    a: str
    b: str
    better: str
    worse: str
    over: tuple[str, str]
    size: float

    def turned(self) -> "Conflict":
        """The same, said from the other side."""
        return Conflict(self.where, self.b, self.a, self.worse, self.better, self.over[::-1], self.size)


def in_words(found: Sequence[Conflict]) -> list[str]:
    """Sentences, those of one row and the same two measures in one; the largest first."""
    often = Counter(name for each in found for name in (each.better, each.worse))
    grouped: dict[tuple, list[str]] = {}
    for each in found:
        one = each if (often[each.better], each.better) >= (often[each.worse], each.worse) else each.turned()
        grouped.setdefault((one.where, one.a, one.b, one.better, one.over), []).append(one.worse)
    return [
        f"{where}: {a} calls {better} better than {', '.join(worse)}, and {b} the other way round; {_sure(a, b, over)}."
        for (where, a, b, better, over), worse in grouped.items()
    ]


def _sure(a: str, b: str, over: tuple[str, str]) -> str:
    """Why both are beyond doubt."""
    why = [
        "intervals over items do not overlap" if one == ITEMS else f"the interval over {one} excludes 0" for one in over
    ]
    return f"in both {why[0]}" if why[0] == why[1] else f"in {a} {why[0]}, in {b} {why[1]}"


def observations(scores: pd.DataFrame) -> pd.DataFrame:
    """The distances from neutral of every measure of bias, by model and row: columns measure (its name, with its task
    and, of several, its dataset), task, encoder, seed, name (of the row), distance, low, high.

    Means over splits, readouts and heads; own heads alone; no settings of a grid."""
    own = scores[scores["head"].isin(OWN) & (scores["strategy"] != RANDOM)]
    own = own[own.groupby("method")["setting"].transform("nunique") <= SETTINGS]
    found = []
    for (metric, part, variant), measure in by_rows().items():
        if measure.group == COST:
            continue
        block = own[(own["metric"] == metric) & (own["part"] == part) & (own["variant"] == variant)]
        for task, cells in block.groupby("task", sort=False):
            several = cells["dataset"].nunique() > 1
            keys = ["dataset", *UNIT, "strategy", "method", "setting"]
            models = cells[cells["value"].notna()].groupby(keys, sort=False)[["value", "low", "high"]]
            means = models.mean().where(models.count().eq(models.size(), axis=0)).reset_index()  # NaN if one is
            about = means["dataset"].map(lambda name, s=several, t=task: ", ".join(_about(t, name if s else NA)))
            distance, low, high = distances(*(means[c].to_numpy() for c in ("value", "low", "high")), measure.neutral)
            found.append(
                means.assign(
                    measure=[f"{measure.label} ({each})" if each else measure.label for each in about],
                    task=task,
                    name=[name_of(*row) for row in means[["strategy", "method", "setting"]].itertuples(index=False)],
                    distance=distance,
                    low=low,
                    high=high,
                )
            )
    columns = ["measure", "task", *UNIT, "name", "distance", "low", "high"]
    return pd.concat(found, ignore_index=True)[columns] if found else pd.DataFrame(columns=columns)


def _about(task: str, dataset: str) -> list[str]:
    return [each for each in (task, dataset) if each != NA]


def agreement(found: pd.DataFrame) -> pd.DataFrame:
    """One row per two measures that are measured for LEAST_ROWS methods on one model: measure_a, measure_b, spearman,
    low, high, over (what is drawn: encoders, seeds, or "-"), methods (on a model, at most), encoders, seeds.

    found: `observations`. spearman is Pearson's correlation of the ranks within models."""
    rows = []
    tasks = dict(zip(found["measure"], found["task"], strict=True))
    by_model, by_encoder = (_means(found, keys) for keys in ([*UNIT, "name"], ["encoder", "name"]))
    for a, b in combinations(tasks, 2):
        sides = by_model if tasks[a] == tasks[b] else by_encoder
        both = _ranked(sides[a], sides[b])
        if both.empty or not (both["x"].any() and both["y"].any()):
            continue
        over, clusters = _clusters(both)
        low, high = cluster_interval(both["x"], both["y"], clusters, "pearson") if over != NA else (np.nan, np.nan)
        rho = float((both["x"] * both["y"]).sum() / np.sqrt((both["x"] ** 2).sum() * (both["y"] ** 2).sum()))
        sizes = both.groupby(UNIT).size()
        rows.append((a, b, rho, low, high, over, sizes.max(), both["encoder"].nunique(), both["seed"].nunique()))
    columns = ["measure_a", "measure_b", "spearman", "low", "high", "over", "methods", "encoders", "seeds"]
    return pd.DataFrame(rows, columns=columns)


def _means(found: pd.DataFrame, keys: list[str]) -> dict[str, pd.Series]:
    """Measure -> its mean distances, by `keys`."""
    return {
        name: rows.groupby(keys, sort=False)["distance"].mean() for name, rows in found.groupby("measure", sort=False)
    }


def _ranked(a: pd.Series, b: pd.Series) -> pd.DataFrame:
    """The ranks of both measures among the methods on each model, less their mean: encoder, seed (NA where the index
    has none), x, y; of models with LEAST_ROWS methods."""
    both = pd.concat([a, b], axis=1, join="inner")
    found = []
    for unit, rows in both.groupby(level=a.index.names[:-1], sort=False) if len(both) >= LEAST_ROWS else ():
        if len(rows) >= LEAST_ROWS:
            x, y = rankdata(rows.to_numpy(), axis=0).T - (len(rows) + 1) / 2
            encoder, seed, *_ = *unit, NA
            found.append(pd.DataFrame({"encoder": encoder, "seed": seed, "x": x, "y": y}))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=[*UNIT, "x", "y"])


def sentences(pairs: pd.DataFrame) -> list[str]:
    """What `agreement` found, in words: how many pairs agree or disagree beyond doubt, and the ends; or why there is no
    interval."""
    if pairs.empty:
        return [
            f"No two measures of bias were measured for {LEAST_ROWS} methods on one model, so nothing is said of it."
        ]
    said = []
    known = pairs[pairs["low"].notna()]
    if len(known):
        agree, against = (known["low"] > 0).sum(), (known["high"] < 0).sum()
        said.append(
            f"Pairs of measures with an interval: {len(known)}. Agree on the methods (it lies above 0): {agree}; put "
            f"them in the opposite order (below 0): {against}; neither surely: {len(known) - agree - against}."
        )
    for over, block in pairs[pairs["low"].isna()].groupby(["encoders", "seeds"], sort=False):
        some = "the pair" if len(block) == 1 else f"the {len(block)} pairs"
        said.append(
            f"No interval can be given for {some} measured on {counted(*over)}: it takes {LEAST_CLUSTERS} of either."
        )
    ends = pairs.iloc[[pairs["spearman"].argmax(), pairs["spearman"].argmin()]].drop_duplicates()
    for how, row in zip(("best", "least"), ends.itertuples(), strict=False):
        interval = "" if np.isnan(row.low) else f", {row.low:.2f} to {row.high:.2f} over {row.over}"
        said.append(
            f"{row.measure_a} and {row.measure_b} agree {how}: rank correlation {row.spearman:.2f}{interval}, over "
            f"{row.methods} methods."
        )
    return said


def counted(encoders: int, seeds: int) -> str:
    """ "1 encoder and 2 seeds"."""
    return " and ".join(f"{n} {what}" + ("" if n == 1 else "s") for n, what in ((encoders, "encoder"), (seeds, "seed")))


def _clusters(rows: pd.DataFrame) -> tuple[str, pd.Series]:
    """What an interval draws, and which of them each row is in: encoders, seeds, or NA where there are too few."""
    for over, key in ((ENCODERS, "encoder"), (SEEDS, "seed")):
        if rows[key].nunique() >= LEAST_CLUSTERS:
            return over, rows[key]
    return NA, rows["encoder"]


def mean_ranks(found: pd.DataFrame) -> pd.DataFrame:
    """The mean rank of each method over the measures of a task, 1 for the least bias: task, name, rank, low, high (t,
    over encoders or seeds), over, methods (that are ranked), measures, encoders, seeds.

    Of the measures that LEAST_ROWS methods on a model have, and the methods that have all of these."""
    rows = []
    for task, block in found.groupby("task", sort=False):
        enough = block.groupby(["measure", *UNIT])["name"].transform("nunique") >= LEAST_ROWS
        wide = block[enough].pivot_table(index=[*UNIT, "name"], columns="measure", values="distance").dropna()
        measures, wide = wide.columns, wide.reset_index()
        wide = wide[wide.groupby(UNIT)["name"].transform("size") >= LEAST_ROWS]
        if wide.empty or len(measures) < 2:
            continue
        wide = wide.assign(rank=wide.groupby(UNIT)[list(measures)].rank().mean(axis=1))
        over, clusters = _clusters(wide)
        for name, ranks in wide.groupby("name")["rank"]:
            each = ranks.groupby(clusters[ranks.index]).mean()
            low, high = t_interval(each.to_numpy()) if over != NA else (np.nan, np.nan)
            rows.append((task, name, each.mean(), low, high, over, wide["name"].nunique(), len(measures)))
            rows[-1] += wide["encoder"].nunique(), wide["seed"].nunique()
    columns = ["task", "name", "rank", "low", "high", "over", "methods", "measures", "encoders", "seeds"]
    return pd.DataFrame(rows, columns=columns).sort_values(["task", "rank"], kind="stable", ignore_index=True)


def conflicts(found: pd.DataFrame) -> list[Conflict]:
    """Where two measures put two methods in opposite orders, each beyond doubt; the largest first.

    Beyond doubt is, with three encoders or more (of all of them together), or else three seeds of a model, a difference
    whose t interval over these excludes 0; otherwise two intervals over items that do not overlap. There is no
    correction for how many are looked at."""
    several = found["encoder"].nunique() >= LEAST_CLUSTERS
    scopes = [("all encoders", found)] if several else list(found.groupby("encoder", sort=False))
    all_of_them = [each for where, block in scopes for each in _conflicts(where, block, several)]
    return sorted(all_of_them, key=lambda each: -each.size)


def _conflicts(where: str, block: pd.DataFrame, several: bool) -> Iterator[Conflict]:
    orders = {
        name: _orders(rows, "encoder" if several else "seed") for name, rows in block.groupby("measure", sort=False)
    }
    for a, b in combinations(orders, 2):
        for pair in orders[a].keys() & orders[b].keys():
            (sign, size, over), (other, other_size, other_over) = orders[a][pair], orders[b][pair]
            if sign * other < 0:
                better, worse = pair if sign < 0 else pair[::-1]
                least = min(size, other_size)
                yield Conflict(where, a, b, better, worse, (over, other_over), least)


def _orders(rows: pd.DataFrame, cluster: str) -> dict[tuple[str, str], tuple[int, float, str]]:
    """(row, row) -> -1 or 1 if the first is nearer to neutral or farther than the second beyond doubt, by how much, and
    over what: of one measure."""
    wide, low, high = (
        rows.pivot_table(index=cluster, columns="name", values=column, dropna=False)
        for column in ("distance", "low", "high")
    )
    untouched = wide.get(UNTOUCHED, pd.Series(dtype=float)).mean()
    over = {"encoder": ENCODERS, "seed": SEEDS}[cluster] if len(wide) >= LEAST_CLUSTERS else ITEMS
    names = sorted(wide.columns)
    columns = {name: tuple(table[name].to_numpy() for table in (wide, low, high)) for name in names}
    found = {}
    for one, two in combinations(names, 2):
        there = ~np.isnan(columns[one][0] - columns[two][0])  # what only one of them was measured on says nothing
        if not there.any():
            continue
        (first, first_low, first_high), (second, second_low, second_high) = (
            (values[there] for values in columns[name]) for name in (one, two)
        )
        difference = first - second
        if over == ITEMS:
            ends = _mean(first_low - second_high), _mean(first_high - second_low)
        else:
            ends = t_interval(difference)
        if ends[0] > 0 or ends[1] < 0:
            scale = untouched if untouched > 0 else max(first.mean(), second.mean())
            found[one, two] = int(np.sign(difference.mean())), float(abs(difference.mean()) / scale), over
    return found


def _mean(values: np.ndarray) -> float:
    """Of those that are defined."""
    defined = values[~np.isnan(values)]
    return defined.mean() if len(defined) else np.nan
