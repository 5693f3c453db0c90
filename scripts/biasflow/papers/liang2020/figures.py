"""Figures of Liang, Dufter & Schütze (2020), and a page of sentences coloured by their DensRay scores."""

from collections.abc import Mapping

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from biasflow.base.errors import BiasflowError
from biasflow.base.shipped import shipped
from biasflow.base.tabular import read_parquet
from biasflow.papers.frames import Run
from biasflow.papers.liang2020 import placed
from biasflow.papers.liang2020.tables import gender_shares as read_gender_shares
from biasflow.papers.liang2020.tables import perplexity_rows, readings
from biasflow.results import figures as draw
from biasflow.results.page import PAGES
from biasflow.results.scores import NA, NONE

_OCCTMP = {"diff": "mean |log p(he) - log p(she)|", "signed_diff": "mean log p(he) - log p(she)"}
_PERPLEXITY = {"perplexity": "perplexity", "batch_perplexity": "batch perplexity (as released)"}
_DENSRAY = draw.colour_of(placed.DENSRAY.eraser)
_LINES = {  # placement -> line
    placed.Placement("", ""): ("--", draw.BLACK, "no layer (untouched)"),
    placed.DENSRAY: (":", _DENSRAY, "all layers"),
}
_VALUES, _OUTPUT = "attention.value", ""
_FULL = 0.98  # the quantile of distances from which on colours are full
_MIXED = 0.75  # the most of a colour in a background: dark text on it keeps a contrast above 4.5 to 1

_PAGE = PAGES.from_string(shipped("papers/liang2020/sentences.html").read_text("utf-8"))


@draw.style()
def occtmp_by_layer(run: Run) -> Figure:
    """OCCTMP's diff and signed diff with DensRay active in one layer only, against that layer; a row per encoder.

    The occupations are those of the main table (see `_by_layer`)."""
    ours = placed.of_paper(run)
    occupations = readings(ours)["occtmp_set"]
    rows = placed.of_metrics(pd.concat([ours.inside, ours.layers]), "occtmp")
    table = placed.wide(rows[rows["set"] == occupations], placed.KEY, list(_OCCTMP))
    return _by_layer(ours, table, _OCCTMP, "occtmp", f"occupations: {occupations}")


@draw.style()
def perplexity_by_layer(run: Run) -> Figure:
    """Masked-LM perplexity with DensRay active in one layer only, against that layer: the mean over mask seeds, with
    every token alike and in the released form; a row per encoder.

    Text and stage are those of the main table (see `_by_layer`)."""
    ours = placed.of_paper(run)
    shown = readings(ours)
    rows = perplexity_rows(pd.concat([ours.inside, ours.layers]))
    text, stage = shown["perplexity_text"], shown["perplexity_stage"]
    rows = rows[(rows["set"] == text) & (rows["stage"] == stage) & (rows["readout_seed"] != NA)]
    table = placed.wide(rows, [*placed.KEY, "readout_seed"], list(_PERPLEXITY))
    table = table.groupby(placed.KEY, as_index=False)[list(_PERPLEXITY)].mean()
    return _by_layer(ours, table, _PERPLEXITY, "perplexity", f"text: {text}, {stage}")


def _by_layer(ours: placed.Rows, table: pd.DataFrame, measures: Mapping[str, str], metric: str, about: str) -> Figure:
    """A row per encoder, a panel per measure (column -> label), of a `table` by KEY: DensRay in single layers.

    Dashed: the untouched encoder; dotted: DensRay in all layers, if the run has it. Encoders without
    single layers are left out; without any, the figure says why."""
    everywhere = [name for name, where in ours.methods.items() if where == placed.DENSRAY]
    table = table[table["method"].isin([NONE, *everywhere, placed.EACH])]
    table = table.assign(layer=table["places"].str.extract(r"^layer\[(\d+)\]$")[0].astype(float))
    blocks = {name: block for name, block in table.groupby("encoder") if block["layer"].notna().any()}
    if not blocks:
        return _nothing(ours, metric, placed.EACH)
    figure, grid = draw.panels(len(blocks), len(measures), (7.2, 0.9 + 2.3 * len(blocks)))
    for row, (name, block) in zip(grid, blocks.items(), strict=True):
        for axes, measure in zip(row, measures, strict=True):
            _draw_layers(axes, block, measure)
            axes.set_ylabel(measures[measure])
        draw.name_row(row[0], f"{name}, {about}", 6)
    for axes in grid[-1]:
        axes.set_xlabel("the layer that DensRay is active in (from 0)")
    entries = [draw.legend_entry("one layer", linestyle="-", marker="o", markersize=4, color=_DENSRAY)]
    entries += [draw.legend_entry(label, linestyle=dashes, color=color) for dashes, color, label in _LINES.values()]
    draw.legend_below(figure, entries, 3)
    return figure


