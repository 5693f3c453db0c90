"""Do the measures of bias agree? Their rank correlations over methods, the methods' mean ranks, and what two measures
say the other way round.

A row (method) is compared with others on one model alone: an encoder, or a fine-tuning of it with one seed. Methods on
one model are not independent of each other, so every interval and test is Student's t over whole encoders where there
are six or more, or else over whole seeds; with fewer of both nothing is claimed. Every claim is one of many: p-values
are adjusted for all that are tested together (false discovery rate)."""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from biasflow.matrix import RANDOM
from biasflow.overview.judgements import COST
from biasflow.overview.maps import UNTOUCHED, name_of
from biasflow.results.bootstrap import LEAST
from biasflow.results.comparison import distances
from biasflow.results.first_table import SETTINGS
from biasflow.results.matrix import OWN, of_measures
from biasflow.results.scores import NA
from biasflow.results.statistics import false_discovery_rates, mean_of_units, row_correlations

LEAST_ROWS = 5  # methods below which two measures are not said to agree
LEVEL = 0.05
ENCODERS, SEEDS = "encoders", "seeds"
UNIT = ["encoder", "seed"]
_NOTHING = (np.nan,) * 3  # interval and p of what is not tested
CAPTION = (
    "How far two measures of bias put the methods on one model into the same order: the rank correlation (Spearman) of "
    "the distances from neutral. "
    f"A pair of measures is compared if at least {LEAST_ROWS} methods on one model have both. A measure of the encoder "
    "as pre-trained is compared with the mean over the seeds of a fine-tuning. The column spearman is the mean over "
    f"encoders if there are at least {LEAST}, otherwise over seeds if there are at least {LEAST}, with its 95 % "
    "interval and p (Student's t over encoders or seeds, because methods on one model are not independent). The column "
    "q is p adjusted for all pairs (false discovery rate). Settings of a grid are left out; controls count as methods."
)


class Conflict(NamedTuple):
    """Measure `a` calls `better` better than `worse`, and measure `b` the other way round, on the models `where`; over:
    what was tested over, encoders or seeds; size: the smaller of both differences, in distances from neutral of the
    untouched model (or of the larger of the two rows, where there is none)."""

    where: str
    a: str
    b: str
    better: str
    worse: str
    over: str
    size: float


def observations(scores: pd.DataFrame) -> pd.DataFrame:
    """The distances from neutral of every measure of bias, by model and row: columns measure (its name, with its task
    and, of several, its dataset), task, encoder, seed, name (of the row), distance, low, high.

    Means over splits, readouts and heads; own heads alone; no settings of a grid."""
    own_heads = scores[scores["head"].isin(OWN) & (scores["strategy"] != RANDOM)]
    own_heads = own_heads[own_heads.groupby("method")["setting"].transform("nunique") <= SETTINGS]
    blocks = []
    for _, measure, block in of_measures(own_heads):
        for task, cells in block.groupby("task", sort=False) if measure.group != COST else ():
            several = cells["dataset"].nunique() > 1
            keys = ["dataset", *UNIT, "strategy", "method", "setting"]
            models = cells[cells["value"].notna()].groupby(keys, sort=False)[["value", "low", "high"]]
            means = models.mean().where(models.count().eq(models.size(), axis=0)).reset_index()  # NaN if one is
            about = means["dataset"].map(lambda name, s=several, t=task: ", ".join(_about(t, name if s else NA)))
            distance, low, high = distances(
                *(means[c].to_numpy() for c in ("value", "low", "high")), measure.neutral, measure.better
            )
            blocks.append(
                means.assign(
                    measure=[f"{measure.label} ({place})" if place else measure.label for place in about],
                    task=task,
                    name=[name_of(*row) for row in means[["strategy", "method", "setting"]].itertuples(index=False)],
                    distance=distance,
                    low=low,
                    high=high,
                )
            )
    columns = ["measure", "task", *UNIT, "name", "distance", "low", "high"]
    return pd.concat(blocks, ignore_index=True)[columns] if blocks else pd.DataFrame(columns=columns)


