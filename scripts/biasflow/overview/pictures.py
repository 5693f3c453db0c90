"""The two pictures of the first screen: how biased is a model, and does a method help, at which price? And that of
models beside each other."""

import html
import io
import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biasflow.base.files import whole_file
from biasflow.overview.beside import Beside
from biasflow.overview.bias import BiasRow
from biasflow.overview.helps import MethodRow
from biasflow.overview.judgements import LIMIT, brief, percent
from biasflow.results.figures import (
    BLUE,
    GREEN,
    GREY,
    LIGHT_GREY,
    PURPLE,
    VERMILION,
    legend_below,
    legend_entry,
    style,
)

INK = "#1A1A1A"
HOLLOW = {"markerfacecolor": "#FFFFFF"}
HALF = {"marker": "o", "fillstyle": "left", "markerfacecoloralt": "#FFFFFF"}
DISPUTED = "*"  # of a score that shows bias in one reading of its test and not in another
WEAK_HEAD = "\u2020"  # of a score that is read from a weak head
EVIDENCE = 44  # points to the right of the axes, where the evidence stands
WIDTH = 3.9  # inches: as wide as a phone shows letters of this size
# Colour and mark of each of several models; more begin again.
OF_MODELS = tuple(zip((BLUE, VERMILION, GREEN, PURPLE, INK, "#E69F00", "#56B4E9"), "osD^vPX", strict=True))
FIRST, HEADINGS = 0, ("", "evidence in part:", "less evidence:", "cannot be judged:")  # of `BiasRow.group`
MOST = 125  # percent of bias left, up to which the axis reaches at least
FARTHEST = 200, 20  # percent of bias left and of quality lost, beyond which an arrow stands at the end of the axis
IN_PAGE = {INK: "ink", BLUE: "near", LIGHT_GREY: "line", GREY: "quiet", "#FFFFFF": "paper"}  # colours of base.css


