"""How every figure looks, and how it is written: SVG and PDF, the same bytes for the same numbers."""

import contextlib
import textwrap
import zlib
from collections.abc import Sequence
from itertools import chain, cycle
from pathlib import Path

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from biasflow.base.files import whole_file
from biasflow.base.shipped import shipped
from biasflow.registry import ERASERS, STRATEGIES

# Okabe and Ito (2008): told apart with every common form of colour blindness. Shapes repeat what colours say.
BLUE, VERMILION, GREEN, PURPLE, BLACK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#8A8A8A"
LIGHT_GREY = "#DDDDDD"  # lines of a grid
METHODS = (  # of methods, by their erasers in the order of the registry; more erasers, or strategies, begin again
    BLUE, "#56B4E9", "#E69F00", VERMILION, GREEN, "#B5A900", PURPLE, "#7A4B2A", "#5B4B9E", "#00737A",
)  # fmt: skip
TITLE_WIDTH = 24  # letters of the title of a small panel in one line
STYLE = shipped("results/assets/biasflow.mplstyle")


def colour_of(method: str) -> str:
    """The colour of a method in every figure: that of the eraser with whose name its own begins, so that "hard" and
    "hard-last" have one; of a strategy, by its name or label, its own; of another name, one that it alone decides."""
    colours = chain((BLACK, *METHODS, GREY), cycle(METHODS))
    for colour, (name, strategy) in zip(colours, STRATEGIES.items(), strict=False):
        if method in (name, strategy.label):
            return colour
    names = [name.replace("_", "-") for name in ERASERS]
    eraser = max((name for name in names if method.startswith(name)), key=len, default=None)
    return METHODS[(names.index(eraser) if eraser else zlib.crc32(method.encode())) % len(METHODS)]


def style() -> contextlib.AbstractContextManager:
    """The context in which figures are drawn; also a decorator of the functions that draw them."""
    return matplotlib.style.context(STYLE)


def panels(rows: int, columns: int, size: tuple[float, float], **options: object) -> tuple[Figure, np.ndarray]:
    """A figure of so many inches, and its panels [rows, columns]; `options` of Figure.subplots."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def titled_panels(titles: Sequence[str], **options: object) -> tuple[Figure, list[Axes]]:
    """A figure with a small panel for each title, six side by side; `options` of Figure.subplots."""
    columns = min(6, len(titles))
    lines = -(-len(titles) // columns)
    figure, grid = panels(lines, columns, (1.7 * columns + 0.4, 1.45 * lines + 0.6), **options)
    for axes in grid.flat[len(titles) :]:
        axes.remove()
    shown = list(grid.flat[: len(titles)])
    for axes, title in zip(shown, titles, strict=True):
        axes.set_title(textwrap.fill(title, TITLE_WIDTH), loc="left", fontsize=7)
    return figure, shown


def name_lines(axes: Axes, names: Sequence[str]) -> None:
    """The names of what lies at 0, 1, 2 ... of a vertical axis, the first at the top."""
    axes.set_yticks(range(len(names)), names, fontsize=6)
    axes.set_ylim(len(names) - 0.5, -0.5)


def points(
    axes: Axes, x: object, y: object, color: str, marker: str, *, faces: object = "none", **options: object
) -> None:
    """Marks above the grid, open unless `faces` says their colours; `options` of Axes.scatter."""
    axes.scatter(x, y, marker=marker, facecolors=faces, edgecolors=color, **{"zorder": 3, **options})


def name_row(axes: Axes, name: str, above: float) -> None:
    """What a row of panels shows, in bold so many points above the first of them."""
    axes.annotate(name, (0, 1), (0, above), "axes fraction", "offset points", fontsize=8, weight="bold")


def light_grid(axes: Axes, axis: str = "both") -> None:
    axes.grid(axis=axis, color=LIGHT_GREY, linewidth=0.5)
    axes.set_axisbelow(True)


def legend_entry(label: str, **options: object) -> Line2D:
    """A mark, or with a `linestyle` a line, for `legend_below`; `options` of Line2D."""
    return Line2D([], [], label=label, **{"linestyle": "", "markersize": 5, **options})


def legend_below(
    figure: Figure, entries: Sequence[Line2D], columns: int = 4, title: str | None = None, **options: object
) -> None:
    """One legend for all panels; title: a line above it, such as what all horizontal axes show; `options` of legend."""
    figure.legend(handles=entries, loc="outside lower center", ncols=columns, frameon=False, title=title, **options)


@style()
def empty_figure(reason: str) -> Figure:
    """A figure that only says why there is nothing to draw, such as "not run: ..."."""
    figure, ((axes,),) = panels(1, 1, (6.4, 1.2))
    axes.set_axis_off()
    axes.text(0.5, 0.5, textwrap.fill(reason, width=90), ha="center", va="center", color=GREY)
    return figure


def save_figure(figure: Figure, svg_path: str | Path, pdf_path: str | Path) -> None:
    """Write a figure as SVG and PDF without dates, laid out once; each file is whole or absent."""
    with style():
        with whole_file(svg_path) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})
        figure.set_layout_engine("none")  # what was laid out stays; to find it again takes as long as to draw it
        with whole_file(pdf_path) as temporary:
            figure.savefig(temporary, format="pdf", metadata={"CreationDate": None})