def _about(task: str, dataset: str) -> list[str]:
    return [name for name in (task, dataset) if name != NA]


def agreement(observed: pd.DataFrame) -> pd.DataFrame:
    """One row per two measures that are measured for LEAST_ROWS methods on one model: measure_a, measure_b, spearman,
    low, high, p, q, over (encoders, seeds, or "-" where there are too few), encoders, seeds, methods (on a model).

    observed: `observations`. spearman is the mean over encoders or seeds of the correlation of ranks within models; p:
    of no correlation; q: p adjusted for all pairs."""
    rows = []
    tasks = dict(zip(observed["measure"], observed["task"], strict=True))
    by_model, by_encoder = (_means(observed, keys) for keys in ([*UNIT, "name"], ["encoder", "name"]))
    for a, b in combinations(tasks, 2):
        sides = by_model if tasks[a] == tasks[b] else by_encoder
        models = _rank_correlations(sides[a], sides[b])
        if models.empty:
            continue
        over, units = _units(models)
        numbers = mean_of_units(models["r"].groupby(units).mean()) if over != NA else (models["r"].mean(), *_NOTHING)
        rows.append((a, b, *numbers, over, *(models[name].nunique() for name in UNIT), models["methods"].max()))
    columns = ["measure_a", "measure_b", "spearman", "low", "high", "p", "over", "encoders", "seeds", "methods"]
    pairs = pd.DataFrame(rows, columns=columns)
    pairs.insert(6, "q", false_discovery_rates(pairs["p"]))
    return pairs


def _means(observed: pd.DataFrame, keys: list[str]) -> dict[str, pd.Series]:
    """Measure -> its mean distances, by `keys`."""
    return {
        name: rows.groupby(keys, sort=False)["distance"].mean()
        for name, rows in observed.groupby("measure", sort=False)
    }


def _rank_correlations(a: pd.Series, b: pd.Series) -> pd.DataFrame:
    """Of each model with LEAST_ROWS methods: encoder, seed (NA where the index has none), r (the rank correlation of
    both measures among its methods), methods. Models on which a measure puts all methods level are left out."""
    both = pd.concat([a, b], axis=1, join="inner")
    models = []
    for unit, rows in both.groupby(level=a.index.names[:-1], sort=False) if len(both) >= LEAST_ROWS else ():
        if len(rows) >= LEAST_ROWS:
            encoder, seed, *_ = *unit, NA
            r = row_correlations(*(side[None] for side in rows.to_numpy().T), "spearman")[0]
            models.append((encoder, seed, r, len(rows)))
    return pd.DataFrame(models, columns=[*UNIT, "r", "methods"]).dropna()


class InShort(NamedTuple):
    """The table of `agreement` in short: of how many tested pairs of measures the order of methods is the same or the
    opposite, and the rows of the pair that agrees best and of the one that agrees least."""

    tested: int
    agree: int
    against: int
    best: NamedTuple
    least: NamedTuple


def in_short(pairs: pd.DataFrame) -> InShort | None:
    """What may be claimed of the pairs (at an adjusted p of LEVEL); None where none was tested."""
    tested = pairs[pairs["q"].notna()].sort_values("spearman", kind="stable")
    if tested.empty:
        return None
    sure = tested.loc[tested["q"] <= LEVEL, "spearman"]
    least, *_, best = [*tested.itertuples()] * 2
    return InShort(len(tested), int((sure > 0).sum()), int((sure < 0).sum()), best, least)


def _units(rows: pd.DataFrame) -> tuple[str, pd.Series]:
    """What is tested over, and which unit each row is of: encoders, seeds, or NA where there are too few of both."""
    for over, key in ((ENCODERS, "encoder"), (SEEDS, "seed")):
        if rows[key].nunique() >= LEAST:
            return over, rows[key]
    return NA, rows["encoder"]


