"""Figures as SVG and PDF, the same bytes for the same numbers."""

import textwrap
from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.files import whole_file
from scripts.biasflow.papers.dawkins2024.downstream import AFTER, RUN
from scripts.biasflow.results.statistics import correlation
from scripts.biasflow.results.tables import PUBLISHED

# Okabe and Ito (2008): told apart with every common form of colour blindness. Shapes repeat what colours say.
_BLUE, _VERMILION, _GREEN, _PURPLE, _BLACK, _GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#8A8A8A"
_PROJECTIONS = {  # (n, c) of the level's first projection
    "0,0": (_BLUE, "o", "hard, one dimension (0,0)"),
    "0,1": (_VERMILION, "^", "hard, two dimensions (0,1)"),
    "1,0": (_GREEN, "s", "weighted, one dimension (1,0)"),
    "1,1": (_PURPLE, "D", "weighted, two dimensions (1,1)"),
}
_LEVEL_NAMES = {
    "base": "Base",
    "sentence-debias": "Sentence-Debias",
    "sent": "SENT",
    "layer-12": "Layer 12",
    "layer-11": "Layer 11",
    "layer-11+attention": "Layer 11 + attention",
}
_LEVELS = {  # level -> colour and shape of its models
    "base": (_BLACK, "*"),
    "sentence-debias": (_BLACK, "P"),
    "sent": (_GREEN, "s"),
    "layer-12": (_BLUE, "o"),
    "layer-11": (_VERMILION, "^"),
    "layer-11+attention": (_PURPLE, "D"),
}
_MEASURES = {"strength": "Strength S (top 10 %)", "distance": "Distance D (top 10 %)"}
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


def save_figure(figure: Figure, svg_path: str | Path, pdf_path: str | Path) -> None:
    """Write a figure as SVG and PDF without dates; each file is whole or absent."""
    with matplotlib.rc_context(_STYLE):
        with whole_file(svg_path) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})
        with whole_file(pdf_path) as temporary:
            figure.savefig(temporary, format="pdf", metadata={"CreationDate": None})


