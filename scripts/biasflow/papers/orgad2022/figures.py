"""Figures 3 to 7: extrinsic measures against compression."""

from collections.abc import Mapping, Sequence
from itertools import cycle, product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biasflow.papers.frames import Run
from biasflow.papers.orgad2022 import halves
from biasflow.papers.orgad2022.fits import line, printed_r_squared
from biasflow.papers.orgad2022.halves import Measure, mixed
from biasflow.papers.orgad2022.selection import POINT, Selection, coded, compression_runs, points, select
from biasflow.papers.orgad2022.stages import LEAST_MODELS
from biasflow.results import figures as draw

_SHAPES = ("o", "^", "s", "D", "v", "P", "X")  # of models, in their order: they repeat what the colours say
_STAGES = (halves.BEFORE, halves.AFTER)
_COLUMNS = 3  # measures side by side, each before and after
_ABOVE = 32  # points from a panel to the name of the encoder: higher than the panel's title
_TITLE = 6  # points: a title is no wider than a panel of figures 5 to 7
_CROWD = 100  # points from which the marks are smaller
Marks = Mapping[str, tuple[str, str]]


@draw.style()
def small_multiples(run: Run, half: str, tested: str = halves.RAW, *, unit: str = "", labour: bool = False) -> Figure:
    """All extrinsic measures against compression: up to three measures side by side per encoder, each before and after.

    A point per fine-tuned model (before) and per retrained head (after). With a `unit`, that of the first printed
    measure, this one alone in large, and after retraining a box per fine-tuned encoder over its heads (quartiles;
    whiskers to the furthest head within 1.5 quartile ranges), at the encoder's compression. `labour`: the Pearson
    measures alone, with the US labour statistics' share of women; below each R^2 stands that of the same measure with
    the shares of the training data (in brackets), because the figure is about how far the two agree.

    Colour: strategy. Line: least squares over all points (after: all heads), with R^2, and below it the printed one;
    none with fewer than LEAST_MODELS fine-tuned models. The two panels of a measure share its axis. Width 10.5 in: a
    landscape page. Where nothing can be drawn the figure says why. `tested`: as in `points`."""
    chosen = select(run, halves.HALVES[half])
    rows = [chosen.half.extrinsic[:1]] if unit else chosen.half.panels
    if labour:
        rows = [[measure._replace(variant="labour") for measure in halves.PEARSON]]
    blocks = _blocks(chosen, [measure for row in rows for measure in row], tested)
    marks = {name: (draw.colour_of(name), shape) for name, shape in zip(chosen.models, cycle(_SHAPES), strict=False)}
    if not blocks:
        return draw.empty_figure("; ".join(f"{name}: {chosen.no_points(name)}" for name in chosen.encoders))
    printed = printed_r_squared(chosen, tested)
    lines = len(rows) * len(blocks)
    columns, size = (1, (7.2, 0.7 + 2.6 * lines)) if unit else (_COLUMNS, (10.5, 0.8 + 2.0 * lines))
    figure, grid = draw.panels(lines, 2 * columns, size)
    for line_of_panels, ((name, stages), measures) in zip(grid, product(blocks.items(), rows), strict=True):
        for left, right, measure in zip(line_of_panels[::2], line_of_panels[1::2], measures, strict=False):
            right.sharey(left)
            for axes, (stage, block) in zip((left, right), stages.items(), strict=True):
                r_squared, title = printed.get((name, *measure.key, stage)), f"{stage} retraining" if unit else stage
                in_boxes = bool(unit) and stage == halves.AFTER
                _draw(axes, block, _x(chosen), measure, marks, r_squared, title=title, boxes=in_boxes)
            shares = ", labour shares" if measure.variant == "labour" else ""
            left.set_ylabel(f"{measure.label}, {unit}" if unit else measure.label + shares)
            right.tick_params(labelleft=bool(unit))
        for unused in line_of_panels[2 * len(measures) :]:
            unused.remove()
        if measures is rows[0]:
            draw.name_row(line_of_panels[0], name, _ABOVE)
    entries = [
        draw.legend_entry(model, marker=marker, color=color, markerfacecolor="none")
        for model, (color, marker) in marks.items()
    ]
    draw.legend_below(figure, entries, title=_x_label(chosen))
    return figure


