"""The figures of docs/findings that come from stored results of runs (data/cards of the package).

python docs/_site/findings.py             writes them (part of `make cards`)
python docs/_site/findings.py RUN         stores the scores of published models of a finished run (its folder) of
                                          config/conformance.yaml
python docs/_site/findings.py RUN NAME    stores those of config/probes.yaml on the encoder NAME"""

import io
import sys
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from reference import ROOT

from biasflow.base.tabular import write_csv
from biasflow.overview.calibrated import CARDS, LABELS, stored
from biasflow.registry import METRICS
from biasflow.results import figures as draw
from biasflow.studies.calibrated.targets import draw_followed

FOLDER = ROOT / "docs/findings"
MEASURES = {name: measure for entry in METRICS.values() for name, measure in entry.measures.items()}


def figures() -> dict[Path, str]:
    """The SVG of every figure of today's stored results."""
    drawn = {
        "calibrated": draw_followed(dict(iter(stored("calibration").groupby("encoder", sort=False)))),
        "published": _draw_published(),
        "probes": _draw_probes(),
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
        axes.hlines(rows["encoder"], rows["low"], rows["high"], color=draw.BLUE, linewidth=1)
        axes.plot(rows["value"], rows["encoder"], "o", color=draw.BLUE, markersize=4)
        axes.set_title(LABELS[card], loc="left")
        axes.margins(0.08, 0.6 / len(rows))
        draw.light_grid(axes, "x")
    return figure


# Data of which scores of single items are published -> what stands behind the name of a model on the page.
PUBLISHED = {"gest-paper": "", "bec-pro-english": ""}
PUBLISHED |= {
    f"crows-pairs-gender{of}": said for of, said in [("", ""), ("-english", "revised"), ("-french", "French")]
}
PUBLISHED |= {f"stereoset-{part}": "" for part in ("blanks", "sentences")}
PUBLISHED |= {f"stereoset-{part}-portuguese": "Portuguese" for part in ("blanks", "sentences")}
BEFORE = r"^(gest|bec-pro|crows-pairs|stereoset)(-revised|-french|-portuguese)?-"  # the name of a model


def store_published(run: Path) -> None:
    """Store the scores of published models with their intervals, on the items of gender."""
    scores = pd.read_csv(run / "scores.csv", dtype={"part": str, "variant": str})
    scores = scores[scores["dataset"].isin(PUBLISHED) & ~scores["encoder"].str.contains(r"-after|ensemble|sentiment")]
    keys = [
        (card, MEASURES[card].part, variant)
        for card in stored("published")["card"].unique()
        for variant in (MEASURES[card].variant, *MEASURES[card].or_variants)
    ]
    rows = scores.merge(
        pd.DataFrame(keys, columns=["card", "part", "variant"]).assign(metric=lambda rows: rows["card"])
    )
    notes = rows["dataset"].map(PUBLISHED)
    names = rows["encoder"].str.replace(BEFORE, "", regex=True)
    names = names.mask(rows["card"].str.startswith("bec_pro"), "bert-base-uncased")
    rows = rows.assign(encoder=names.where(notes == "", names + " (" + notes + ")"))
    write_csv(rows[["card", "dataset", "encoder", "value", "low", "high", "n"]], CARDS / "published.csv")
    stored.cache_clear()


PROBES = FOLDER / "probes.csv"
TEXTS, WORDS, NEW_WORDS = KINDS = "texts", "words", "new words"
UNSEEN = "unseen"  # how the variants of probes begin that are tested on words of which they saw no context
FAMILIES = {
    "linear": ("o", "linear"),
    "quadratic": ("s", "quadratic"),
    "rbf": ("^", "kernel"),
    "hidden": ("D", "hidden layer"),
}


def store_probes(run: Path, encoder: str) -> None:
    """Put the probes of a run into the stored ones, in the place of those of the same encoder: the mean over splits of
    the balanced accuracy, with the lowest and the highest; the untouched vectors after LEACE and QLEACE are methods."""
    scores = pd.read_csv(run / "scores.csv", dtype={"variant": str})
    names = scores["metric"].str.extract(r"^(?P<family>linear|quadratic|rbf|hidden)_(?P<word>word_)?probe$")
    scores = scores.join(names)[names["family"].notna() & ~scores["variant"].str.endswith("shuffled")]
    unseen = scores["variant"].str.startswith(UNSEEN)
    variant = scores["variant"].str.removeprefix(UNSEEN).str.removeprefix("-")
    method = scores["method"].mask(variant != "", variant)
    vectors = scores["word"].isna().map({True: TEXTS, False: WORDS}).mask(unseen, NEW_WORDS)
    grouped = scores.assign(method=method, vectors=vectors).groupby(["vectors", "method", "family"], sort=False)
    rows = grouped.agg(
        value=("value", "mean"),
        lowest=("value", "min"),
        highest=("value", "max"),
        splits=("value", "size"),
        n=("n", "mean"),
    )
    known = pd.read_csv(PROBES) if PROBES.is_file() else pd.DataFrame(columns=["encoder"])
    write_csv(pd.concat([known[known["encoder"] != encoder], rows.reset_index().assign(encoder=encoder)]), PROBES)


NAMES = {"none": "untouched", "after-leace": "LEACE of these vectors", "after-qleace": "QLEACE of these vectors"}


def _probed() -> pd.DataFrame:
    """The stored probes, untouched vectors first, with `name`: what was done to the vectors, in words."""
    rows = pd.read_csv(PROBES)
    short = rows["method"].str.replace("-of-bios|-last", "", regex=True)
    names = rows["method"].map(NAMES).fillna(short.str.replace("-random-matched0", ", control"))
    ranks = names.map({name: rank for rank, name in enumerate(NAMES.values())}).fillna(len(NAMES))
    return rows.assign(name=names, rank=ranks).sort_values(["encoder", "vectors", "rank", "name"], ignore_index=True)


@draw.style()
def _draw_probes() -> Figure:
    """What probes of each family find of gender after each eraser, a panel for each encoder and kind of vectors."""
    rows = _probed()
    encoders, names = sorted(set(rows["encoder"])), list(rows.sort_values(["rank", "name"])["name"].unique())
    figure = Figure(figsize=(7.2, 0.17 * len(names) * len(encoders) + 1.2), layout="constrained")
    panels = figure.subplots(len(encoders), len(KINDS), squeeze=False, sharex=True, sharey=True)
    colours = draw.BLUE, draw.VERMILION, draw.GREEN, draw.PURPLE
    for line, encoder in zip(panels, encoders, strict=True):
        for axes, kind in zip(line, KINDS, strict=True):
            own = rows[(rows["encoder"] == encoder) & (rows["vectors"] == kind)]
            axes.axvline(0.5, color=draw.BLACK, linewidth=0.8)
            for colour, (family, (marker, _)) in zip(colours, FAMILIES.items(), strict=True):
                one = own[own["family"] == family]
                places = one["name"].map(names.index)
                axes.plot(one["value"], places, marker, color=colour, markersize=4.5, markerfacecolor="none")
            axes.set_title(f"{encoder}: {kind}", loc="left")
            axes.set_yticks(range(len(names)), names)
            draw.light_grid(axes)
    panels[0][0].invert_yaxis()
    styles = zip(colours, FAMILIES.values(), strict=True)
    legend = [
        draw.legend_entry(label, marker=marker, color=colour, linestyle="", markerfacecolor="none")
        for colour, (marker, label) in styles
    ]
    draw.legend_below(figure, legend)
    return figure


def _by_measure() -> dict[str, pd.DataFrame]:
    rows = stored("published").sort_values("value")
    return dict(iter(rows.groupby("card", sort=False)))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        store_published(Path(sys.argv[1]))
    elif len(sys.argv) > 2:
        store_probes(Path(sys.argv[1]), sys.argv[2])
    for path, svg in figures().items():
        path.write_text(svg, encoding="utf-8")
