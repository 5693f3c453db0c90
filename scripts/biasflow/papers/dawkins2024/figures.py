"""The figures: Strength and Distance by setting, and NLI fairness against them."""

from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from biasflow.papers.dawkins2024 import grid
from biasflow.papers.dawkins2024.tables import settings_table
from biasflow.papers.dawkins2024.text import with_printed
from biasflow.papers.frames import RUN, Run
from biasflow.results import figures as draw
from biasflow.results.statistics import correlation
from biasflow.results.tables import PUBLISHED

_PROJECTIONS = {  # (n, c) of the level's first projection
    "0,0": (draw.BLUE, "o", "hard, one dimension (0,0)"),
    "0,1": (draw.VERMILION, "^", "hard, two dimensions (0,1)"),
    "1,0": (draw.GREEN, "s", "weighted, one dimension (1,0)"),
    "1,1": (draw.PURPLE, "D", "weighted, two dimensions (1,1)"),
}
_LEVELS = {  # level -> name in any encoder, colour and shape of its models
    grid.BASE: ("Base", draw.BLACK, "*"),
    grid.DEBIAS: ("Sentence-Debias", draw.BLACK, "P"),
    grid.SENT: ("SENT", draw.GREEN, "s"),
    grid.LAYER_12: ("last layer (paper: 12)", draw.BLUE, "o"),
    grid.LAYER_11: ("layer before (paper: 11)", draw.VERMILION, "^"),
    grid.ATTENTION: ("layer before + attention", draw.PURPLE, "D"),
}
_MEASURES = {"strength": "Strength S (top 10 %)", "distance": "Distance D (top 10 %)"}


@draw.style()
def strength_distance(run: Run) -> Figure:
    """Strength and Distance of all settings in printed order: of one encoder and stimuli set on a landscape page, the
    settings by their names; of several in small, a row each and a scale per measure.

    Colour and shape: (n, c) of the level's first projection; filled: n_p = 0, open: n_p = 1; dashed: Base; grey
    dashes: the published values, where encoder and stimuli are the paper's."""
    rows = settings_table(run)
    blocks = _blocks(rows)
    if not blocks:
        statuses = rows.drop_duplicates("encoder")
        return draw.empty_figure("; ".join(statuses["encoder"] + " " + statuses["status"]))
    large = len(blocks) == 1
    shape, height = ((2, 1), 6.8) if large else ((len(blocks), 2), 1.2 + 1.7 * len(blocks))
    figure, panels = draw.panels(*shape, (10.5, height), sharex=True, sharey=False if large else "col")
    for row, (name, block) in zip(panels.reshape(-1, 2), blocks.items(), strict=True):
        layers = grid.layers_of(run, block["encoder"].iloc[0])
        for axes, (measure, label) in zip(row, _MEASURES.items(), strict=True):
            _draw(axes, block, measure, layers, size=22 if large else 10)
            axes.set_ylabel(f"{label}, lower is better" if large else label)
        if large:
            row[0].set_title(name, loc="left", pad=16)
            _name_settings(row[1], block, layers)
        else:
            draw.name_row(row[0], name, 14)
    if not large:
        for axes in panels[-1]:
            axes.set_xticks([])
            axes.set_xlabel("settings in the order of the paper's table 7")
    draw.legend_below(figure, _legend(blocks.values()))
    return figure


@draw.style()
def strength_fairness(run: Run) -> Figure:
    """NLI fairness against Strength and against Distance: a row of two panels per encoder and stimuli set that has
    both, and one for the printed values.

    Colour and shape: level; filled: viable, open: not. Panel titles give Spearman's rho over all settings and over the
    viable ones. Above it stands of which encoders one of both is missing, and why."""
    blocks, every = _blocks(with_printed(run)), settings_table(run).drop_duplicates("encoder")
    figure, grid = draw.panels(len(blocks), 2, (7.2, 0.9 + 2.7 * len(blocks)), sharex="col", sharey=True)
    for row, (name, block) in zip(grid, blocks.items(), strict=True):
        for axes, (measure, label) in zip(row, _MEASURES.items(), strict=True):
            _scatter(axes, block, measure, "fairness")
            axes.set_xlabel(f"{label}, lower is better")
            axes.locator_params(axis="x", nbins=5)
        row[0].set_ylabel("NLI fairness \u03b7, higher is better")
        draw.name_row(row[0], name, 30)
    draw.legend_below(figure, _level_legend())
    absent = every.loc[(every[["status", "nli_status"]] != RUN).any(axis=1), ["encoder", "status", "nli_status"]]
    figure.suptitle("; ".join(f"{name}: Strength {inside}, NLI {outside}" for name, inside, outside in absent.values))
    return figure