def mean_ranks(observed: pd.DataFrame) -> pd.DataFrame:
    """The mean rank of each method over the measures of a task, 1 for the least bias: task, name, rank, low, high (t,
    over encoders or seeds), over, methods (that are ranked), measures, encoders, seeds.

    Of the measures that LEAST_ROWS methods on a model have, and the methods that have all of these."""
    rows = []
    for task, block in observed.groupby("task", sort=False):
        enough = block.groupby(["measure", *UNIT])["name"].transform("nunique") >= LEAST_ROWS
        wide = block[enough].pivot_table(index=[*UNIT, "name"], columns="measure", values="distance").dropna()
        measures, wide = wide.columns, wide.reset_index()
        wide = wide[wide.groupby(UNIT)["name"].transform("size") >= LEAST_ROWS]
        if wide.empty or len(measures) < 2:
            continue
        wide = wide.assign(rank=wide.groupby(UNIT)[list(measures)].rank().mean(axis=1))
        over, units = _units(wide)
        for name, ranks in wide.groupby("name")["rank"]:
            of_units = ranks.groupby(units[ranks.index]).mean()
            mean, low, high, _ = mean_of_units(of_units) if over != NA else (of_units.mean(), *_NOTHING)
            rows.append((task, name, mean, low, high, over, wide["name"].nunique(), len(measures)))
            rows[-1] += wide["encoder"].nunique(), wide["seed"].nunique()
    columns = ["task", "name", "rank", "low", "high", "over", "methods", "measures", "encoders", "seeds"]
    return pd.DataFrame(rows, columns=columns).sort_values(["task", "rank"], kind="stable", ignore_index=True)


def conflicts(observed: pd.DataFrame) -> list[Conflict]:
    """Where two measures put two methods in opposite orders; the largest first.

    With LEAST encoders or more it is tested over these, or else over the seeds of each encoder that has LEAST: both
    differences must differ from 0 by a t test, adjusted for every two methods by every measure on these models. With
    fewer of both nothing is claimed."""
    several = observed["encoder"].nunique() >= LEAST
    scopes = [("all encoders", observed)] if several else list(observed.groupby("encoder", sort=False))
    claims = [claim for where, block in scopes for claim in _conflicts(where, block, ENCODERS if several else SEEDS)]
    return sorted(claims, key=lambda claim: -claim.size)


def _conflicts(where: str, block: pd.DataFrame, over: str) -> Iterator[Conflict]:
    differences = _differences(block, over.removesuffix("s"))
    sure = differences[false_discovery_rates(differences["p"]) <= LEVEL]
    orders = {name: rows.set_index(["one", "two"]) for name, rows in sure.groupby("measure", sort=False)}
    for a, b in combinations(orders, 2):
        both = orders[a].join(orders[b], how="inner", lsuffix="_a", rsuffix="_b")
        for row in both[both["mean_a"] * both["mean_b"] < 0].itertuples():
            better, worse = row.Index if row.mean_a < 0 else row.Index[::-1]
            yield Conflict(where, a, b, better, worse, over, min(row.size_a, row.size_b))


def _differences(block: pd.DataFrame, unit: str) -> pd.DataFrame:
    """By measure, of every two rows that LEAST units have: measure, one, two, mean (of the first row's distance from
    neutral less the second's: below 0 if it is nearer), size (the same, in distances of the untouched model), p."""
    rows = []
    for measure, of_measure in block.groupby("measure", sort=False):
        wide = of_measure.pivot_table(index=unit, columns="name", values="distance")
        untouched = wide.get(UNTOUCHED, pd.Series(dtype=float)).mean()
        for first, second in combinations(sorted(wide.columns), 2):
            both = wide[[first, second]].dropna()  # what only one of them was measured on says nothing
            if len(both) < LEAST:
                continue
            mean, _, _, p = mean_of_units(both[first] - both[second])
            scale = untouched if untouched > 0 else both.mean().max()
            rows.append((measure, first, second, mean, abs(mean) / scale, p))
    return pd.DataFrame(rows, columns=["measure", "one", "two", "mean", "size", "p"])
