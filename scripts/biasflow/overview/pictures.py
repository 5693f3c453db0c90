"""The two pictures of the first screen: how biased is a model, and does a method help, at which price? And that of two
runs beside each other."""

import html
import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from biasflow.base.files import whole_file
from biasflow.overview.bias import BiasRow
from biasflow.overview.helps import MethodRow
from biasflow.overview.judgements import LIMIT, brief
from biasflow.overview.two_runs import TwoSided
from biasflow.results.figures import (
    BLUE,
    GREEN,
    GREY,
    LIGHT_GREY,
    VERMILION,
    colour_of,
    legend_below,
    legend_entry,
    style,
)

INK = "#1A1A1A"
HOLLOW = {"markerfacecolor": "#FFFFFF"}
MARK = "\u2713"  # of what followed a planted bias, once for each encoder up to two
DISPUTED = "*"  # of a score that shows bias in one reading of its test and not in another
WIDTH = 4.9  # inches: as wide as a phone shows letters of this size
OF_RUNS = ((BLUE, "o"), (VERMILION, "s"))  # colour and mark of the first and the second of two runs
MOST = 115  # percent of bias left, up to which the axis reaches at least
NAMES = 14  # for which there is room beside the picture of methods
LINEAR = 20  # percent of quality lost, up to which the axis is not logarithmic
IN_PAGE = {INK: "ink", BLUE: "near", LIGHT_GREY: "line", GREY: "quiet", "#FFFFFF": "paper"}  # colours of base.css