def _blocks(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The blocks of a table 7 that were run, by a name for readers; the main reading of the interventions only."""
    drawn = rows[(rows["status"] == RUN) & (rows["interventions"] == grid.AFTER)]
    groups = drawn.groupby(grid.BLOCK, sort=False)
    return {f"{encoder}, stimuli: {stimuli}" if stimuli else encoder: block for (encoder, stimuli), block in groups}


def _positions(block: pd.DataFrame) -> pd.Series:
    """Where each setting stands on the x axis: one step per row, and a gap of one between levels."""
    new_level = block["level"].ne(block["level"].shift())
    return (new_level.cumsum() + range(len(block))).rename("x")


def _draw(axes: Axes, block: pd.DataFrame, measure: str, layers: int | None, size: float) -> None:
    """One measure of one block: bands per level, our values, the Base line, and the published values in grey."""
    x, names = _positions(block), grid.level_names(layers)
    for number, (level, places) in enumerate(x.groupby(block["level"], sort=False)):
        if number % 2:
            axes.axvspan(places.min() - 1, places.max() + 1, color="#F2F2F2", zorder=0, linewidth=0)
        if len(places) > 4:
            middle = (places.mean(), 1.0)
            axes.annotate(names[level], middle, (0, 3), axes.get_xaxis_transform(), "offset points", ha="center")
    axes.scatter(x, block[measure + PUBLISHED], s=size, marker="_", color=draw.GREY, linewidths=1, zorder=2)
    base = block.loc[block["level"] == grid.BASE, measure]
    axes.axhline(base.iloc[0], color=draw.BLACK, linestyle="--", linewidth=0.8, zorder=1)
    first, n_p = block["settings"].str[:3], block["settings"].str[-1:]
    for (projection, weighted), points in block.groupby([first.where(first.isin(_PROJECTIONS), ""), n_p == "1"]):
        color, marker, _ = _PROJECTIONS.get(projection, (draw.BLACK, "o", ""))
        face = "white" if weighted else color
        draw.points(axes, x[points.index], points[measure], color, marker, faces=face, s=size)
    axes.set_xlim(x.min() - 1, x.max() + 1)
    draw.light_grid(axes, "y")


def _scatter(axes: Axes, block: pd.DataFrame, x: str, y: str) -> None:
    """One point per setting, and Spearman's rho of all and of the viable ones as the panel's title."""
    known = block.dropna(subset=[x, y])
    for level, (_, color, marker) in _LEVELS.items():
        points = known[known["level"] == level]
        faces = [color if viable == "yes" else "none" for viable in points["viable"]]
        size = 60 if marker in "*P" else 20  # the single models of Base and Sentence-Debias must be found in the crowd
        draw.points(axes, points[x], points[y], color, marker, faces=faces, s=size, linewidths=0.9)
    groups = {"all": known, "viable": known[known["viable"] == "yes"]}
    titles = [f"{name}: {_rho(points[x], points[y])}" for name, points in groups.items()]
    axes.set_title("\n".join(titles), loc="left", fontsize=8)
    draw.light_grid(axes)
    axes.tick_params(labelleft=True)


def _rho(x: pd.Series, y: pd.Series) -> str:
    rho = correlation(x, y, "spearman")
    said = rho.reason or f"\u03c1 = {rho.estimate:.3f}, p = {rho.p:.2g}"
    return f"{said}, n = {rho.n}"


def _level_legend() -> list[Line2D]:
    return [
        *(draw.legend_entry(name, marker=marker, color=color) for name, color, marker in _LEVELS.values()),
        draw.legend_entry("viable (filled)", marker="o", color=draw.GREY),
        draw.legend_entry("not viable (open)", marker="o", color=draw.GREY, markerfacecolor="none"),
    ]


def _name_settings(axes: Axes, block: pd.DataFrame, layers: int | None) -> None:
    single = block["level"].map(block["level"].value_counts()) <= 2
    names = block["level"].map({level: name for level, (name, *_) in _LEVELS.items()}) + " " + block["settings"]
    last, before = ("last", "before") if layers is None else (layers, layers - 1)
    axes.set_xticks(_positions(block), names.where(single, block["settings"]).str.strip(), rotation=90)
    axes.set_xlabel(f"setting: (n_{before}, c_{before}, n_{last}, c_{last}, n_p) as far as the level goes")


def _legend(blocks: Iterable[pd.DataFrame]) -> list[Line2D]:
    measures = [measure + PUBLISHED for measure in _MEASURES]
    compared = any(block[measures].notna().any(axis=None) for block in blocks)
    published = draw.legend_entry("published", marker="_", color=draw.GREY)
    marks = [(f"first projection {name}", color, marker) for color, marker, name in _PROJECTIONS.values()]
    return [
        *(draw.legend_entry(name, marker=marker, color=color) for name, color, marker in marks),
        draw.legend_entry("n_p = 0 (hard at SENT)", marker="o", color=draw.BLACK),
        draw.legend_entry("n_p = 1 (weighted at SENT)", marker="o", markerfacecolor="white", color=draw.BLACK),
        draw.legend_entry("Base", linestyle="--", color=draw.BLACK, linewidth=0.8),
        *([published] if compared else []),
    ]