@draw.style()
def gender_shares(run: Run) -> Figure:
    """Where gender is in the untouched encoders: heads by layers of the attention values, and the layers' outputs.

    A row per encoder; one scale of colours, from 0. An encoder without attention values has an empty panel that says
    so; without any encoder the figure says why."""
    ours = placed.of_paper(run)
    shares = read_gender_shares(ours)
    shares = shares[shares["part"].isin([_VALUES, _OUTPUT])]
    if shares.empty:
        return _nothing(ours, "gender_share", NONE)
    blocks = dict(list(shares.groupby("encoder")))
    height = sum(max(1.9, 0.22 * (block["layer"].max() + 1) + 0.7) for block in blocks.values())
    figure, grid = draw.panels(len(blocks), 2, (6.4, height), width_ratios=[5, 1])
    highest, mesh = shares["value"].max(), None
    for column, (part, name) in zip(grid.T, ((_VALUES, "attention values by head"), (_OUTPUT, "outputs")), strict=True):
        for axes, (encoder, block) in zip(column, blocks.items(), strict=True):
            of_part = block[block["part"] == part]
            axes.set_title(f"{encoder}: {name}" if part == _VALUES else name, loc="left")
            if of_part.empty:
                axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color=draw.GREY)
                axes.set_axis_off()
                continue
            mesh = _draw_shares(axes, of_part, highest)
            axes.set_ylabel("layer (from 0)" if part == _VALUES else "")
            axes.set_xlabel("head (from 0)" if part == _VALUES else "")
    figure.colorbar(mesh, ax=list(grid.flat), label="gender share", aspect=15)
    return figure


def sentences(run: Run, caption: str) -> str:
    """An HTML page of the sentences in the run's files `token_scores` (by encoder: what readouts/token_scores.py
    wrote), whose tokens have their DensRay score as background, blue to vermilion through white.

    A section for each encoder, method and place, the most masculine sentence first; a sentence's score is the mean over
    its pieces. White is the median of all tokens' scores of a section, because 0 has no meaning for vectors that are
    not centred. Colours are full at the quantile _FULL of |score - median| over its tokens, and scores beyond it have
    the same; the page says both numbers. Without any file the page says so, and how many sentences were cut because
    they are longer than an encoder takes. BiasflowError names a section with a score that is not finite."""
    sections = []
    for encoder, path in run.files.get("token_scores", {}).items():
        table = read_parquet(path)
        if cut := table.loc[table["truncated"], "sentence"].nunique():
            caption += (
                f" {encoder}: the ends of {cut} sentences are cut off, as they are longer than the encoder takes."
            )
        for (method, setting, place), pieces in table.groupby(["method", "setting", "place"], sort=False):
            names = [encoder, method, setting, place]
            sections.append(_section(", ".join(name for name in names if name != NA), pieces))
    if not sections:
        caption += " Not run: there are no scores of tokens."
    stops = ", ".join(map(_background, (-1, 0, 1)))
    return _PAGE.render(title="DensRay scores of sentences", caption=caption, stops=stops, sections=sections)


