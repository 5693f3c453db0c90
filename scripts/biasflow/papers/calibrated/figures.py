"""The figures of the calibration: every measure by the dose, and which measures follow it."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from biasflow.papers.calibrated.targets import calibration
from biasflow.papers.calibrated.values import ALL, measured
from biasflow.papers.frames import Run
from biasflow.papers.judge import follows
from biasflow.registry import INSIDE
from biasflow.results import figures as draw

COLOURS = (draw.BLUE, draw.VERMILION, draw.GREEN, draw.PURPLE)
MARKERS = "osD^"


def _name(row) -> str:
    """The row's measure, with its part of the occupations, and its group if it is no measure of bias."""
    part = "" if row.occupations == ALL else f", {row.occupations}"
    return f"{row.measure}{part}" + ("" if row.group == INSIDE else f" [{row.group}]")


@draw.style()
def doses(run: Run) -> Figure:
    """Each row of the calibration that has values against the dose: a panel per row, a thin line per seed, a thick one
    for their mean; blue if it follows the dose."""
    table = calibration(run)
    rows = list(table.assign(follows=follows(table)).dropna(subset="slope").itertuples())
    by_row = dict(iter(measured(run).groupby(["measure", "occupations"])))
    figure, panels = draw.titled_panels([_name(row) for row in rows])
    for axes, row in zip(panels, rows, strict=True):
        block = by_row[row.measure, row.occupations]
        seeds = block.dropna(subset="bias").pivot(index="bias", columns="seed", values="value")
        colour = draw.BLUE if row.follows else draw.GREY
        axes.plot(seeds.index, seeds, color=colour, linewidth=0.6, marker=".", markersize=3)
        axes.plot(seeds.index, seeds.mean(axis=1), color=colour, linewidth=1.8)
        if np.isfinite(row.before):
            inside = axes.get_ylim()  # a value that is far off would leave no room for the seeds
            axes.axhline(row.before, color=draw.BLACK, linewidth=0.6, linestyle=":")
            axes.set_ylim(inside)
        axes.set_xticks(seeds.index[:: max(1, len(seeds) // 2)])
    lines = {"follows the dose": (draw.BLUE, "-"), "not shown to follow it": (draw.GREY, "-")}
    lines["before this training (if it is near)"] = (draw.BLACK, ":")
    entries = [draw.legend_entry(name, color=c, linestyle=style, linewidth=1.5) for name, (c, style) in lines.items()]
    title = "horizontal: dose of planted bias (-1 against the stereotypes, 0 balanced, 1 all stereotypical)"
    draw.legend_below(figure, entries, columns=3, title=title)
    return figure


def followed(run: Run) -> Figure:
    """The rank correlation of every row of the calibration with the dose."""
    return draw_followed({run.options["encoder"]: calibration(run)})


@draw.style()
def draw_followed(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """The rank correlation with the dose, mean within seeds, of every row that was tested; filled if the row follows
    the dose. tables: encoder -> its table of `targets.judged`."""
    tested = [
        table.assign(encoder=encoder, name=[_name(row) for row in table.itertuples()], follows=follows(table))
        for encoder, table in tables.items()
    ]
    rows = pd.concat(tested).dropna(subset="spearman")
    names = list(dict.fromkeys(rows["name"]))
    figure, grid = draw.panels(1, 1, (6.4, 0.16 * len(names) + 1.2))
    axes, entries = grid[0, 0], []
    marks = zip(tables, COLOURS, MARKERS, strict=False)
    for number, (encoder, colour, marker) in enumerate(marks):
        shift = 0.25 * (number - (len(tables) - 1) / 2)
        for row in rows[rows["encoder"] == encoder].itertuples():
            face = colour if row.follows else "white"
            place = names.index(row.name) + shift
            axes.plot(row.spearman, place, marker=marker, color=colour, markerfacecolor=face, markersize=4)
        entries.append(draw.legend_entry(f"{encoder}: follows", color=colour, marker=marker))
        entries.append(draw.legend_entry("not shown to", color=colour, marker=marker, markerfacecolor="white"))
    axes.axvline(0, color=draw.GREY, linewidth=0.6)
    draw.name_lines(axes, names)
    axes.set_xlim(-1.05, 1.05)
    axes.set_xlabel("rank correlation with the dose (mean within seeds)")
    draw.light_grid(axes, "both")
    draw.legend_below(figure, entries, columns=2)
    return figure