@style()
def bias_picture(rows: Sequence[BiasRow]) -> Figure:
    """A line for each score: where it lies between neutral and the largest bias that is possible, with its interval,
    filled where bias is shown, grey where nothing is claimed; ticks: published models; a mark for what followed a
    planted bias."""
    figure = Figure(figsize=(WIDTH, 0.8 + 0.24 * max(len(rows), 4)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color=INK, linewidth=0.8)
    beside = {"xycoords": ("axes fraction", "data"), "va": "center"}
    for y, row in enumerate(rows):
        colour = (VERMILION if row.shown else BLUE) if row.judged else GREY
        strong = {"alpha": 1.0 if row.trust.followed is not False else 0.45}
        axes.plot(row.published_places, [y] * len(row.published_places), "|", color=GREY, markersize=9, zorder=1)
        if np.isfinite(row.low):
            axes.plot([row.low, row.high], [y, y], color=colour, linewidth=2, zorder=2, **strong)
        face = colour if row.shown else "#FFFFFF"
        axes.plot(row.place, y, "o", color=colour, markerfacecolor=face, markersize=5.5, zorder=3, **strong)
        disputed = DISPUTED * bool(row.shown and row.score.contrary)
        axes.annotate(f"{brief(row.value)}{disputed}", (1.03, y), color=INK, fontsize=7, **beside)
        if row.trust.followed and row.judged:
            axes.annotate(
                MARK * min(len(row.trust.where), 2), (1.18, y), ha="center", color=GREEN, fontsize=8, **beside
            )
    axes.annotate("score", (1.03, -0.85), color=GREY, fontsize=6.5, annotation_clip=False, **beside)
    _plain(axes)
    axes.set_yticks(range(len(rows)), [_short(row.name, 36) for row in rows])
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_color(GREY if row.trust.followed is False else INK)
    least = min([0.0, *(min(row.place, *np.nan_to_num([row.low])) for row in rows)])
    axes.set(xlim=(max(least - 0.04, -1.02), 1.02), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xlabel("distance from neutral (1: the largest that is possible)", color=INK)
    entries = [
        (legend_entry("bias shown", marker="o", color=VERMILION), any(row.shown for row in rows)),
        (
            legend_entry("not shown", marker="o", color=BLUE, **HOLLOW),
            any(row.judged and not row.shown for row in rows),
        ),
        (legend_entry("no claim", marker="o", color=GREY, **HOLLOW), not all(row.judged for row in rows)),
        (legend_entry("published models", marker="|", color=GREY), any(row.published for row in rows)),
        (
            legend_entry(f"{MARK} followed a planted bias ({MARK * 2}: twice)"),
            any(row.trust.followed and row.judged for row in rows),
        ),
        (legend_entry("pale: did not follow it"), any(row.trust.followed is False for row in rows)),
        (
            legend_entry(f"{DISPUTED} not in other readings"),
            any(row.shown and row.score.contrary for row in rows),
        ),
    ]
    _legend(figure, entries)
    return figure


@style()
def methods_picture(rows: Sequence[MethodRow]) -> Figure | None:
    """Bias left against quality lost, a point a method, filled if it is shown to help, and a small one for its control,
    joined by a line; the names stand beside, joined to their points. None where no method has both."""
    drawn = [row for row in rows if np.isfinite(row.left[0]) and np.isfinite(row.lost[0])]
    if not drawn:
        return None
    named = [row for row in drawn if not row.setting and row.control_of not in {other.name for other in drawn}]
    figure = Figure(figsize=(WIDTH, 1.4 + 0.21 * max(NAMES, len(named))), layout="constrained")
    axes = figure.subplots()
    points = {row.name: (100 * row.lost[0], 100 * row.left[0]) for row in drawn}
    wide = max(abs(x) for x, _ in points.values()) > LINEAR
    axes.axhline(100, color=INK, linewidth=0.8)
    axes.axvspan(-1e6, 100 * LIMIT, color=GREEN, alpha=0.12, linewidth=0)
    for row in drawn:
        x, y = points[row.name]
        colour = colour_of(row.control_of or row.name)
        if row.setting:
            axes.plot(x, y, ".", color=GREY, markersize=3, zorder=1)
            continue
        if row.control_of in points:
            axes.plot(*zip((x, y), points[row.control_of], strict=True), color=colour, linewidth=0.7, zorder=1)
        for ends, along in ((row.lost[1:], "x"), (row.left[1:], "y")):
            if np.isfinite(ends).all():
                low, high = 100 * ends[0], 100 * ends[1]
                line = ([low, high], [y, y]) if along == "x" else ([x, x], [low, high])
                axes.plot(*line, color=colour, linewidth=1, alpha=0.6, zorder=2)
        mark = "v" if row.farther else "D" if row.past else "o"
        shape = {"marker": "o", "markersize": 4} if row.control_of else {"marker": mark, "markersize": 6.5}
        axes.plot(
            x,
            y,
            color=colour,
            markerfacecolor=colour if row.helped else "#FFFFFF",
            zorder=4 if row.helped else 3,
            **shape,
        )
    if wide:
        axes.set_xscale("symlog", linthresh=100 * LIMIT, linscale=1)
        axes.xaxis.set_major_formatter("{x:g}")
    xs = [x for x, _ in points.values()]
    right = max(*xs, 100 * LIMIT) * (1.5 if wide else 1.15)
    axes.set_xlim(min(*xs, 0, -1) * 1.15, right)
    axes.set_ylim(0, 1.15 * max(MOST, *(y for _, y in points.values())))  # longer bars are cut
    axes.set_xlabel("quality lost by the worst cost, %", color=INK)
    axes.set_ylabel("bias left, % of the untouched distance (mean)", color=INK)
    _names(axes, [(row.name, *points[row.name], colour_of(row.name)) for row in named])
    _plain(axes)
    _legend(figure, _marks(drawn))
    return figure


@style()
def two_runs_picture(rows: Sequence[TwoSided], runs: Sequence[str]) -> Figure:
    """Two lines for each score, one for each run: where it lies between neutral and the largest bias that is possible,
    with its interval, filled where bias is shown; the value of a run that is shown to be more biased is bold."""
    figure = Figure(figsize=(WIDTH, 1.0 + 0.34 * max(len(rows), 3)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color=INK, linewidth=0.8)
    for y, row in enumerate(rows):
        for place, (side, (colour, marker)) in enumerate(zip(row.sides, OF_RUNS, strict=True)):
            height = y + (place - 0.5) * 0.36
            if np.isfinite(side.low):
                axes.plot([side.low, side.high], [height, height], color=colour, linewidth=1.8, zorder=2)
            face = colour if side.shown else "#FFFFFF"
            axes.plot(side.place, height, marker, color=colour, markerfacecolor=face, markersize=4.5, zorder=3)
            beside = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 7, "color": colour}
            axes.annotate(
                f"{brief(side.value)} more" if row.more == place else brief(side.value),
                (1.03, height),
                weight="bold" if row.more == place else "normal",
                **beside,
            )
    _plain(axes)
    axes.set_yticks(range(len(rows)), [_short(row.name, 36) for row in rows])
    least = min([0.0, *(min(side.place, *np.nan_to_num([side.low])) for row in rows for side in row.sides)])
    axes.set(xlim=(max(least - 0.04, -1.02), 1.02), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xlabel("distance from neutral (1: the largest that is possible)", color=INK)
    entries = [
        (legend_entry(_short(run, 30), marker=marker, color=colour), True)
        for run, (colour, marker) in zip(runs, OF_RUNS, strict=True)
    ]
    sides = [side for row in rows for side in row.sides]
    entries += [
        (legend_entry("filled: bias shown", marker="o", color=GREY), any(side.shown for side in sides)),
        (legend_entry("more: more biased, beyond the interval"), any(row.more is not None for row in rows)),
    ]
    _legend(figure, entries, columns=2)
    return figure


def _marks(drawn: Sequence[MethodRow]) -> list[tuple[Line2D, bool]]:
    """The entries of the legend, and whether they occur."""
    methods = [row for row in drawn if row.is_method]
    return [
        (legend_entry("helps (filled)", marker="o", color=GREY), any(row.helped for row in methods)),
        (
            legend_entry("not shown to help (open)", marker="o", color=GREY, **HOLLOW),
            not all(row.helped for row in methods),
        ),
        (legend_entry("makes a score worse", marker="v", color=GREY), any(row.farther for row in methods)),
        (
            legend_entry("goes past neutral", marker="D", color=GREY),
            any(row.past and not row.farther for row in methods),
        ),
        (
            legend_entry("control (small)", marker="o", color=GREY, markersize=4, **HOLLOW),
            any(row.control_of for row in drawn),
        ),
        (legend_entry("single setting", marker=".", color=GREY), any(row.setting for row in drawn)),
        (legend_entry("keeps quality", marker="s", color=GREEN, alpha=0.3), True),
    ]


def _names(axes: Axes, points: Sequence[tuple[str, float, float, str]]) -> None:
    """Names beside the axes, from top to bottom in the order of the points, each with a line to its point."""
    low, high = axes.get_ylim()
    gap = (high - low) / max(NAMES, len(points))
    ordered, height = sorted(points, key=lambda point: -point[2]), high + gap
    for place, (name, x, y, colour) in enumerate(ordered, start=1):
        height = max(min(y, height - gap), low + (len(ordered) - place) * gap)  # below the last, with room for the rest
        axes.annotate(
            _short(name, 24),
            (x, y),
            (1.04, height),
            textcoords=("axes fraction", "data"),
            va="center",
            color=colour,
            fontsize=7.5,
            weight="bold",
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "linestyle": ":", "relpos": (0, 0.5)},
            annotation_clip=False,
        )


def _legend(figure: Figure, entries: Sequence[tuple[Line2D, bool]], columns: int = 3) -> None:
    """A legend of the entries that occur."""
    legend_below(figure, [entry for entry, occurs in entries if occurs], columns)
    for text in figure.legends[0].get_texts():
        text.set_color(INK)


def _short(name: str, letters: int) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1]}\u2026"


def _plain(axes: Axes) -> None:
    axes.tick_params(colors=INK, length=2)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(LIGHT_GREY)


def inline(figure: Figure, label: str, prefix: str) -> str:
    """A figure as SVG for a page: its colours are those of the page, also of a dark one, and its ids begin with
    `prefix`, as a page may have several. label: what it says to those who do not see it."""
    text = io.StringIO()
    with style():
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<(metadata|style).*?</\1>", "", svg, flags=re.DOTALL)  # its style would be that of the whole page
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\1{prefix}", svg)
    for literal, of_page in IN_PAGE.items():
        svg = svg.replace(literal.lower(), f"var(--{of_page})")
    label = html.escape(html.unescape(label))  # a template gives it escaped, others do not
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" stroke-linejoin="round" ', 1)


def save_picture(figure: Figure, svg_path: str | Path, png_path: str | Path) -> None:
    """Write a picture as SVG and PNG on white, without dates; each file is whole or absent."""
    with style():
        for path, kind, more in ((svg_path, "svg", {"metadata": {"Date": None}}), (png_path, "png", {"dpi": 200})):
            with whole_file(path) as temporary:
                figure.savefig(temporary, format=kind, **more)
