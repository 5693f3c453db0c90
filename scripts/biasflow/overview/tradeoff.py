"""The trade-off of a map: bias that is left against what it costs, with the Pareto front."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, MaxNLocator

from biasflow.overview.judgements import COST, pareto
from biasflow.overview.labels import Box, Label, labels
from biasflow.overview.maps import UNTOUCHED, Map
from biasflow.plan.methods import control_of
from biasflow.results.comparison import distances

WIDTH, HEIGHT = 720, 400  # of the drawing, and the room that its axes take
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 32, 46
_FIRST = ("untouched", "front", "other")  # whose labels are placed first
WIDE = 20  # a cost that grows by more than this factor is drawn on a logarithmic axis


@dataclass(frozen=True)
class Point:
    """A row of a map: its place and error bars in pixels, kind ("untouched", "front", "other" or "grid"), and text."""

    name: str
    kind: str
    x: float
    y: float
    x_bar: tuple[float, float] | None
    y_bar: tuple[float, float] | None
    text: str


@dataclass(frozen=True)
class Plot:
    """A measure of bias against one of cost. x_ticks, y_ticks: (place in pixels, number); front: names of rows not
    dominated; moved: those of rows that were measured on other seeds than the untouched model; labels: of all points
    but the settings of a grid, as far as there is room; unlabelled: the names of the others."""

    bias: str
    cost: str
    x_label: str
    y_label: str
    points: tuple[Point, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    front: tuple[str, ...]
    moved: tuple[str, ...]
    labels: tuple[Label, ...]
    unlabelled: tuple[str, ...]


@dataclass(frozen=True)
class Axis:
    """Numbers to pixels, from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    @classmethod
    def over(cls, numbers: np.ndarray, start: float, end: float, *, zero: bool = False) -> "Axis":
        low, high = (0.0 if zero else float(np.nanmin(numbers))), float(np.nanmax(numbers))
        logarithmic = low > 0 and high / low > WIDE
        room = 0.06 * (high - low) or 0.5
        if logarithmic:
            return cls(low / 1.2, high * 1.2, start, end, True)
        return cls(low if zero else low - room, high + room, start, end)

    def place(self, number: float) -> float:
        low, high, number = np.log([self.low, self.high, number]) if self.logarithmic else (self.low, self.high, number)
        return round(float(self.start + (number - low) / (high - low) * (self.end - self.start)), 1)

    def ticks(self) -> tuple[tuple[float, str], ...]:
        locator = LogLocator(subs=(1, 2, 5)) if self.logarithmic else MaxNLocator(5)
        marks = [mark for mark in locator.tick_values(self.low, self.high) if self.low <= mark <= self.high]
        return tuple((self.place(mark), f"{mark:.6g}") for mark in marks)


def plots(model_map: Map) -> Iterator[Plot]:
    """Each measure of bias of a map against each of its costs, the cost that tells most rows apart first: one that is
    saturated, the same in nearly all rows, says little of what a method costs. Left out where the cost as it is printed
    is the same in all rows that have both.

    A row that was measured on other seeds than the untouched model is moved by what these seeds make of the untouched
    model, and left out where that was not measured on all of them."""
    columns = model_map.columns
    biases, costs = columns[columns["group"] != COST], columns[columns["group"] == COST]
    doubted = model_map.cells[model_map.cells["caution"] != ""].groupby("header").size()
    biases = biases.iloc[np.argsort(biases.index.isin(doubted.index), kind="stable")]  # with a claim first
    values = model_map.table("value").reindex(columns=costs.index)
    order = np.argsort([-_different(values[cost]) for cost in costs.index], kind="stable")
    for bias in biases.itertuples():
        for cost in costs.iloc[order].itertuples():
            both = _both(model_map, bias.Index, cost.Index)
            if _different(both["value_cost"]) > 1:
                yield _plot(both, bias, cost)


def _different(values: pd.Series) -> int:
    """How many different numbers there are as the map prints them."""
    return values.dropna().map("{:.3f}".format).nunique()


def _both(model_map: Map, bias: str, cost: str) -> pd.DataFrame:
    sides = [
        _on_all_seeds(model_map.cells[model_map.cells["header"] == name].set_index("name")) for name in (bias, cost)
    ]
    return sides[0].join(sides[1], lsuffix="_bias", rsuffix="_cost", how="inner").join(model_map.rows)


def _on_all_seeds(cells: pd.DataFrame) -> pd.DataFrame:
    scores = cells[["value", "low", "high"]]
    untouched = cells["value"].get(UNTOUCHED)
    if untouched is None:
        return scores.assign(moved=False)  # nothing to compare with
    by = untouched - cells["untouched"]
    return scores.add(by, axis=0).assign(moved=by != 0).dropna(subset="value")


def _plot(both: pd.DataFrame, bias, cost) -> Plot:
    bias_scores = (both[f"{column}_bias"] for column in ("value", "low", "high"))
    distance, low, high = distances(*bias_scores, bias.neutral, bias.better)
    x = both["value_cost"].to_numpy()
    is_method = np.array([control_of(name) is None for name in both.index])
    on_front = is_method.copy()  # random directions are worth no look, wherever they are
    on_front[is_method] = pareto(np.column_stack([distance, -x if cost.better == "high" else x])[is_method])
    across = Axis.over(both[["value_cost", "low_cost", "high_cost"]].to_numpy(), LEFT, WIDTH - RIGHT)
    up = Axis.over(np.column_stack([distance, high]), HEIGHT - BOTTOM, TOP, zero=True)
    points = [
        Point(
            row.Index,
            _kind(row, on_front[place]),
            across.place(row.value_cost),
            up.place(distance[place]),
            _bar(across, row.low_cost, row.high_cost),
            _bar(up, low[place], high[place]),
            f"{row.Index}: {bias.Index} {row.value_bias:.3f}, {cost.Index} {row.value_cost:.3f}",
        )
        for place, row in enumerate(both.itertuples())
    ]
    named = sorted((point for point in points if point.kind != "grid"), key=lambda point: _FIRST.index(point.kind))
    labelled = labels(
        [(point.name, point.x, point.y) for point in named],
        [bar for point in named for bar in _lines(point)],
        (LEFT + 3, TOP, WIDTH - 2, HEIGHT - BOTTOM - 3),
    )
    return Plot(
        bias.Index,
        cost.Index,
        f"{cost.Index} ({'higher' if cost.better == 'high' else 'lower'} is better)",
        f"{bias.Index}: distance from its neutral value, {bias.neutral:g} (lower is less biased)",
        tuple(sorted(points, key=lambda point: point.kind != "grid")),  # few points lie over many
        across.ticks(),
        up.ticks(),
        tuple(both.index[on_front]),
        tuple(both.index[both["moved_bias"] | both["moved_cost"]]),
        tuple(labelled),
        tuple(point.name for point in named if point.name not in {label.point for label in labelled}),
    )


def _kind(row, on_front: bool) -> str:
    if row.Index == UNTOUCHED:
        return "untouched"
    return "front" if on_front else "grid" if row.grid else "other"


def _lines(point: Point) -> Iterator[Box]:
    """Its error bars."""
    if point.x_bar:
        yield point.x_bar[0], point.y, point.x_bar[1], point.y
    if point.y_bar:
        yield point.x, point.y_bar[1], point.x, point.y_bar[0]


def _bar(axis: Axis, low: float, high: float) -> tuple[float, float] | None:
    return None if np.isnan(low) or np.isnan(high) else (axis.place(low), axis.place(high))
