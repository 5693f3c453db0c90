"""The figures: Strength and Distance by setting, and NLI fairness against them."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scripts.biasflow.papers.dawkins2024.correlations import with_printed
from scripts.biasflow.papers.dawkins2024.rows import AFTER, ATTENTION, BASE, BLOCK, DEBIAS, LAYER_11, LAYER_12, SENT
from scripts.biasflow.papers.dawkins2024.table7 import table7
from scripts.biasflow.papers.frames import RUN, Run
from scripts.biasflow.results.figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LIGHT_GREY,
    PURPLE,
    VERMILION,
    empty_figure,
    style,
)
from scripts.biasflow.results.statistics import correlation
from scripts.biasflow.results.tables import PUBLISHED

_PROJECTIONS = {  # (n, c) of the level's first projection
    "0,0": (BLUE, "o", "hard, one dimension (0,0)"),
    "0,1": (VERMILION, "^", "hard, two dimensions (0,1)"),
    "1,0": (GREEN, "s", "weighted, one dimension (1,0)"),
    "1,1": (PURPLE, "D", "weighted, two dimensions (1,1)"),
}
_LEVELS = {  # level -> name, colour and shape of its models
    BASE: ("Base", BLACK, "*"),
    DEBIAS: ("Sentence-Debias", BLACK, "P"),
    SENT: ("SENT", GREEN, "s"),
    LAYER_12: ("Layer 12", BLUE, "o"),
    LAYER_11: ("Layer 11", VERMILION, "^"),
    ATTENTION: ("Layer 11 + attention", PURPLE, "D"),
}
_MEASURES = {"strength": "Strength S (top 10 %)", "distance": "Distance D (top 10 %)"}


def strength_distance(run: Run) -> Figure:
    """Strength and Distance of all settings in printed order: of one encoder and stimuli set on a landscape page, of
    several in small.

    Colour and shape: (n, c) of the level's first projection; filled: n_p = 0, open: n_p = 1; dashed: Base; grey
    dashes: the published values."""
    rows = table7(run)
    blocks = _blocks(rows)
    if not blocks:
        statuses = rows.drop_duplicates("encoder").set_index("encoder")["status"]
        return empty_figure("; ".join(f"{encoder} {status}" for encoder, status in statuses.items()))
    return _large(*blocks.popitem()) if len(blocks) == 1 else _small(blocks)


def _large(name: str, block: pd.DataFrame) -> Figure:
    with style():
        figure = Figure(figsize=(10.5, 6.8), layout="constrained")
        panels = figure.subplots(2, 1, sharex=True)
        for axes, measure in zip(panels, _MEASURES, strict=True):
            _draw(axes, block, measure)
            axes.set_ylabel(f"{_MEASURES[measure]}, lower is better")
        _name_settings(panels[-1], block)
        panels[0].set_title(name, loc="left", pad=16)
        figure.legend(handles=_legend(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def _small(blocks: dict[str, pd.DataFrame]) -> Figure:
    """A row per encoder and stimuli set, a scale per measure."""
    with style():
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


def strength_fairness(run: Run) -> Figure:
    """NLI fairness against Strength and against Distance: a row of two panels per encoder and stimuli set that has
    both, and one for the printed values.

    Colour and shape: level; filled: viable, open: not. Panel titles give Spearman's rho over all settings."""
    blocks = _blocks(with_printed(run))
    with style():
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


def _blocks(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The blocks of a table 7 that were run, by a name for readers; the main reading of the interventions only."""
    drawn = rows[(rows["status"] == RUN) & (rows["interventions"] == AFTER)]
    groups = drawn.groupby(BLOCK, sort=False)
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
            name, *_ = _LEVELS[level]
            axes.annotate(name, middle, (0, 3), axes.get_xaxis_transform(), "offset points", ha="center")
    axes.scatter(x, block[measure + PUBLISHED], s=size, marker="_", color=GREY, linewidths=1, zorder=2)
    base = block.loc[block["level"] == BASE, measure]
    axes.axhline(base.iloc[0], color=BLACK, linestyle="--", linewidth=0.8, zorder=1)
    first, n_p = block["settings"].str[:3], block["settings"].str[-1:]
    for (projection, weighted), own in block.groupby([first.where(first.isin(_PROJECTIONS), ""), n_p == "1"]):
        color, marker, _ = _PROJECTIONS.get(projection, (BLACK, "o", ""))
        face = "white" if weighted else color
        axes.scatter(x[own.index], own[measure], s=size, marker=marker, facecolors=face, edgecolors=color, zorder=3)
    axes.set_xlim(x.min() - 1, x.max() + 1)
    axes.grid(axis="y", color=LIGHT_GREY, linewidth=0.5, zorder=0)
    axes.set_axisbelow(True)


def _scatter(axes: Axes, block: pd.DataFrame, x: str, y: str) -> None:
    """One point per setting, and Spearman's rho as the panel's title."""
    known = block.dropna(subset=[x, y])
    for level, (_, color, marker) in _LEVELS.items():
        own = known[known["level"] == level]
        faces = [color if viable == "yes" else "none" for viable in own["viable"]]
        size = 60 if marker in "*P" else 20  # the single models of Base and Sentence-Debias must be found in the crowd
        axes.scatter(
            own[x], own[y], s=size, marker=marker, facecolors=faces, edgecolors=color, linewidths=0.9, zorder=3
        )
    found = correlation(known[x], known[y], "spearman")
    title = found.reason or f"\u03c1 = {found.estimate:.3f}, p = {found.p:.2g}, n = {found.n}"
    axes.set_title(title, loc="left", fontsize=8)
    axes.grid(color=LIGHT_GREY, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(labelleft=True)


def _level_legend() -> list[Line2D]:
    common = {"linestyle": "", "markersize": 5}
    entries = [
        Line2D([], [], label=name, marker=marker, color=color, **common) for name, color, marker in _LEVELS.values()
    ]
    return [
        *entries,
        Line2D([], [], label="viable (filled)", marker="o", color=GREY, **common),
        Line2D([], [], label="not viable (open)", marker="o", color=GREY, markerfacecolor="none", **common),
    ]


def _name_settings(axes: Axes, block: pd.DataFrame) -> None:
    single = block["level"].map(block["level"].value_counts()) <= 2
    names = block["level"].map({level: name for level, (name, *_) in _LEVELS.items()}) + " " + block["settings"]
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
        entry("n_p = 0 (hard at SENT)", marker="o", color=BLACK),
        entry("n_p = 1 (weighted at SENT)", marker="o", markerfacecolor="white", color=BLACK),
        entry("Base", linestyle="--", color=BLACK, linewidth=0.8),
        entry("published (bert-base-uncased)", marker="_", color=GREY),
    ]