def _section(name: str, pieces: pd.DataFrame) -> dict:
    """The contents of a section of the page. pieces: sentence, piece, score."""
    values = pieces["score"].to_numpy()
    if not np.isfinite(values).all():
        raise BiasflowError(f"page of sentences, {name}: a score is not finite; score the sentences again")
    middle = float(np.median(values))
    width = float(np.quantile(np.abs(values - middle), _FULL))

    def shown(value: float) -> tuple[str, str]:
        return f"{value:.3f}", _background((value - middle) / width if width else np.sign(value - middle))

    by_sentence = pieces.groupby("sentence", sort=False)
    sentences, means = dict(iter(by_sentence)), by_sentence["score"].mean().sort_values(kind="stable")
    rows = [
        (*shown(mean), [(row.piece, *shown(row.score)) for row in sentences[number].itertuples()])
        for number, mean in means.items()
    ]
    beyond = int((np.abs(values - middle) > width).sum())
    legend = (
        f"White is the median of the {len(values)} tokens. Colours are full at the {_FULL:g} quantile of the "
        f"distance from it; {beyond} tokens lie beyond. The score of a token is shown when the pointer rests on it."
    )
    ends = {"low": f"{middle - width:.3f}", "middle": f"{middle:.3f}", "high": f"{middle + width:.3f}"}
    return {"name": name, "legend": legend, "rows": rows, **ends}


def _nothing(ours: placed.Rows, measure: str, method: str) -> Figure:
    """A figure that says of every encoder why it is not drawn."""
    reasons = {name: placed.not_run(ours, name, measure, method) for name in ours.encoders}
    return draw.empty_figure("; ".join(f"{name}: {reason}" for name, reason in reasons.items()))


def _draw_layers(axes: Axes, block: pd.DataFrame, measure: str) -> None:
    layers = block.dropna(subset="layer").sort_values("layer")
    if measure == "signed_diff":
        axes.axhline(0, color=draw.GREY, linewidth=0.5)
    if NONE not in set(block["method"]):
        raise BiasflowError(f"encoder {block['encoder'].iloc[0]}, method {NONE}: no {measure}; score it first")
    for placement, (dashes, color, _) in _LINES.items():
        for value in block.loc[(block[placed.PLACEMENT] == placement).all(axis=1), measure]:
            axes.axhline(value, color=color, linestyle=dashes, linewidth=1)
    axes.plot(layers["layer"], layers[measure], color=_DENSRAY, marker="o", markersize=4, linewidth=1)
    axes.set_xticks(layers["layer"], [f"{layer:.0f}" for layer in layers["layer"]])
    draw.light_grid(axes, "y")


def _draw_shares(axes: Axes, shares: pd.DataFrame, highest: float) -> QuadMesh:
    """Layers downwards, heads to the right; the one column of the outputs has its values written in."""
    heads = shares["head"].replace("", "0").astype(int)
    matrix = shares.assign(head=heads).pivot(index="layer", columns="head", values="value")
    matrix = matrix.reindex(index=range(shares["layer"].max() + 1), columns=range(heads.max() + 1))
    edges = (np.arange(size + 1) - 0.5 for size in reversed(matrix.shape))
    mesh = axes.pcolormesh(*edges, matrix.to_numpy(), cmap="cividis", vmin=0, vmax=highest)
    axes.invert_yaxis()
    axes.set_yticks(matrix.index)
    axes.set_xticks(matrix.columns if len(matrix.columns) > 1 else [])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if len(matrix.columns) == 1:
        for layer, value in matrix[0].dropna().items():
            shade = "white" if value < 0.6 * highest else draw.BLACK
            axes.text(0, layer, f"{value:.2f}", ha="center", va="center", fontsize=7, color=shade)
    return mesh


def _background(share: float) -> str:
    """Blue (-1) through white (0) to vermilion (1), as a CSS colour; beyond, the same as at the ends."""
    share = float(np.clip(share, -1, 1))
    full = np.array(matplotlib.colors.to_rgb(draw.VERMILION if share > 0 else draw.BLUE))
    return matplotlib.colors.to_hex(1 - abs(share) * _MIXED * (1 - full))
