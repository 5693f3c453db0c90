"""The tables and the figures of docs/findings that come from stored results of runs (data/cards of the package).

    python docs/_site/findings.py    writes them (part of `make cards`)

A page marks each table by a line such as <!-- table: inside -->; the lines of the table that follow it are replaced."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from reference import ROOT, markdown_table

from biasflow.overview.calibrated import LABELS, follows, smallest_dose, stored
from biasflow.papers.calibrated.figures import draw_followed
from biasflow.registry import METRICS
from biasflow.results import figures as draw

FOLDER = ROOT / "docs/findings"
MEASURES = {name: measure for entry in METRICS.values() for name, measure in entry.measures.items()}
MARKED = re.compile(r"(?<=<!-- table: )([\w-]+)( -->\n\n)(?:\|.*\n)*")


def pages() -> dict[Path, str]:
    """The text of every page that marks a table, with the tables of today's stored results."""
    texts = {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    return {
        path: MARKED.sub(lambda marked: f"{marked[1]}{marked[2]}{TABLES[marked[1]]()}", text)
        for path, text in texts.items()
        if MARKED.search(text)
    }


def figures() -> dict[Path, str]:
    """The SVG of every figure of today's stored results."""
    drawn = {
        "calibrated": draw_followed(dict(iter(stored("calibration").groupby("encoder", sort=False)))),
        "published": _draw_published(),
    }
    return {FOLDER / f"{name}.svg": _svg(figure) for name, figure in drawn.items()}


def _svg(figure: Figure) -> str:
    svg = io.StringIO()
    with draw.style():
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return svg.getvalue()


@draw.style()
def _draw_published() -> Figure:
    """Published models by their scores, a panel for each measure with a line at its neutral value."""
    groups = _by_measure()
    heights = [len(rows) + 1 for rows in groups.values()]
    figure = Figure(figsize=(6.4, 0.19 * sum(heights) + 1), layout="constrained")
    panels = figure.subplots(len(groups), 1, height_ratios=heights)
    for axes, (card, rows) in zip(panels, groups.items(), strict=True):
        axes.axvline(MEASURES[card].neutral, color=draw.BLACK, linewidth=0.8)
        axes.plot(rows["value"], rows["encoder"], "o", color=draw.BLUE, markersize=4)
        axes.set_title(LABELS[card], loc="left")
        axes.margins(0.08, 0.6 / len(rows))
        draw.light_grid(axes, "x")
    return figure


def _published() -> str:
    """The scores of published models, from the lowest to the highest."""
    table = [
        (
            LABELS[card],
            f"{MEASURES[card].neutral:g}",
            ", ".join(f"{row.encoder} {row.value:.2f}" for row in rows.itertuples()),
        )
        for card, rows in _by_measure().items()
    ]
    return markdown_table(["measure", "neutral", "models"], table)


def _by_measure() -> dict[str, pd.DataFrame]:
    rows = stored("published").sort_values("value")
    return dict(iter(rows.groupby("card", sort=False)))


def _inside() -> str:
    """What follows the bias that was planted in the pre-training text, in encoders as they are."""
    held_out = stored("held_out_calibration")
    detects = dict(zip(held_out["measure"], follows(held_out).map({True: "yes", False: "no"}), strict=True))
    undone = _undone()
    table = [
        (*_followed(row), detects.get(name, "–"), *(undone.get((name, method), "–") for method in ("densray", "leace")))
        for name, row in _study(trained=False).iterrows()
    ]
    header = ["measure", "rank correlation", "smallest dose", "other words", "DensRay undoes", "LEACE undoes"]
    return markdown_table(header, table)


def _trained() -> str:
    """What follows which of the two planted biases, in models that are trained on a task."""
    sources, undone = stored("planted_two_by_two").set_index("measure"), _undone()
    table = [
        (
            *_followed(row),
            *(
                number(sources.loc[name, f"{effect}_effect"])
                + _interval(*(sources.loc[name, f"{effect}_{end}"] for end in ("low", "high")))
                for effect in ("pretraining", "task")
            ),
            undone.get((name, "densray"), "–"),
        )
        for name, row in _study(trained=True).iterrows()
    ]
    effects = ["effect of pre-training", "effect of the task"]
    return markdown_table(["measure", "rank correlation", "smallest dose", *effects, "DensRay undoes"], table)


def _study(*, trained: bool) -> pd.DataFrame:
    """The measures by planted dose, by their name: of models that are trained on a task, or of encoders as they are."""
    rows = stored("planted_calibration")
    rows = rows.assign(smallest_dose=smallest_dose(rows))
    return rows[rows["measure"].isin(stored("planted_two_by_two")["measure"]) == trained].set_index("measure")


def _followed(row: pd.Series) -> tuple[str, str, str]:
    smallest = "no dose" if pd.isna(row["smallest_dose"]) else f"{row['smallest_dose']:g}"
    spearman = "–" if pd.isna(row["spearman"]) else f"{row['spearman']:.2f}"
    return str(row.name), spearman + _interval(row["low"], row["high"]), smallest


def _undone() -> dict[tuple[str, str], str]:
    """(Measure, method) -> the share of the planted bias that the method undoes."""
    rows = stored("planted_erased").dropna(subset="closed")
    shares = [number(row.closed) + _interval(row.low, row.high) for row in rows.itertuples()]
    return dict(zip(zip(rows["measure"], rows["method"], strict=True), shares, strict=True))


TABLES: dict[str, Callable[[], str]] = {"inside": _inside, "trained": _trained, "published": _published}


def number(value: float) -> str:
    """A number as the pages write it: two decimals, more of a small one, fewer of a large one."""
    if pd.isna(value):
        return "–"
    for least, decimals in ((100, 0), (10, 1), (0.1, 2), (0.01, 3), (0.00005, 4)):
        if abs(value) >= least:
            return f"{value:.{decimals}f}"
    return "0"


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) else f" [{number(low)}, {number(high)}]"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    for path, svg in figures().items():
        path.write_text(svg, encoding="utf-8")
