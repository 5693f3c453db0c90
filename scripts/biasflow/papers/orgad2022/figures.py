"""Figures 3, 5 and 7 of Orgad, Goldfarb-Tarrant & Belinkov (2022): extrinsic measures against compression."""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.papers.dawkins2024.figures import _BLACK, _BLUE, _GREEN, _GREY, _STYLE, _VERMILION
from scripts.biasflow.papers.orgad2022.correlations import line
from scripts.biasflow.papers.orgad2022.rows import (
    AFTER,
    BEFORE,
    COMPRESSION,
    EXTRINSIC,
    NONE,
    PEARSON,
    POINT_KEY,
    Measure,
    column,
    points,
)

# Colour and shape of a strategy's models; the shapes repeat what the colours say.
_MARKS = {
    NONE: (_BLACK, "o"),
    "oversampling": (_VERMILION, "^"),
    "subsampling": (_BLUE, "s"),
    "scrubbing": (_GREEN, "D"),
}
_STAGES = {BEFORE: "before retraining", AFTER: "after retraining"}
_COLUMNS = 3  # measures side by side, each before and after
_CROWD = 100  # points from which the marks are smaller
_LABELS = {"mixed-last": "compression (as released)", "bits-best": "compression (bits)"}
_MEASURES = {measure.label: measure for measure in EXTRINSIC}
_GRID = [  # a row of correlations, a row of sums, a row of information measures
    [f"{part} gap ({kind})" for part in ("TPR", "FPR", "Precision")] for kind in "PS"
] + [[f"{name} gap (S)" for name in ("Independence", "Separation", "Sufficiency")]]


def figure3(scores: pd.DataFrame, *, variant: str = COMPRESSION.variant) -> Figure:
    """TPR gap (P) against compression, a row of two panels per encoder.

    Left: before retraining, a point per fine-tuned model; right: after, a box per fine-tuned encoder over its heads
    (quartiles; whiskers to the furthest head within 1.5 quartile ranges), at the encoder's compression. Colour:
    strategy. Line: least squares over all points (right: all heads), with R^2. `variant` of compression:
    "mixed-last" (as printed), "bits-best" ... Raises BiasflowError where no encoder was scored."""
    measure, x = _MEASURES["TPR gap (P)"], _compression(variant)
    blocks = _blocks(scores, x, [measure])
    if not blocks:
        return _nothing_defined()
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 0.7 + 2.6 * len(blocks)), layout="constrained")
        grid = figure.subplots(len(blocks), 2, sharey="row", squeeze=False)
        for panels, (name, stages) in zip(grid, blocks.items(), strict=True):
            for axes, (stage, block) in zip(panels, stages.items(), strict=True):
                _draw(axes, block, x, measure, boxes=stage == AFTER, title=_STAGES[stage])
                axes.set_xlabel(_LABELS.get(variant, variant))
                axes.tick_params(labelleft=True)
            panels[0].set_ylabel(f"{measure.label}, data shares")
            _name(panels[0], name)
        figure.legend(handles=_legend(), loc="outside lower center", ncols=len(_MARKS), frameon=False)
    return figure


def figure5(scores: pd.DataFrame, *, variant: str = COMPRESSION.variant) -> Figure:
    """All extrinsic measures against compression: three rows of three measures per encoder, each before and after.

    A point per fine-tuned model (before) and per retrained head (after); line and R^2 as in `figure3`. The two panels
    of a measure share its axis. Width 10.5 in: a landscape page. Raises BiasflowError where nothing was scored."""
    return _small_multiples(scores, [[_MEASURES[label] for label in row] for row in _GRID], variant)


def figure7(scores: pd.DataFrame, *, variant: str = COMPRESSION.variant) -> Figure:
    """The Pearson measures with the US labour statistics' share of women, against compression; as `figure5`.

    Below each R^2 stands that of the same measure with the shares of the training data (in brackets), because the
    figure is about how far the two agree. Raises BiasflowError where no encoder has the labour variant."""
    labour = [measure._replace(variant="labour") for measure in PEARSON]
    return _small_multiples(scores, [labour], variant)


def _small_multiples(scores: pd.DataFrame, rows: list[list[Measure]], variant: str) -> Figure:
    x = _compression(variant)
    blocks = _blocks(scores, x, [measure for row in rows for measure in row])
    if not blocks:
        return _nothing_defined()
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(10.5, 0.8 + 2.0 * len(rows) * len(blocks)), layout="constrained")
        grid = figure.subplots(len(rows) * len(blocks), 2 * _COLUMNS, squeeze=False)
        for number, (name, stages) in enumerate(blocks.items()):
            own = grid[number * len(rows) : (number + 1) * len(rows)]
            for panels, measures in zip(own, rows, strict=True):
                for place, measure in enumerate(measures):
                    left, right = panels[2 * place : 2 * place + 2]
                    right.sharey(left)
                    for axes, (stage, block) in zip((left, right), stages.items(), strict=True):
                        _draw(axes, block, x, measure, title=stage, reference=_with_data_shares(measure))
                    left.set_ylabel(f"{measure.label}{', labour shares' if measure.variant == 'labour' else ''}")
                    right.tick_params(labelleft=False)
            _name(own[0][0], name)
        for axes in grid[-1]:
            axes.set_xlabel(_LABELS.get(variant, variant))
        figure.legend(handles=_legend(), loc="outside lower center", ncols=len(_MARKS), frameon=False)
    return figure