@style()
def bias_picture(rows: Sequence[BiasRow], planted: bool = False) -> Figure:
    """A line for each score: where it lies between neutral and the end of its scale, with its interval,
    filled where bias is shown, hollow where it is borderline, grey where nothing is claimed;
    ticks: published models; in words what followed a planted bias (planted: in artificial text). What has less
    evidence, and what cannot be judged, stands below."""
    rows = sorted(rows, key=BiasRow.order.fget)
    groups = sorted({row.group for row in rows} - {FIRST})  # each below a line of text
    heights = [place + sum(group <= row.group for group in groups) for place, row in enumerate(rows)]
    figure = Figure(figsize=(WIDTH, 1.0 + 0.24 * max(len(rows) + len(groups), 4)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color=INK, linewidth=0.8)
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    for y, row in zip(heights, rows, strict=True):
        if not row.score.weak:
            axes.plot(row.published_places, [y] * len(row.published_places), "|", color=GREY, markersize=9, zorder=1)
        _score(axes, y, row, (VERMILION if row.shown or row.borderline else BLUE) if row.judged else GREY)
        doubts = DISPUTED * bool(row.shown and row.score.contrary) + WEAK_HEAD * row.score.weak
        neutral = f" ({row.score.cell.neutral:.2g})" * bool(row.score.cell.neutral)
        axes.annotate(f"{brief(row.value)}{neutral}", (1, y), (5, 0), color=INK, fontsize=7, **beside)
        colour, followed = GREY if row.less_evidence else GREEN, row.known.brief if row.judged else ""
        axes.annotate(
            f"{followed}{doubts}", (1, y), (EVIDENCE, 0), color=colour, fontsize=6.5, linespacing=0.9, **beside
        )
    headers = {5: "score" + "\n(neutral)" * any(row.score.cell.neutral for row in rows)}
    headers |= {EVIDENCE: f"did its measure follow\n{'bias in artificial text?' if planted else 'a planted bias?'}"}
    above = beside | {"xycoords": "axes fraction", "va": "bottom", "color": GREY, "fontsize": 6.5}
    for offset, header in headers.items():
        axes.annotate(header, (1, 1), (offset, 3), **above)
    for group in groups:
        height = next(y for y, row in zip(heights, rows, strict=True) if row.group == group) - 1
        heading = {"ha": "right", "style": "italic", "fontsize": 7, "annotation_clip": False}
        axes.annotate(HEADINGS[group], (0, height), (-6, 0), color=INK, **beside, **heading)
    _scale(axes, heights, rows, rows)
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_color(GREY if row.less_evidence else INK)
    claimed = [row for row in rows if row.judged]
    dot = {"marker": "o", "color": VERMILION}
    not_shown = any(not (row.shown or row.borderline) for row in claimed)
    entries = [
        ("bias shown", any(row.shown for row in rows), dot),
        ("shown, but the measure failed", any(row.shown and row.known.failed for row in rows), HALF | dot),
        ("borderline", any(row.borderline for row in rows), HOLLOW | dot),
        ("not shown (may exist)", not_shown, HOLLOW | dot | {"color": BLUE}),
        ("published models", any(row.published and not row.score.weak for row in rows), {"marker": "|", "color": GREY}),
        (f"{DISPUTED} disputed", any(row.shown and row.score.contrary for row in rows), {}),
        (f"{WEAK_HEAD} weak head", any(row.score.weak for row in rows), {}),
    ]
    _legend(figure, entries, columns=2)
    return figure


@style()
def methods_picture(rows: Sequence[MethodRow], over: str = "", first: Sequence[str] = ()) -> Figure | None:
    """A row for each method: the bias that it leaves, with that of each score as small points, and in a second column
    the quality that it costs, with intervals; filled where help, or a cost, is shown; ticks: its control. Methods
    without a control stand below, as squares, and then a row for the single settings of each method. over:
    what the bias left is a mean over; first: the names of rows that stand first. None where none is known."""
    if not any(np.isfinite(row.left[0]) for row in rows):
        return None
    known = {row.name: row for row in rows}
    controls = {row.control_of: row for row in rows if row.control_of}
    lines = [row for row in rows if not row.setting and row.control_of not in known]
    places = {name: place for place, name in enumerate(first)}
    lines.sort(key=lambda row: (not row.control, places.get(row.name, len(places))))
    judged, judging = sum(bool(row.control) for row in lines), {name for row in rows for name in row.left_of}
    settings = list(dict.fromkeys(row.method for row in rows if row.setting and np.isfinite(row.left[0])))
    heights = [place + (place >= judged) for place in range(len(lines) + len(settings))]  # below a line of text
    figure = Figure(figsize=(WIDTH, 1.2 + 0.34 * max(heights[-1] + 1, 5)), layout="constrained")
    columns = figure.subplots(1, 2, sharey=True, width_ratios=(1.15, 1))
    for axes, share, (least, most), untouched in zip(columns, ("left", "lost"), _reaches(rows), (100, 0), strict=True):
        axes.axvline(untouched, color=INK, linewidth=0.8)
        axes.set(xlim=(least, most), ylim=(heights[-1] + 0.6, -0.6))
        for height, row in zip(heights, lines, strict=False):
            _share(axes, height, row, share, controls.get(row.name))
        for height, method in zip(heights[len(lines) :], settings, strict=True):
            shares = [100 * getattr(row, share)[0] for row in rows if row.setting and row.method == method]
            axes.plot(shares, [height] * len(shares), ".", color=GREY, markersize=3)
        _plain(axes)
    alone = {row.cost for row in lines if row.costs == (1, 1)}
    if not alone:  # one cost says little of quality
        columns[1].axvspan(-1e6, 100 * LIMIT, color=GREEN, alpha=0.12, linewidth=0)
    columns[1].tick_params(axis="y", length=0)
    columns[0].set_title(f"bias left\n({over or 'untouched: 100 %'})", color=INK, fontsize=8)
    for axes, unit in zip(columns, ("% left", "% worse (below 0: better)"), strict=True):
        axes.set_xlabel(unit, color=INK, fontsize=7)
    columns[1].set_title(f"price\n({min(alone) + '; no task' if alone else 'worst cost'})", color=INK, fontsize=8)
    columns[0].set_yticks(heights, [_short(name, 24) for name in (*(row.name for row in lines), *settings)])
    beside = {"xycoords": ("axes fraction", "data"), "ha": "right", "annotation_clip": False, "fontsize": 6.5}
    if judged < len(heights):
        no_control = {"color": INK, "va": "center", "style": "italic"}
        columns[0].annotate("no control of five draws:", (-0.03, judged + 0.25), **no_control, **beside)
    for height, row in zip(heights, lines, strict=False):
        remark = _wrapped(_remark(row, judging, {one.name for one in rows if np.isfinite(one.left[0])}), 28)
        columns[0].annotate(remark, (-0.03, height + 0.2), color=GREY, va="top", **beside)
    controlled = lines[:judged]
    shown = any(row.leaves_less or row.lost[1] > 0 for row in lines)
    not_shown = any(not row.leaves_less for row in controlled) or not all(row.lost[1] > 0 for row in lines)
    several = any(len(row.left_of) > 1 for row in lines)
    blue, drawn = {"marker": "o", "color": BLUE}, any(np.isfinite(row.against.low) for row in lines)
    entries = [
        ("help, or loss, shown", shown, blue),
        ("not shown on average" if several else "not shown (this score)", not_shown, blue | HOLLOW),
        ("no control", judged < len(lines), blue | HOLLOW | {"marker": "s"}),
        ("further random\nedits (95 %, widened)", drawn, {"marker": "_", "color": GREY}),
        ("control (random)", bool(controls), {"marker": "|", "color": INK, "markersize": 8}),
        ("makes a score worse", any(row.farther for row in controlled), blue | {"marker": "v"}),
        ("goes past neutral", any(_turned(row) and not row.farther for row in controlled), blue | {"marker": "D"}),
        ("one score", several, blue | HOLLOW | {"markersize": 2.5}),
        ("single setting", bool(settings), {"marker": ".", "color": GREY}),
        (f"\u2264 {100 * LIMIT:.0f} % worse", not alone, {"marker": "s", "color": GREEN, "alpha": 0.3}),
    ]
    _legend(figure, entries)
    return figure


def _reaches(rows: Sequence[MethodRow]) -> list[tuple[float, float]]:
    """The ends of both axes, in percent: they hold all shares up to FARTHEST, and at least what is kept as it is."""
    lost = [100 * share for row in rows for share in row.lost if np.isfinite(share)]
    left = [100 * share for row in rows if np.isfinite(row.left[0]) for share in (row.left[0], *row.left_of.values())]
    least = max(min(-2, *lost, 0), -FARTHEST[1])
    return [(0, min(max(MOST, *left, 0), FARTHEST[0])), (1.1 * least, 1.1 * min(max(8, *lost, 0), FARTHEST[1]))]


def _share(axes: Axes, height: float, row: MethodRow, share: str, control: MethodRow | None) -> None:
    """A share of a method ("left", "lost") in its line: its interval, its control, its mark and its number, and what is
    left of each score."""
    value, low, high = (100 * part for part in getattr(row, share))
    beside = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 7}
    if not np.isfinite(value):
        axes.annotate("some scores not run" if share == "left" else "not run", (0.03, height), color=GREY, **beside)
        return
    colour, (least, most) = BLUE, axes.get_xlim()  # the same for all methods, as they are not ranked
    if share == "left" and np.isfinite(row.against.low):
        ends = [100 * max(row.against.low, 0), 100 * row.against.high]
        axes.plot(ends, [height + 0.22] * 2, color=GREY, linewidth=1.5, solid_capstyle="butt", zorder=1)
    elif control:
        of_control = control.left[0] if share == "left" else control.prices.get(row.cost, np.nan)  # of the same cost
        axes.plot(100 * of_control, height, "|", color=INK, markersize=10, zorder=2)
    if np.isfinite(low):
        axes.plot([low, high], [height, height], color=colour, linewidth=2, zorder=1, solid_capstyle="butt")
    if share == "left" and len(row.left_of) > 1:
        single = np.clip([100 * part for part in row.left_of.values()], least, most)
        axes.plot(single, [height] * len(single), "o", color=colour, **HOLLOW, markersize=2.5, zorder=2, clip_on=False)
    shown, mark = low > 0, "o"
    if share == "left":
        shown, mark = row.leaves_less, "s" if not row.control else "v" if row.farther else "D" if _turned(row) else "o"
    mark = "<" if value < least else ">" if value > most else mark
    face, place = colour if shown else "#FFFFFF", np.clip(value, 0.97 * least, 0.97 * most)
    axes.plot(place, height, mark, color=colour, markerfacecolor=face, markersize=6, zorder=3)
    known = shown or share == "lost"
    number = percent(value / 100) if known else f"({percent(value / 100)})"
    axes.annotate(number, (1.03, height), color=INK if known else GREY, **beside)


