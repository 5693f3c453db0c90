"""Does a method help, and at which price: of each method on one model the share of the bias that it leaves, the quality
that it costs, and which scores it moves nearer to neutral, farther away, or past it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from biasflow.matrix import RANDOM
from biasflow.overview import costs
from biasflow.overview.bias import places
from biasflow.overview.calibrated import calibrated_test
from biasflow.overview.judgements import (
    COST,
    DIFFERS,
    FARTHER,
    HELPS,
    LARGE,
    UNCOMPARED,
    VIABLE,
    compared,
    left,
    turned,
    verdict,
)
from biasflow.overview.maps import UNTOUCHED, Map
from biasflow.plan.methods import control_of
from biasflow.results.comparison import with_items
from biasflow.results.draws import Beyond, beyond
from biasflow.results.evidence import MEASURES
from biasflow.results.matrix import LEAST_HELP, SCORED, drawn_distances, of_measures
from biasflow.results.scores import NA
from biasflow.results.statistics import t_interval

MOST_LEFT = 1 - LEAST_HELP  # of the bias: a method that leaves more is not named
MOVED_OFF = LARGE / 2  # of the largest distance from neutral: an effect size of 0.4
WORDING = "-article"  # ends the names of tests that others have in other words
LEAST_ENCODERS = 3  # that differ in their seed alone, for an interval over these


class Change(NamedTuple):
    """A score before and after a method, with the interval [low, high] of after. says: `judgements.compared`; claims:
    whether the untouched score makes a claim; past: whether it is moved to the other side of neutral; off: whether it
    is `_moved_off`, also where no claim is made, and of a test with two wordings in one; still: whether bias is still
    shown by the interval after; beats: how many of `draws` draws of the control leave it farther from neutral; p: of
    this help, after correction (results.matrix); left: the share of the distance that is left, with its interval."""

    name: str
    before: float
    after: float
    low: float = np.nan
    high: float = np.nan
    says: str = UNCOMPARED
    claims: bool = True
    past: bool = False
    off: bool = False
    still: bool = False
    beats: int = 0
    draws: int = 0
    p: float = np.nan
    left: tuple[float, float, float] = (np.nan,) * 3

    @property
    def helps(self) -> bool:
        return self.says == HELPS

    @property
    def worse(self) -> bool:
        return self.says == FARTHER

    @property
    def is_price(self) -> bool:
        """Whether this speaks against the method, or may."""
        return self.worse or self.past or self.off


@dataclass(frozen=True)
class MethodRow:
    """A method on one model. method: its name without strategy and setting; quality: of `judgements`; left: the mean
    share of the untouched distance from neutral that is left, with an interval, NaN for a method that lacks one of the
    measures that judge; left_of: the share that is left of each of their scores; cost: the one that decides on quality,
    and lost: by which share, with an interval; prices: by which share each is worse; costs: of how many this is the
    worst, and how many the map has; control: the name of its control, "" without one; against: what is left, compared
    with what each draw of the control leaves (results.draws); weak_control: whether it moves vectors too little
    (`notes.Controls`); changes: of each score of bias that was measured under it; same_as: the method whose changes it
    practically repeats (results.matrix), or ""; setting: whether it is a single setting of a method, which is no
    method."""

    name: str
    method: str
    quality: str
    left: tuple[float, float, float]
    left_of: Mapping[str, float]
    cost: str
    lost: tuple[float, float, float]
    prices: Mapping[str, float]
    costs: tuple[int, int]
    control: str
    against: Beyond
    weak_control: bool
    changes: Sequence[Change]
    same_as: str
    setting: bool

    @property
    def tried(self) -> list[str]:
        """The scores that make a claim and were measured under it."""
        return [one.name for one in self.changes if one.claims]

    @property
    def helped(self) -> list[Change]:
        """Of the scores that are shown to be nearer to neutral than untouched and than under the control."""
        return [one for one in self.changes if one.helps]

    @property
    def farther(self) -> list[Change]:
        return [one for one in self.changes if one.worse]

    @property
    def past(self) -> list[Change]:
        return [one for one in self.changes if one.past]

    @property
    def off(self) -> list[Change]:
        return [one for one in self.changes if one.off]

    @property
    def control_of(self) -> str | None:
        """The name of the row whose control this is, if it is one (plan.methods)."""
        of = control_of(self.method)
        return of and self.name.replace(self.method, of)

    @property
    def is_method(self) -> bool:
        """Whether it is judged as a method: no control, and no single setting."""
        return self.control_of is None and not self.setting

    @property
    def leaves_less(self) -> bool:
        """Whether it helps a score that judges, and leaves at most MOST_LEFT of the bias, in its whole interval less
        than the untouched model, and less than the draws of its control."""
        helps = any(one.name in self.left_of for one in self.helped)
        return helps and self.left[0] <= MOST_LEFT and self.left[2] < 1 and self.against.p <= 0.05

    @property
    def keeps_quality(self) -> bool:
        return self.quality == VIABLE


def method_rows(
    model_map: Map,
    judging: Collection[str],
    claiming: Collection[str],
    alike: Sequence[Map],
    draws: Mapping[str, np.ndarray] = MappingProxyType({}),
    weak_controls: Collection[str] = (),
) -> list[MethodRow]:
    """A row for every method of a map but the untouched model and an untrained encoder, the least bias first; controls
    come last.

    judging: the headers of the measures that judge (`common`); claiming: those of which the untouched score makes a
    claim, as no other measure says that a method helps or makes something worse; alike: this map, and those of encoders
    that differ from it in their seed alone, over which shares and costs are averaged; draws: of `left_under_draws`;
    weak_controls: the names of those that move vectors too little."""
    cells = model_map.cells
    cells = cells[(cells["name"] != UNTOUCHED) & (cells["strategy"] != RANDOM)]
    prices = costs.over_encoders([costs.costs(other.cells) for other in alike])
    qualities, left = costs.quality(prices, cells["name"].unique()), _left(alike, judging)
    left_of = pd.concat([_judged(other.cells, judging) for other in alike]).groupby(["name", "header"])["left"].mean()
    rows = []
    for name, of in cells.groupby("name", sort=False):
        of_method = prices[prices["name"] == name]
        price = costs.worst(of_method)
        biases = list(of[of["group"] != COST].itertuples())
        method, control = (
            of["method"].iloc[0],
            next((cell.control for cell in biases if not np.isnan(cell.control_p)), ""),
        )
        rows.append(
            MethodRow(
                name,
                method,
                qualities[name],
                tuple(left.get(name, (np.nan,) * 3)),
                dict(left_of[name]) if name in left_of else {},
                "" if price is None else price["cost"],
                (np.nan,) * 3 if price is None else tuple(map(float, price[["worse", "low", "high"]])),
                dict(zip(of_method["cost"], of_method["worse"], strict=True)),
                (of_method["cost"].nunique(), prices["cost"].nunique()),
                control,
                beyond(left.get(name, (np.nan,))[0], draws.get(name, []), 1.0),
                control in weak_controls,
                _changes(biases, claiming),
                of["same_as"].max(),
                bool(of["setting"].iloc[0] != NA),
            )
        )
    return sorted(rows, key=lambda row: (row.control_of is not None, np.nan_to_num(row.left[0], nan=np.inf)))


def _moved_off(cell) -> bool:
    """Whether a cell is farther from neutral than every draw of its control, no nearer to it than untouched, and moved
    by MOVED_OFF of the largest distance, also to the other side; or whether it is farther than untouched by LEAST_HELP
    of that distance, in the whole interval of the change."""
    if pd.isna(cell.draws) or cell.beats or not 0 < cell.distance >= cell.distance_untouched:
        return False
    before, after = places([cell.untouched, cell.value], MEASURES[cell.measure])
    return bool(abs(after - before) >= MOVED_OFF or (cell.change_low > 0 and cell.left >= 1 + LEAST_HELP))


def _changes(cells: Sequence, claiming: Collection[str]) -> list[Change]:
    """Those of the cells of bias of a method that have a value."""
    changes, off = [], set()
    for cell in cells:
        if np.isnan(cell.value):
            continue
        change, test = _change(cell, cell.header in claiming), calibrated_test(cell.dataset).removesuffix(WORDING)
        if not (change.helps or change.worse or change.past) and _moved_off(cell) and (cell.measure, test) not in off:
            off.add((cell.measure, test))
            change = change._replace(off=True)
        changes.append(change)
    return changes


def _change(cell, claims: bool) -> Change:
    says = compared(cell) if claims else UNCOMPARED
    beats, draws = (0, 0) if pd.isna(cell.draws) else (cell.beats, cell.draws)
    ends = left(cell.distance_untouched + np.array([cell.change_low, cell.change_high]), cell.distance_untouched)
    shares = tuple(map(float, (cell.left, *np.maximum(ends, 0))))
    past = says != UNCOMPARED and turned(cell)
    still = not past and verdict(cell.low, cell.high, cell.neutral, cell.better) == DIFFERS
    about = {"says": says, "claims": claims, "past": past, "still": still, "p": cell.helps_p, "left": shares}
    return Change(cell.header, cell.untouched, cell.value, cell.low, cell.high, beats=beats, draws=draws, **about)


def left_under_draws(cells: pd.DataFrame, headers: Collection[str], scores: pd.DataFrame) -> dict[str, np.ndarray]:
    """Row -> the share of the untouched distance that is left under each draw of its control, [draws]: the mean that
    `left_over` has of the method, over the draws under which all of these measures (headers) were read."""
    judged, shares = _judged(cells, headers), {}
    for (name, _, _), measure, of_measure in of_measures(scores):
        rows = judged[judged["measure"] == name]
        draws = drawn_distances(of_measure, measure) if len(rows) else {}
        for row in rows.itertuples():
            table = draws.get(tuple(getattr(row, key) for key in SCORED), {}).get(row.control)
            if table is not None:
                shares.setdefault(row.name, {})[row.label, row.header] = table.mean() / row.distance_untouched
    tables = {name: pd.DataFrame(of_row).T for name, of_row in shares.items() if len(of_row) == len(headers)}
    return {name: table.dropna(axis=1).groupby(level=0).mean().mean().to_numpy() for name, table in tables.items()}


def _left(alike: Sequence[Map], headers: Collection[str]) -> dict[str, tuple[float, float, float]]:
    """Row -> the share of the untouched distance that is left, and its interval: over other encoders and other items if
    there are enough encoders, otherwise over items (`left_over`)."""
    tables = [left_over(other.cells, headers) for other in alike]
    if len(tables) < LEAST_ENCODERS:
        tables = tables[:1]
    rows = {}
    for name, shares in pd.concat(tables).groupby(level=0, sort=False):
        if len(shares) == len(tables):
            left, *over_items = shares.mean(skipna=False)
            over_encoders = t_interval(shares["left"])
            low, high = with_items(left, over_encoders, over_items) if len(tables) > 1 else over_items
            rows[name] = left, np.maximum(low, 0), high  # no distance is below 0; NaN stays
    return rows


def common(cells: pd.DataFrame, headers: Collection[str]) -> list[str]:
    """Those of these measures by which methods can be compared: of the sets that a method was measured by, the one with
    the most scores, of all methods that have the whole set. The settings of a grid decide only where there is nothing
    else: they are so many that a measure which they lack would judge no method."""
    judged = _judged(cells, headers)
    of_methods = judged[~judged["grid"]]
    sets = (judged if of_methods.empty else of_methods).groupby("name")["header"].agg(frozenset)
    ordered = sorted(set(sets), key=lambda chosen: (len(chosen) * sets.map(chosen.issubset).sum(), sorted(chosen)))
    return [header for header in headers if ordered and header in ordered[-1]]


def left_over(cells: pd.DataFrame, headers: Collection[str]) -> pd.DataFrame:
    """Name -> left, low, high: the share of the untouched distance from neutral that a row leaves, the mean over
    measures of the mean over their tests (these headers); of rows that have all of them.

    low, high: the means of the ends of the tests' intervals, an interval of at least 95 % however these depend on each
    other (of a sum, the standard deviation is at most the sum of theirs). An end below 0 counts as it is: with 0 in its
    place, the mean missed the truth in up to 23 % of simulations of ten scores of which nothing is left."""
    rows = _judged(cells, headers)
    rows = rows[rows.groupby("name")["header"].transform("nunique") == len(headers)]
    unit = rows["distance_untouched"]
    rows = rows.assign(**{end: (unit + rows[f"change_{end}"]) / unit for end in ("low", "high")})
    shares = rows[["name", "label", "left", "low", "high"]]
    for keys in (["name", "label"], ["name"]):
        shares = shares.groupby(keys, sort=False)[["left", "low", "high"]].agg(lambda ends: ends.mean(skipna=False))
    return shares


def _judged(cells: pd.DataFrame, headers: Collection[str]) -> pd.DataFrame:
    judged = cells["header"].isin(headers) & (cells["name"] != UNTOUCHED) & (cells["distance_untouched"] > 0)
    return cells[judged & cells["left"].notna()]
