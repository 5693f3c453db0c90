"""The measures' values by planted bias, and what is said of them: a table and a figure."""

import textwrap
from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.papers.frames import Run
from scripts.biasflow.papers.planted.blocks import calibrated
from scripts.biasflow.papers.planted.judge import judge
from scripts.biasflow.plan.sources import calibration_task
from scripts.biasflow.results import figures as draw
from scripts.biasflow.results.scores import NA, NONE

PLAIN, OWN = "plain", "own"
# What is judged: name in the table -> metric, part and variant of the untouched encoder's scores.
MEASURES = {
    "Strength": ("strength", "top=10%", NA),
    "Strength, all triples": ("strength", "top=100%", NA),
    "Distance": ("distance", "top=10%", NA),
    "Stereotype Score": ("stereotype_score", NA, "original"),
    "Stereotype Score, both genders": ("stereotype_score", NA, "both"),
    "she-he log-odds: correlation with the planted": ("log_odds_r", NA, NA),
    "she-he log-odds: slope on the planted": ("log_odds_slope", NA, NA),
}
# The same of the models for coreference that these encoders were trained to be.
OF_COREFERENCE = {"F1 difference in coreference": ("f1_difference", "all", NA)}


def measured(run: Run) -> pd.DataFrame:
    """The values to judge: measure, bias, seed, value, by the doses and seeds of the encoders in the run's names.

    BiasflowError names the first encoder that has no value of a measure, or no dose."""
    scores, rows = run.scores, []
    untouched = scores[
        (scores["method"] == NONE) & scores["strategy"].isin([NA, PLAIN]) & scores["head"].isin([NA, OWN])
    ]
    keyed = untouched.set_index(["encoder", "task", "metric", "part", "variant"])["value"].to_dict()
    doses, seeds = (run.attributes("encoder", attribute) for attribute in ("bias", "seed"))
    for measure, key in measures_of(run.options).items():
        for name in calibrated(run.options):
            if name not in doses or name not in seeds:
                raise BiasflowError(f"encoder {name}: names.csv has no bias or no seed of it; run the plan again")
            bias = float(doses[name])
            place = (name, calibration_task(bias) if measure in OF_COREFERENCE else NA, *key)
            if place not in keyed:
                raise BiasflowError(f"encoder {name}: no score {' '.join(key)}; run its rules again")
            rows.append((measure, bias, int(seeds[name]), keyed[place]))
    return pd.DataFrame(rows, columns=["measure", "bias", "seed", "value"])


def measures_of(options: Mapping) -> dict[str, tuple[str, str, str]]:
    """MEASURES, and those of models for coreference where there are such."""
    return MEASURES | (OF_COREFERENCE if options["coreference"] else {})


def calibration(run: Run) -> pd.DataFrame:
    """What each measure says of encoders whose bias is known, and whether it sees it."""
    return judge(measured(run))


@draw.style()
def draw_calibration(run: Run) -> Figure:
    """A measure's value against the planted bias: a panel per measure; points are seeds, the line joins the means."""
    frame = measured(run)
    measures = list(frame.groupby("measure", sort=False))
    columns = min(3, len(measures))
    lines = -(-len(measures) // columns)
    figure, grid = draw.panels(lines, columns, (2.4 * columns + 0.4, 2.1 * lines + 0.5), sharex=True)
    for axes in grid.flat[len(measures) :]:
        axes.remove()
    for axes, (measure, values) in zip(grid.flat, measures, strict=False):
        means = values.groupby("bias")["value"].mean()
        axes.plot(means.index, means, color=draw.BLUE, linewidth=1.5)
        axes.scatter(values["bias"], values["value"], s=14, facecolors="white", edgecolors=draw.BLUE, zorder=3)
        axes.set_title(textwrap.fill(measure, width=28), loc="left")
        axes.set_xticks(sorted(frame["bias"].unique()))
        axes.tick_params(labelbottom=True)
    figure.supxlabel("planted bias (0 none, 1 full)", fontsize=8)
    figure.supylabel("value (points: seeds, line: mean)", fontsize=8)
    return figure