def _turned(row: MethodRow) -> bool:
    """Whether a score that judges goes past neutral."""
    return any(one.name in row.left_of for one in row.past)


def _remark(row: MethodRow, judging: Collection[str], drawn: Collection[str]) -> str:
    """What stands below the name of a method: which score it makes worse, or takes past neutral; whether its
    control is weak; which of the scores that judge it lacks; by which costs its quality is known, if not by all; what
    it repeats of those that are drawn."""
    said = [f"worse: {row.farther[0].name}"] if row.farther else []
    said += [f"past neutral: {row.past[0].name}"] if row.past else []
    said += ["weak control"] if row.weak_control else []
    if np.isnan(row.left[0]) and (lacking := sorted({*judging} - {*row.left_of})):
        said += [f"without {lacking[0]}" + f" and {len(lacking) - 1} more" * (len(lacking) > 1)]
    if 0 < row.costs[0] < row.costs[1]:
        said += [f"cost: {row.cost} alone"] if row.costs[0] == 1 else [f"{row.costs[0]} of {row.costs[1]} costs"]
    return "; ".join([*said, *([f"repeats {row.same_as}"] if row.same_as in drawn else [])])


@style()
def beside_picture(rows: Sequence[Beside], names: Sequence[str]) -> Figure:
    """A line for each model under each measure: where its score lies between neutral and the end of its scale, with its
    interval, filled where bias is shown; the value of one that is shown to be more biased than another is bold."""
    step = 0.17 if len(names) > 2 else 0.12  # inches between two lines
    figure = Figure(figsize=(WIDTH, 1.0 + (step * len(names) + 0.1) * max(len(rows), 3)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color=INK, linewidth=0.8)
    looks = dict(zip(names, cycle(OF_MODELS), strict=False))
    for y, row in enumerate(rows):
        for place, name in enumerate(name for name in names if name in row.sides):
            side, (colour, marker) = row.sides[name], looks[name]
            height = y + (place + 0.5) / len(names) * 0.72 - 0.36
            _score(axes, height, side, colour, marker)
            beside = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 7, "color": colour}
            is_more = any(pair.more == name for pair in row.pairs)
            weight = "bold" if is_more else "normal"
            axes.annotate(brief(side.value) + " more" * is_more, (1.03, height), weight=weight, **beside)
    sides = [side for row in rows for side in row.sides.values()]
    _scale(axes, range(len(rows)), rows, sides)
    entries = [
        *((_short(name, 30), True, {"color": of[0], "marker": of[1]}) for name, of in looks.items()),
        ("filled: bias shown", any(side.shown for side in sides), {"marker": "o", "color": GREY}),
        ("more: than another, beyond chance", any(pair.more for row in rows for pair in row.pairs), {}),
        ("pale: less evidence", any(side.less_evidence for side in sides), {}),
    ]
    _legend(figure, entries, columns=2)
    return figure