def _with_data_shares(measure: Measure) -> Measure | None:
    """The same measure with the shares of the training data, for one with those of the labour statistics."""
    return measure._replace(variant="train") if measure.variant == "labour" else None


def _compression(variant: str) -> str:
    return column(COMPRESSION.metric, variant)


def _blocks(scores: pd.DataFrame, x: str, measures: list[Measure]) -> dict[str, dict[str, pd.DataFrame]]:
    """Encoder -> stage -> points, of the encoders with compression and one of the measures, before or after.

    Empty where all values are undefined; a BiasflowError where they were not scored at all."""
    stages = {stage: points(scores, stage) for stage in _STAGES}
    names = {measure: column(*measure[1:]) for measure in measures}

    def drawable(table: pd.DataFrame) -> bool:
        return x in table and any(y in table and table[[x, y]].notna().all(axis=1).any() for y in names.values())

    encoders = sorted({name for table in stages.values() for name in table["encoder"]})
    blocks = {
        name: {stage: table[table["encoder"] == name].reset_index(drop=True) for stage, table in stages.items()}
        for name in encoders
    }
    if not any(x in table and set(names.values()) & set(table) for table in stages.values()):
        wanted = ", ".join(dict.fromkeys(names.values()))
        raise BiasflowError(f"figure: no encoder has both {x} and one of {wanted}; score one encoder first")
    return {name: block for name, block in blocks.items() if any(map(drawable, block.values()))}


def _nothing_defined() -> Figure:
    """What stands for a figure whose measures are undefined everywhere, as for models that learned nothing."""
    figure = Figure(figsize=(7.2, 1.0))
    figure.text(0.5, 0.5, "No model has a defined value to draw: see undefined cells in the tables.", ha="center")
    return figure


def _draw(
    axes: Axes,
    block: pd.DataFrame,
    x: str,
    measure: Measure,
    *,
    title: str,
    boxes: bool = False,
    reference: Measure | None = None,
) -> None:
    """One measure at one stage: marks (or a box per encoder), line, and R^2 (also of `reference`) as the title."""
    y = column(*measure[1:])
    known = block.dropna(subset=[x, y]) if {x, y} <= set(block) else block.head(0)
    axes.grid(color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)
    if known.empty:
        axes.set_title(title, loc="left", fontsize=8)
        axes.text(0.5, 0.5, "no scores", transform=axes.transAxes, ha="center", color=_GREY)
        return
    for strategy, (color, marker) in _MARKS.items():
        own = known[known["strategy"] == strategy]
        if boxes:
            _draw_boxes(axes, own, x, y, color, width=0.03 * (np.ptp(known[x]) or 1.0))
        else:
            size = 14 if len(known) < _CROWD else 6
            axes.scatter(
                own[x], own[y], s=size, marker=marker, facecolors="none", edgecolors=color, linewidths=0.8, zorder=3
            )
    fitted = line(known[x], known[y])
    if np.isfinite(fitted.slope):
        ends = np.array([known[x].min(), known[x].max()])
        axes.plot(ends, fitted.intercept + fitted.slope * ends, color=_BLACK, linewidth=1, linestyle="--", zorder=4)
    text = f"{title}: {_r_squared(fitted.r_squared)}, n = {fitted.n}"
    if reference is not None:
        other = line(block[x], block[column(*reference[1:])])
        text += f"\n(data shares: {_r_squared(other.r_squared)})"
    axes.set_title(text, loc="left", fontsize=7)


def _draw_boxes(axes: Axes, own: pd.DataFrame, x: str, y: str, color: str, *, width: float) -> None:
    groups = [(block[x].iloc[0], block[y].to_numpy()) for _, block in own.groupby(POINT_KEY[:-1], sort=False)]
    if not groups:
        return
    drawn = axes.boxplot(
        [values for _, values in groups],
        positions=[place for place, _ in groups],
        widths=width,
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": "white", "edgecolor": color, "linewidth": 0.9},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": color},
        **{part: {"color": color, "linewidth": 0.9} for part in ("whiskerprops", "capprops", "medianprops")},
    )
    for artist in (part for parts in drawn.values() for part in parts):
        artist.set_zorder(3)


def _r_squared(value: float) -> str:
    return f"R\u00b2 = {value:.3f}" if np.isfinite(value) else "no R\u00b2"


def _name(axes: Axes, encoder: str) -> None:
    """The encoder above its first panel, higher than the panel's title."""
    axes.annotate(encoder, (0, 1), (0, 26), "axes fraction", "offset points", fontsize=8, weight="bold")


def _legend() -> list[Line2D]:
    return [
        Line2D([], [], linestyle="", marker=marker, markersize=5, color=color, markerfacecolor="none", label=strategy)
        for strategy, (color, marker) in _MARKS.items()
    ]
