"""The tables and figures: the measures by planted bias, and the judgement of the measures."""

import textwrap
from functools import lru_cache

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biasflow.papers.frames import Run
from biasflow.papers.judge import judge
from biasflow.papers.planted import erasing, factorial
from biasflow.papers.planted.blocks import ends
from biasflow.papers.planted.factorial import INTERACTION, PRETRAINING, TASK
from biasflow.papers.planted.findings import findings as count_findings
from biasflow.papers.planted.reading import read_directly
from biasflow.papers.planted.values import measured
from biasflow.registry import COST, INSIDE, OUTSIDE
from biasflow.results import figures as draw
from biasflow.results.scores import NONE

COLOURS = {INSIDE: draw.BLUE, OUTSIDE: draw.VERMILION, COST: draw.GREY}
MARKERS = {INSIDE: "o", OUTSIDE: "s", COST: "D"}
PARTS = {PRETRAINING: draw.BLUE, TASK: draw.VERMILION, INTERACTION: draw.PURPLE, "residual": draw.LIGHT_GREY}


def by_dose(run: Run) -> pd.DataFrame:
    """The untouched models whose task has the same bias as their encoder, and the encoders themselves."""
    values = measured(run)
    same = values["task_bias"].isna() | (values["task_bias"] == values["bias"])
    return values[same & (values["method"] == NONE)]


@lru_cache(maxsize=1)  # tables and figures are made of the same
def calibration(run: Run) -> pd.DataFrame:
    """Return for each measure its values on models of known bias, and whether it follows the bias."""
    return judge(by_dose(run))


@lru_cache(maxsize=1)
def two_by_two(run: Run) -> pd.DataFrame:
    """Return for each measure of trained models which bias it follows: of the pre-training, or of the task."""
    return factorial.two_by_two(_corners(run))


@lru_cache(maxsize=1)
def erased(run: Run) -> pd.DataFrame:
    """Compare models whose bias was erased with models that never had one."""
    values = measured(run)
    wanted = values["task_bias"].isna() | (values["task_bias"] == values["bias"])
    return erasing.erased(values[wanted & values["bias"].isin(ends(run.options))])


def findings(run: Run) -> pd.DataFrame:
    """Return the findings from the tables, counted."""
    return count_findings(calibration(run), two_by_two(run), erased(run), read_directly(run))


def _corners(run: Run) -> pd.DataFrame:
    """The untouched trained models without and with the whole bias, in pre-training and task."""
    values, both = measured(run), ends(run.options)
    return values[values["bias"].isin(both) & values["task_bias"].isin(both) & (values["method"] == NONE)]


@draw.style()
def draw_calibration(run: Run) -> Figure:
    """A measure's value against the planted bias: a panel per measure; points are seeds, the line joins the means."""
    frame = by_dose(run).dropna(subset="value")
    measures = list(frame.groupby("measure", sort=False))
    columns = min(5, len(measures))
    lines = -(-len(measures) // columns)
    figure, grid = draw.panels(lines, columns, (2.0 * columns + 0.4, 1.7 * lines + 0.5), sharex=True)
    for axes in grid.flat[len(measures) :]:
        axes.remove()
    for axes, (measure, values) in zip(grid.flat, measures, strict=False):
        colour, means = COLOURS[values["group"].iloc[0]], values.groupby("bias")["value"].mean()
        axes.plot(means.index, means, color=colour, linewidth=1.5)
        axes.scatter(values["bias"], values["value"], s=14, facecolors="white", edgecolors=colour, zorder=3)
        axes.set_title(textwrap.fill(measure, width=26), loc="left")
        axes.set_xticks(sorted(frame["bias"].unique()))
        axes.tick_params(labelbottom=True)
    figure.supxlabel("planted bias (0 none, 1 full)", fontsize=8)
    figure.supylabel("value (points: seeds, line: mean)", fontsize=8)
    return figure


@draw.style()
def draw_validity(run: Run) -> Figure:
    """Left: rank correlation of every measure with the planted bias, with its interval. Right: of the measures of
    trained models the shares of variance by where the bias was planted."""
    table, followed = calibration(run).dropna(subset="spearman"), two_by_two(run)
    height = 0.155 * max(len(table), len(followed)) + 1.0
    figure, grid = draw.panels(1, 2 if len(followed) else 1, (9.2, height))
    _draw_correlations(grid[0, 0], table)
    entries = [draw.legend_entry(group, color=COLOURS[group], marker=MARKERS[group]) for group in COLOURS]
    if len(followed):
        _draw_shares(grid[0, 1], followed)
        entries += [draw.legend_entry(name, color=colour, marker="s") for name, colour in PARTS.items()]
    draw.legend_below(figure, entries, columns=len(entries))
    return figure


def _draw_correlations(axes: Axes, table: pd.DataFrame) -> None:
    table = _by_group(table, "spearman")
    for place, row in enumerate(table.itertuples()):
        colour = COLOURS[row.group]
        axes.plot([row.low, row.high], [place, place], color=colour, linewidth=1.2)
        axes.plot(row.spearman, place, color=colour, marker=MARKERS[row.group], markersize=3.5)
        if np.isfinite(row.smallest_dose) and row.group != COST:
            axes.text(1.08, place, f"{row.smallest_dose:g}", fontsize=6, va="center")
    axes.axvline(0, color=draw.GREY, linewidth=0.6)
    _name_rows(axes, table["measure"])
    axes.set_xlim(-1.05, 1.2)
    axes.set_xlabel("rank correlation with the planted bias\n(right: smallest dose that differs from none)")


def _draw_shares(axes: Axes, table: pd.DataFrame) -> None:
    table = _by_group(table.dropna(subset="eta_task"), "eta_pretraining")
    left = np.zeros(len(table))
    for part, colour in PARTS.items():
        widths = table[f"eta_{part}"].to_numpy()
        axes.barh(range(len(table)), widths, left=left, color=colour, height=0.75)
        left = left + widths
    _name_rows(axes, table["measure"])
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of variance by\nwhere the bias was planted")


def _by_group(table: pd.DataFrame, value: str) -> pd.DataFrame:
    """Group by group in the order of COLOURS, the largest value first."""
    order = list(COLOURS)
    return table.sort_values(
        ["group", value], key=lambda column: column.map(order.index) if column.name == "group" else -column
    )


def _name_rows(axes: Axes, names: pd.Series) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=6)
    axes.set_ylim(len(names) - 0.5, -0.5)
    draw.light_grid(axes, "x")
