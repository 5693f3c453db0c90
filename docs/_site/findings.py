"""The tables and the figure of docs/findings that come from stored results of runs (data/cards of the package).

    python docs/_site/findings.py    writes them (part of `make cards`)

A page marks each table by a line such as <!-- table: inside -->; the lines of the table that follow it are replaced."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from reference import ROOT, markdown_table

from biasflow.overview.calibrated import follows, smallest_dose, stored
from biasflow.papers.calibrated.figures import draw_followed
from biasflow.registry import COST, INSIDE
from biasflow.results import figures as draw

FOLDER = ROOT / "docs/findings"
FIGURE = FOLDER / "calibrated.svg"
MARKED = re.compile(r"(?<=<!-- table: )([\w-]+)( -->\n\n)(?:\|.*\n)*")
MEAN, SD = "mean_", "sd_"
METHODS = {"densray": "DensRay", "hard": "hard", "leace": "LEACE", "densray-random0": "random"}


def pages() -> dict[Path, str]:
    """The text of every page that marks a table, with the tables of today's stored results."""
    texts = {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    return {path: MARKED.sub(_replaced, text) for path, text in texts.items() if MARKED.search(text)}


def figure() -> str:
    """The SVG of the figure of the calibrations: which measures follow a planted dose in which encoder."""
    svg, tables = io.StringIO(), dict(iter(stored("calibration").groupby("encoder", sort=False)))
    drawn = draw_followed(tables)
    with draw.style():
        drawn.savefig(svg, format="svg", metadata={"Date": None})
    return svg.getvalue()


def _replaced(marked: re.Match) -> str:
    name, encoder = marked[1], marked[1].removeprefix("calibration-")
    table = _real(encoder) if encoder != name else TABLES[name]()
    return f"{name}{marked[2]}{table}"


def _doses(trained: bool) -> str:
    """The measures by planted dose: of models that are trained on a task, or of the encoders themselves."""
    rows = stored("planted_calibration")
    rows = rows.assign(smallest_dose=smallest_dose(rows))
    of_tasks = rows["measure"].isin(stored("planted_two_by_two")["measure"])
    doses = [column.removeprefix(MEAN) for column in rows if column.startswith(MEAN)]
    rows = rows[of_tasks == trained]
    doses = [dose for dose in doses if rows[MEAN + dose].notna().any()]
    header = ["trained models" if trained else "inside the encoder", *(dose.removeprefix("bias_") for dose in doses)]
    table = [
        (
            row["measure"],
            *(_mean(row, dose, sd=dose in (doses[0], doses[-1])) for dose in doses),
            f"{_two(row['spearman'])}{_interval(row['low'], row['high'])}",
            _smallest(row),
            _shares(row),
        )
        for _, row in rows.iterrows()
    ]
    return markdown_table([*header, "rank correlation", "smallest", "dose / seed / items"], table)


def _sources() -> str:
    """What measures of trained models show, by where the bias is."""
    cells = {
        "neither": "bias in neither",
        "pretraining_only": "bias in pre-training only",
        "task_only": "bias in the task only",
        "both": "bias in both",
    }
    table = [
        (
            row["measure"],
            *(number(row[MEAN + cell]) for cell in cells),
            *(
                number(row[f"{effect}_effect"]) + _interval(row[f"{effect}_low"], row[f"{effect}_high"])
                for effect in ("pretraining", "task")
            ),
            row["follows"],
        )
        for _, row in stored("planted_two_by_two").iterrows()
    ]
    return markdown_table(
        ["measure", *cells.values(), "effect of pre-training", "effect of the task", "follows"], table
    )


def _erased() -> str:
    """Which share of the planted bias each method undoes, for the measures that detect the bias."""
    rows = stored("planted_erased").dropna(subset="closed")
    methods = list(rows["method"].unique())
    table = []
    for measure, of in rows.groupby("measure", sort=False):
        by_method = of.set_index("method")
        shares = [_closed(by_method.loc[name]) if name in by_method.index else "–" for name in methods]
        table.append((measure, number(of["never"].iloc[0]), number(of["present"].iloc[0]), *shares))
    shares = (f"{METHODS[name]}: share undone" for name in methods)
    return markdown_table(["measure", "without bias", "with bias", *shares], table)


def _closed(row: pd.Series) -> str:
    return number(row["closed"]) + _interval(row["low"], row["high"])


def _heads() -> str:
    """What the two heads of the encoders have learnt of the bias, by dose."""
    rows = stored("planted_reading")
    masked = rows[rows["quantity"].str.startswith("masked word")].set_index("bias")
    following = rows[rows["quantity"] == "next sentence: log-odds"]
    new, seen = (
        following[following["stimuli"] == name].set_index("bias") for name in ("held out", "as in pre-training")
    )
    table = [
        (
            f"{dose:g}",
            f"{_small(masked.loc[dose, 'mean'])} ({_small(masked.loc[dose, 'sd'])})",
            number(masked.loc[dose, "ideal"]),
            f"{_small(new.loc[dose, 'mean'])} ({_small(new.loc[dose, 'sd'])})",
            number(new.loc[dose, "ideal"]),
            _small(seen.loc[dose, "mean"]),
        )
        for dose in masked.index
    ]
    header = ["dose", "masked word", "ideal", "next sentence", "ideal", "next sentence, combinations of pre-training"]
    return markdown_table(header, table)


def _held_out() -> str:
    """The measures without bias and with the full bias, in the world of other words."""
    rows, study = stored("held_out_calibration"), stored("planted_calibration").set_index("measure")
    study = study.assign(smallest_dose=smallest_dose(study))
    detected = follows(rows)
    table = []
    for number_of_row, row in rows.iterrows():
        name, cost = row["measure"], row["group"] == COST
        before = "a cost" if cost else _smallest(study.loc[name]) if name in study.index else "not in the study"
        seen = "**yes**" if detected[number_of_row] and not cost else "no"
        ends = (_mean(row, dose, sd=True) for dose in ("bias_0", "bias_1"))
        table.append((name, *ends, f"{row['p_full']:.2g}", f"{row['q']:.2g}", seen, before))
    return markdown_table(["measure", "dose 0", "dose 1", "p", "q", "detects the full bias", "study"], table)


def _real(encoder: str) -> str:
    """The calibration of a real encoder."""
    rows = stored("calibration")
    rows = rows[rows["encoder"] == encoder].dropna(axis=1, how="all")
    doses = sorted((column.removeprefix(MEAN) for column in rows if column.startswith(MEAN)), key=_dose)
    seen = follows(rows)
    table = [
        (
            row["measure"],
            row["occupations"],
            number(row["before"]),
            *(_mean(row, dose, sd=True) for dose in doses),
            number(row["slope"]) + _interval(row["slope_low"], row["slope_high"]),
            f"{_two(row['spearman'])} ({number(row['q'])})" if pd.notna(row["spearman"]) else "–",
            _shares(row),
            ("**yes**" if row["group"] == INSIDE else "changes") if seen[number_of_row] else "no",
        )
        for number_of_row, row in rows.iterrows()
    ]
    header = ["measure", "occupations", "before", *(f"{_dose(dose):g}" for dose in doses), "slope"]
    return markdown_table([*header, "rank correlation (q)", "dose / seed / items", "follows"], table)


def _dose(column: str) -> float:
    return float(column.removeprefix("dose_"))


TABLES: dict[str, Callable[[], str]] = {
    "inside": lambda: _doses(trained=False),
    "trained": lambda: _doses(trained=True),
    "sources": _sources,
    "erased": _erased,
    "heads": _heads,
    "held-out": _held_out,
}


def number(value: float) -> str:
    """A number as the pages write it: two decimals, more of a small one, fewer of a large one."""
    if pd.isna(value):
        return "–"
    for least, decimals in ((100, 0), (10, 1), (0.1, 2), (0.01, 3), (0.00005, 4)):
        if abs(value) >= least:
            return f"{value:.{decimals}f}"
    return "0"


def _small(value: float) -> str:
    return f"{round(value, 3) + 0:.3f}" if abs(value) < 0.01 else f"{value:.2f}"


def _two(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.2f}"


def _mean(row: pd.Series, dose: str, *, sd: bool) -> str:
    spread = row.get(SD + dose)
    return number(row[MEAN + dose]) + (f" ({number(spread)})" if sd and pd.notna(spread) else "")


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) else f" [{number(low)}, {number(high)}]"


def _smallest(row: pd.Series) -> str:
    return "no dose" if pd.isna(row["smallest_dose"]) else f"{row['smallest_dose']:g}"


def _shares(row: pd.Series) -> str:
    return " / ".join(_two(row[f"share_{part}"]) for part in ("dose", "seed", "items"))


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    FIGURE.write_text(figure(), encoding="utf-8")