def _x(chosen: Selection) -> str:
    """The column of compression: as released, of the data that stand beside the printed values if the run has them."""
    return mixed(chosen.probe_data[0]).column


def _x_label(chosen: Selection) -> str:
    labels = coded(compression_runs(chosen), "variant").get(mixed(chosen.probe_data[0]).variant, np.nan)
    count = f", {labels:,.0f} labels" if np.isfinite(labels) else ""
    return f"horizontal: compression ({chosen.probe_data[0]} data{count}; units as released)"


def _blocks(chosen: Selection, measures: Sequence[Measure], tested: str) -> dict[str, dict[str, pd.DataFrame]]:
    """Encoder -> stage -> points, of the encoders with compression and one of the measures, before or after."""
    tables, blocks = {stage: points(chosen, stage, tested) for stage in _STAGES}, {}
    for name in chosen.encoders:
        stages = {stage: table[table["encoder"] == name] for stage, table in tables.items()}
        if any(len(_known(table, _x(chosen), measure)) for table, measure in product(stages.values(), measures)):
            blocks[name] = stages
    return blocks


def _known(block: pd.DataFrame, x: str, measure: Measure) -> pd.DataFrame:
    """The points where compression (column x) and the measure are defined."""
    both = [x, measure.column]
    return block.dropna(subset=both) if {*both} <= {*block} else block.head(0)


def _draw(
    axes: Axes,
    block: pd.DataFrame,
    x: str,
    measure: Measure,
    marks: Marks,
    printed: float | None,
    *,
    title: str,
    boxes: bool = False,
) -> None:
    """One measure at one stage: marks (or a box per encoder), line, and as the title R^2, beside the printed one where
    there is one, of labour shares also that of the data's."""
    y = measure.column
    known = _known(block, x, measure)
    draw.light_grid(axes)
    if known.empty:
        axes.set_title(title, loc="left", fontsize=8)
        axes.text(0.5, 0.5, "no scores", transform=axes.transAxes, ha="center", color=draw.GREY)
        return
    for model, (color, marker) in marks.items():
        shown = known[known["model"] == model]
        if boxes:
            _draw_boxes(axes, shown, x, y, color, width=0.03 * (np.ptp(known[x]) or 1.0))
        else:
            draw.points(axes, shown[x], shown[y], color, marker, s=14 if len(known) < _CROWD else 6, linewidths=0.8)
    fitted, models = line(known[x], known[y]), len(known.drop_duplicates(POINT))
    if models < LEAST_MODELS:
        text = f"{title}: too few models\nfor a line ({models})"
        axes.set_title(text + _in_print(printed), loc="left", fontsize=_TITLE)
        return
    if np.isfinite(fitted.slope):
        ends = np.array([known[x].min(), known[x].max()])
        axes.plot(ends, fitted.intercept + fitted.slope * ends, color=draw.BLACK, linewidth=1, linestyle="--", zorder=4)
    text = f"{title}: {_r_squared(fitted.r_squared)}, n = {fitted.n}"
    if measure.variant == "labour":
        other = line(block[x], block[measure._replace(variant="train").column])
        text += f"\n(data shares: {_r_squared(other.r_squared)})"
    axes.set_title(text + _in_print(printed), loc="left", fontsize=_TITLE)


def _in_print(r_squared: float | None) -> str:
    return "" if r_squared is None else f"\n(printed: {_r_squared(r_squared)})"


def _draw_boxes(axes: Axes, rows: pd.DataFrame, x: str, y: str, color: str, *, width: float) -> None:
    groups = [(block[x].iloc[0], block[y].to_numpy()) for _, block in rows.groupby(POINT, sort=False)]
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
