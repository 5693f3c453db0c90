"""Where the scores of runs, or of the encoders of a run, differ: beyond their intervals, or in what is there at all."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from biasflow.registry import COST
from biasflow.results import changes
from biasflow.results.bootstrap import RESAMPLED
from biasflow.results.comparison import (
    ITEMS,
    SAME_ITEMS,
    SEEDS,
    difference_interval,
    distances,
    has_width,
    p_of_interval,
    with_items,
)
from biasflow.results.matrix import OWN, by_rows, claimable, untouched_rows
from biasflow.results.scores import KEYS, MEASURE, NA, NONE, ROUNDING
from biasflow.results.statistics import holm

SCORE = ["value", "low", "high"]
RUNS = ["first", "second"]
COLUMNS = [*KEYS, *(f"{name}_{run}" for run in RUNS for name in SCORE)]
COLUMNS += ["difference", "difference_low", "difference_high", "what"]
DIFFERS, UNTESTED = "differs", "differs, no interval"
ONLY_FIRST, ONLY_SECOND = "only in the first", "only in the second"
MODELS = ["encoder", "task", "strategy", "head", "dataset", *MEASURE]  # what tells rows of `apart` from each other
APART = [*MODELS, "label", *(f"{name}_{run}" for run in RUNS for name in (*SCORE, "seeds"))]
APART += ["apart", "apart_low", "apart_high", "over", "p", "more"]
BETWEEN = ["first", "second", *APART]
KINDS = [DIFFERS, ONLY_FIRST, ONLY_SECOND, UNTESTED]


class Side(NamedTuple):
    """What is compared: the scores of untouched models, their resamples (results.changes.COLUMNS), and encoder -> what
    it is called in the comparison: those that differ in their seed alone have one name, and models of two sides are
    compared where the names are the same."""

    scores: pd.DataFrame
    drawn: pd.DataFrame
    families: Mapping[str, str] = {}


def differences(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """A row for each score in which two tables of scores (results.scores) differ, COLUMNS, in the order of KINDS; empty
    where they agree.

    what: "differs" where the 95 % interval of the second value minus the first (from the intervals of both, as if they
    were measured on different items: results.comparison) leaves out 0; "differs, no interval" where one of them has no
    interval, or none of them has a width, and they are not equal up to rounding; or which table alone has the row. A
    change (results.changes) that one table alone has is left out: its scores say so, and older runs have no changes."""
    scores = [frame[[*KEYS, *SCORE]] for frame in (first, second)]
    both = scores[0].merge(scores[1], "outer", on=KEYS, suffixes=("_first", "_second"), indicator="in")
    both = both.assign(difference_low=np.nan, difference_high=np.nan)
    in_both = both["in"] == "both"
    sides = [both.loc[in_both, [f"{name}_{run}" for name in SCORE]].to_numpy() for run in ("second", "first")]
    intervals = np.array([difference_interval(*pair) for pair in zip(*sides, strict=True)]).reshape(-1, 2)
    both.loc[in_both, ["difference_low", "difference_high"]] = intervals
    both["difference"] = both["value_second"] - both["value_first"]
    equal = np.isclose(both["value_first"], both["value_second"], rtol=ROUNDING, atol=ROUNDING, equal_nan=True)
    both["what"] = np.select(
        [both["in"] == "left_only", both["in"] == "right_only", equal], [ONLY_FIRST, ONLY_SECOND, ""], DIFFERS
    )
    tested = has_width(both["difference_low"], both["difference_high"])
    zero = (both["difference_low"] <= 0) & (both["difference_high"] >= 0)
    both.loc[(both["what"] == DIFFERS) & ~tested, "what"] = UNTESTED
    both.loc[(both["what"] == DIFFERS) & zero, "what"] = ""
    both.loc[both["what"].isin([ONLY_FIRST, ONLY_SECOND]) & changes.are_changes(both["metric"]), "what"] = ""
    different = both.loc[both["what"] != "", COLUMNS]
    return different.sort_values("what", key=lambda kinds: kinds.map(KINDS.index), kind="stable", ignore_index=True)


def in_words(row: Mapping) -> str:
    """Which score a row of `differences` is about, and its values, in one line."""
    name = " ".join(f"{key}={row[key]}" for key in KEYS if row[key] != NA)
    if row["what"] in (ONLY_FIRST, ONLY_SECOND):
        return name
    interval = "" if row["what"] == UNTESTED else f" [{row['difference_low']:.4g}, {row['difference_high']:.4g}]"
    values = f"{row['value_first']:.6g} and {row['value_second']:.6g}"
    return f"{name}: {values}, difference {row['difference']:.4g}{interval}"


def sides_of_encoders(scores: pd.DataFrame, drawn: pd.DataFrame, families: Mapping[str, str]) -> dict[str, Side]:
    """Each encoder of a run as a side of its own; those of a family (results.power) are one."""
    of_family: dict[str, list[str]] = {}
    for name in scores["encoder"].unique():
        of_family.setdefault(families.get(name, name), []).append(name)
    return {
        family: Side(scores[scores["encoder"].isin(names)], drawn, dict.fromkeys(names, NA))
        for family, names in of_family.items()
    }


def between(sides: Mapping[str, Side]) -> pd.DataFrame:
    """How far apart every two of several sides are in bias: BETWEEN, a row for each pair of names and each measure that
    both have, as `apart` has it. p is corrected over all rows (Holm), and more is empty above 0.05."""
    tables = [
        apart(sides[first], sides[second]).assign(first=first, second=second)
        for first, second in combinations(sides, 2)
    ]
    table = pd.concat([pd.DataFrame(columns=BETWEEN), *tables])[BETWEEN].reset_index(drop=True)
    p = holm(table["p"].astype(float))
    return table.assign(p=p, more=table["more"].where(p <= 0.05, ""))


def apart(one: Side, other: Side) -> pd.DataFrame:
    """How far apart the untouched models of two sides are in bias: a row for each measure that both have, APART.

    value, low, high: the mean score over seeds, with the mean ends of its intervals; seeds: how many there are.

    apart: the distance of the first from neutral minus that of the second, and its 95 % interval: of the same resamples
    where both were measured on the same items (over: SAME_ITEMS), otherwise of items drawn for each (ITEMS). Where a
    side has several seeds, their spread enters (`with_seeds`): over ends in SEEDS. p: two-sided, of no difference;
    more: "first" or "second", which is more biased, where the interval leaves out 0."""
    untouched = [_untouched(side.scores, side.families) for side in (one, other)]
    resamples = [_resamples(side.drawn) for side in (one, other)]
    groups = [dict(list(side.groupby(MODELS, sort=False))) for side in untouched]
    rows = [
        dict(zip(MODELS, key, strict=True)) | _apart([group[key] for group in groups], resamples)
        for key in groups[0]
        if key in groups[1]
    ]
    return pd.DataFrame(rows, columns=APART)


def _untouched(scores: pd.DataFrame, families: Mapping[str, str]) -> pd.DataFrame:
    """The scores of bias of untouched models; unit: what tells their seeds apart; encoder: the first of its family."""
    rows = untouched_rows(claimable(scores))
    bias = [key for key, measure in by_rows().items() if measure.group != COST]
    is_bias = pd.MultiIndex.from_frame(rows[MEASURE]).isin(bias)
    rows = rows[is_bias & rows["head"].isin(OWN) & rows["value"].notna()]
    family = rows["encoder"].map(lambda name: families.get(name, name))
    several = rows.groupby(family)["encoder"].transform("nunique") > 1
    return rows.assign(name=rows["encoder"], encoder=family, unit=rows["encoder"].where(several, rows["seed"]))


def _resamples(drawn: pd.DataFrame) -> dict[tuple[str, ...], Mapping]:
    """The keys of a score -> its row with resamples, of untouched models."""
    rows = drawn.reindex(columns=changes.COLUMNS)
    return {tuple(row[key] for key in KEYS): row for row in rows[rows["method"] == NONE].to_dict("records")}


def _apart(sides: Sequence[pd.DataFrame], resamples: Sequence[Mapping[tuple[str, ...], Mapping]]) -> dict[str, object]:
    measure = by_rows()[tuple(sides[0][MEASURE].iloc[0])]
    scores = [tuple(float(side[name].mean(skipna=False)) for name in SCORE) for side in sides]
    seeds = [side.groupby("unit")["value"].mean().to_numpy() for side in sides]
    (first, _, _), (second, _, _) = far = [
        tuple(map(float, distances(*score, measure.neutral, measure.better))) for score in scores
    ]
    kept = [
        [of_run.get(keys) for keys in side.assign(encoder=side["name"])[KEYS].itertuples(index=False, name=None)]
        for side, of_run in zip(sides, resamples, strict=True)
    ]
    over = _over(*kept)
    if over == SAME_ITEMS:
        values = [np.array([score[0]]) for score in scores]
        drawn = [np.mean([row[RESAMPLED] for row in rows], axis=0)[None] for rows in kept]
        _, *ends = changes.distance_differences(values, drawn, measure.neutral, measure.better)
        ends = tuple(float(end[0]) for end in ends)
    else:  # a score that may be neutral may have no distance, as in `changes.distance_differences`
        low, high = difference_interval(*far)
        ends = min(low, -far[1][2]) if far[0][1] == 0 else low, max(high, far[0][2]) if far[1][1] == 0 else high
    if max(map(len, seeds)) > 1:
        over, ends = f"{over} and {SEEDS}", with_seeds(first - second, seeds, ends)
    low, high = ends
    shown, n = has_width(low, high), sum(map(len, seeds))
    return {
        "label": measure.label,
        **{
            f"{name}_{run}": end
            for run, score in zip(RUNS, scores, strict=True)
            for name, end in zip(SCORE, score, strict=True)
        },
        **{f"seeds_{run}": len(values) for run, values in zip(RUNS, seeds, strict=True)},
        "apart": first - second,
        "apart_low": low,
        "apart_high": high,
        "over": over,
        "p": p_of_interval(first - second, low, high, n - 1 if n > 2 else None) if shown else np.nan,
        "more": RUNS[0] if shown and low > 0 else RUNS[1] if shown and high < 0 else "",
    }


def _over(first: Sequence[Mapping | None], second: Sequence[Mapping | None]) -> str:
    """SAME_ITEMS if all scores of both runs are known to be of the same items, with as many resamples each; ITEMS."""
    rows = [*first, *second]
    if any(row is None for row in rows) or len({len(row[RESAMPLED]) for row in rows}) > 1:
        return ITEMS
    return SAME_ITEMS if all(changes.on_same_items(rows[0], row) for row in rows) else ITEMS


def with_seeds(value: float, seeds: Sequence[np.ndarray], over_items: tuple[float, float]) -> tuple[float, float]:
    """The interval of a difference over other items and other seeds. seeds: the scores of either side's, which are
    taken to spread alike: Student's t of two samples, of which one may be a single seed. NaN stays NaN."""
    freedom = sum(map(len, seeds)) - 2
    spread = np.sqrt(sum(((side - side.mean()) ** 2).sum() for side in seeds) / freedom)
    reach = -stdtrit(freedom, 0.025) * spread * np.sqrt(sum(1 / len(side) for side in seeds))
    over_seeds = value - reach, value + reach
    return with_items(value, over_seeds, over_items) if np.isfinite(over_items).all() else over_items