def strength_distance(rows: pd.DataFrame) -> Figure:
    """Strength and Distance of all settings of one encoder and stimuli set (a block of table 7), in printed order.

    Colour and shape: (n, c) of the level's first projection; filled: n_p = 0, open: n_p = 1; dashed: Base; grey
    dashes: the published values. Width 10.5 in: a landscape page."""
    blocks = _blocks(rows)
    if len(blocks) != 1:
        raise BiasflowError(f"figure: {len(blocks)} encoders and stimuli sets with scores; give the rows of one")
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(10.5, 6.8), layout="constrained")
        panels = figure.subplots(2, 1, sharex=True)
        ((name, block),) = blocks.items()
        for axes, measure in zip(panels, _MEASURES, strict=True):
            _draw(axes, block, measure)
            axes.set_ylabel(f"{_MEASURES[measure]}, lower is better")
        _name_settings(panels[-1], block)
        panels[0].set_title(name, loc="left", pad=16)
        figure.legend(handles=_legend(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def strength_distance_grid(rows: pd.DataFrame) -> Figure:
    """`strength_distance` in small for all encoders and stimuli sets of a table 7: a row each, a scale per measure."""
    blocks = _blocks(rows)
    if not blocks:
        raise BiasflowError("figure: no encoder has scores; run at least one")
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(10.5, 1.2 + 1.7 * len(blocks)), layout="constrained")
        grid = figure.subplots(len(blocks), 2, sharex=True, sharey="col", squeeze=False)
        for panels, (name, block) in zip(grid, blocks.items(), strict=True):
            for axes, measure in zip(panels, _MEASURES, strict=True):
                _draw(axes, block, measure, size=10, band_names=axes in grid[0])
                axes.set_ylabel(_MEASURES[measure])
                axes.set_xticks([])
            panels[0].annotate(name, (0, 1), (0, 14), "axes fraction", "offset points", fontsize=8, weight="bold")
        for axes in grid[-1]:
            axes.set_xlabel("settings in the order of the paper's table 7")
        figure.legend(handles=_legend(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def strength_fairness(rows: pd.DataFrame) -> Figure:
    """NLI fairness against Strength and against Distance: a row of two panels per encoder and stimuli set.

    `rows`: the rows of a table 7 that have both kinds of scores, and the printed ones as one more encoder. Colour and
    shape: level; filled: viable, open: not. Panel titles give Spearman's rho over all settings."""
    blocks = _blocks(rows)
    if not blocks:
        raise BiasflowError("figure: no encoder has intrinsic and NLI scores; give at least the printed rows")
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 0.9 + 2.7 * len(blocks)), layout="constrained")
        grid = figure.subplots(len(blocks), 2, sharey=True, squeeze=False)
        for panels, (name, block) in zip(grid, blocks.items(), strict=True):
            for axes, measure in zip(panels, _MEASURES, strict=True):
                _scatter(axes, block, measure, "fairness")
                axes.set_xlabel(f"{_MEASURES[measure]}, lower is better")
                axes.locator_params(axis="x", nbins=5)
            panels[0].set_ylabel("NLI fairness \u03b7, higher is better")
            panels[0].annotate(name, (0, 1), (0, 20), "axes fraction", "offset points", fontsize=8, weight="bold")
        figure.legend(handles=_level_legend(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def planted_calibration(frame: pd.DataFrame) -> Figure:
    """A measure's value against the planted bias: columns measure, bias (0 to 1), seed, value.

    One panel per measure in order of appearance; points are seeds, the line joins the means."""
    missing = [column for column in ("measure", "bias", "seed", "value") if column not in frame]
    if missing or frame.empty:
        raise BiasflowError(f"figure of planted bias: {'no column ' + ', '.join(missing) if missing else 'no rows'}")
    measures = frame["measure"].unique()
    columns = min(3, len(measures))
    lines = -(-len(measures) // columns)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(2.4 * columns + 0.4, 2.1 * lines + 0.5), layout="constrained")
        panels = figure.subplots(lines, columns, sharex=True, squeeze=False).ravel()
        for axes in panels[len(measures) :]:
            axes.remove()
        for axes, measure in zip(panels, measures, strict=False):
            values = frame[frame["measure"] == measure]
            means = values.groupby("bias")["value"].mean()
            axes.plot(means.index, means, color=_BLUE, linewidth=1.5)
            axes.scatter(values["bias"], values["value"], s=14, facecolors="white", edgecolors=_BLUE, zorder=3)
            axes.set_title(textwrap.fill(measure.replace("_", " "), width=28), loc="left")
            axes.set_xticks(sorted(frame["bias"].unique()))
            axes.tick_params(labelbottom=True)
        figure.supxlabel("planted bias (0 none, 1 full)", fontsize=8)
        figure.supylabel("value (points: seeds, line: mean)", fontsize=8)
    return figure


def _blocks(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The blocks of a table 7 that were run, by a name for readers; the main reading of the interventions only."""
    run = rows[(rows["status"] == RUN) & (rows["interventions"] == AFTER)]
    groups = run.groupby(["encoder", "stimuli"], sort=False)
    return {f"{encoder}, stimuli: {stimuli}" if stimuli else encoder: block for (encoder, stimuli), block in groups}


def _positions(block: pd.DataFrame) -> pd.Series:
    """Where each setting stands on the x axis: one step per row, and a gap of one between levels."""
    new_level = block["level"].ne(block["level"].shift())
    return (new_level.cumsum() + range(len(block))).rename("x")


def _draw(axes: Axes, block: pd.DataFrame, measure: str, *, size: float = 22, band_names: bool = True) -> None:
    """One measure of one block: bands per level, our values, the Base line, and the published values in grey."""
    x = _positions(block)
    for number, (level, places) in enumerate(x.groupby(block["level"], sort=False)):
        if number % 2:
            axes.axvspan(places.min() - 1, places.max() + 1, color="#F2F2F2", zorder=0, linewidth=0)
        if band_names and len(places) > 4:
            middle = (places.mean(), 1.0)
            axes.annotate(
                _LEVEL_NAMES.get(level, level), middle, (0, 3), axes.get_xaxis_transform(), "offset points", ha="center"
            )
    if measure + PUBLISHED in block:
        axes.scatter(x, block[measure + PUBLISHED], s=size, marker="_", color=_GREY, linewidths=1, zorder=2)
    base = block.loc[block["level"] == "base", measure]
    if len(base):
        axes.axhline(base.iloc[0], color=_BLACK, linestyle="--", linewidth=0.8, zorder=1)
    first, n_p = block["settings"].str[:3], block["settings"].str[-1:]
    for (projection, weighted), own in block.groupby([first.where(first.isin(_PROJECTIONS), ""), n_p == "1"]):
        color, marker, _ = _PROJECTIONS.get(projection, (_BLACK, "o", ""))
        face = "white" if weighted else color
        axes.scatter(x[own.index], own[measure], s=size, marker=marker, facecolors=face, edgecolors=color, zorder=3)
    axes.set_xlim(x.min() - 1, x.max() + 1)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.5, zorder=0)
    axes.set_axisbelow(True)


def _scatter(axes: Axes, block: pd.DataFrame, x: str, y: str) -> None:
    """One point per setting, and Spearman's rho as the panel's title."""
    known = block.dropna(subset=[x, y])
    for level, (color, marker) in _LEVELS.items():
        own = known[known["level"] == level]
        faces = [color if viable == "yes" else "none" for viable in own["viable"]]
        size = 60 if marker in "*P" else 20  # the single models of Base and Sentence-Debias must be found in the crowd
        axes.scatter(
            own[x], own[y], s=size, marker=marker, facecolors=faces, edgecolors=color, linewidths=0.9, zorder=3
        )
    found = correlation(known[x], known[y], "spearman")
    title = found.reason or f"\u03c1 = {found.estimate:.3f}, p = {found.p:.2g}, n = {found.n}"
    axes.set_title(title, loc="left", fontsize=8)
    axes.grid(color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(labelleft=True)


def _level_legend() -> list[Line2D]:
    common = {"linestyle": "", "markersize": 5}
    entries = [
        Line2D([], [], label=_LEVEL_NAMES[level], marker=marker, color=color, **common)
        for level, (color, marker) in _LEVELS.items()
    ]
    return [
        *entries,
        Line2D([], [], label="viable (filled)", marker="o", color=_GREY, **common),
        Line2D([], [], label="not viable (open)", marker="o", color=_GREY, markerfacecolor="none", **common),
    ]


def _name_settings(axes: Axes, block: pd.DataFrame) -> None:
    single = block["level"].map(block["level"].value_counts()) <= 2
    names = block["level"].map(_LEVEL_NAMES).fillna(block["level"]) + " " + block["settings"]
    axes.set_xticks(_positions(block), names.where(single, block["settings"]).str.strip(), rotation=90)
    axes.set_xlabel("setting: (n_11, c_11, n_12, c_12, n_p) as far as the level goes")


def _legend() -> list[Line2D]:
    def entry(label: str, **options: object) -> Line2D:
        return Line2D([], [], label=label, **{"linestyle": "", "markersize": 5, **options})

    entries = [
        entry(f"first projection {label}", marker=marker, color=color) for color, marker, label in _PROJECTIONS.values()
    ]
    return [
        *entries,
        entry("n_p = 0 (hard at SENT)", marker="o", color=_BLACK),
        entry("n_p = 1 (weighted at SENT)", marker="o", markerfacecolor="white", color=_BLACK),
        entry("Base", linestyle="--", color=_BLACK, linewidth=0.8),
        entry("published (bert-base-uncased)", marker="_", color=_GREY),
    ]