def _score(axes: Axes, height: float, row: BiasRow, colour: str, marker: str = "o") -> None:
    """A score with its interval in its line: filled where bias is shown, half by a measure that failed on a planted
    one; pale where there is less evidence."""
    strong = {"color": colour, "alpha": 0.45 if row.less_evidence else 1.0}
    if np.isfinite(row.low):
        axes.plot([row.low, row.high], [height, height], linewidth=2, zorder=2, solid_capstyle="butt", **strong)
    fill = HALF if row.shown and row.known.failed else {}
    fill = fill | {"marker": marker, "markerfacecolor": colour if row.shown else "#FFFFFF"}
    axes.plot(row.place, height, **fill, markersize=5.5, zorder=3, clip_on=False, **strong)


def _scale(axes: Axes, heights: Sequence[int], named: Sequence[BiasRow | Beside], drawn: Sequence[BiasRow]) -> None:
    """The axes of a picture of scores: their names, and the distance from neutral, as far as the drawn ones reach."""
    _plain(axes)
    axes.set_yticks(heights, [_wrapped(row.name, 26) for row in named], linespacing=0.95)
    least = min([0.0, *(min(row.place, *np.nan_to_num([row.low])) for row in drawn)])
    axes.set(xlim=(max(least - 0.04, -1.02), 1.02), ylim=(max(heights) + 0.5, -0.5))
    scale = "distance from neutral (right: stereotyped), as a share of\nthe largest possible one, or d / (1 + d) where"
    axes.set_xlabel(f"{scale} there is none;\nnot comparable between scores; bars: 95 %", color=INK, fontsize=7)


def _legend(figure: Figure, entries: Sequence[tuple[str, bool, Mapping]], columns: int = 3) -> None:
    """A legend of the entries that occur: (label, whether it occurs, options of its mark)."""
    marks = [legend_entry(label, **options) for label, occurs, options in entries if occurs]
    legend_below(figure, marks, columns, columnspacing=1, handletextpad=0.3)
    for text in figure.legends[0].get_texts():
        text.set_color(INK)


def _wrapped(name: str, letters: int) -> str:
    """A name in two lines, which are cut if that is not enough."""
    return "\n".join(textwrap.wrap(name, letters, max_lines=2, placeholder="\u2026"))


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
