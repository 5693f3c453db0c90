"""How every figure looks, and how it is written: SVG and PDF, the same bytes for the same numbers."""

import contextlib
import textwrap
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from scripts.biasflow.base.files import whole_file

# Okabe and Ito (2008): told apart with every common form of colour blindness. Shapes repeat what colours say.
BLUE, VERMILION, GREEN, PURPLE, BLACK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#8A8A8A"
LIGHT_GREY = "#DDDDDD"  # lines of a grid
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 9,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.formatter.limits": (-3, 4),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "biasflow",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}


def style() -> contextlib.AbstractContextManager:
    """The context in which figures are drawn."""
    return matplotlib.rc_context(_STYLE)


def empty_figure(reason: str) -> Figure:
    """A figure that only says why there is nothing to draw, such as "not run: ..."."""
    with style():
        figure = Figure(figsize=(6.4, 1.2))
        figure.text(0.5, 0.5, textwrap.fill(reason, width=90), ha="center", va="center", color=GREY)
    return figure


def save_figure(figure: Figure, svg_path: str | Path, pdf_path: str | Path) -> None:
    """Write a figure as SVG and PDF without dates, laid out once; each file is whole or absent."""
    with style():
        with whole_file(svg_path) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})
        figure.set_layout_engine("none")  # both have one layout, which takes as long as drawing
        figure.set_layout_engine("none")  # what was laid out stays; to find it again takes as long as to draw it
        with whole_file(pdf_path) as temporary:
            figure.savefig(temporary, format="pdf", metadata={"CreationDate": None})
