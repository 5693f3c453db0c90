"""The targets of the judgement of the measures, by the names of paper.yaml: the measures by planted bias, whether a
head that shows none has not learnt it, and what the tables come to. It needs the scores of encoders and trained models
whose biases are known, and what the untouched encoders' next-sentence head says of single triples."""

from functools import lru_cache
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import logit

from biasflow.base.errors import BiasflowError
from biasflow.encoders.configured import PLANTED
from biasflow.metrics.log_odds import agreement
from biasflow.metrics.stereoset import ANTI, STEREOTYPE
from biasflow.papers.frames import Run
from biasflow.planted.stereoset import ideal_preference
from biasflow.planted.world import load_world
from biasflow.registry import COST, INSIDE, OUTSIDE
from biasflow.results import figures as draw
from biasflow.results.scores import NONE
from biasflow.results.tables import arranged
from biasflow.studies.judge import LEVEL, between_models, judge, permutation_p
from biasflow.studies.planted import designs
from biasflow.studies.planted.designs import BACK, FOLLOWS, INTERACTION, PRETRAINING, TASK
from biasflow.studies.planted.plan import calibration_name, ends
from biasflow.studies.planted.values import SEEN, measured

MASKED = "masked word: slope of the log-odds"
NEXT, PROBABILITY = "next sentence: log-odds", "next sentence: probability"


def read_directly(run: Run) -> pd.DataFrame:
    """Return what the two heads have learnt by planted bias: a row per quantity, stimuli and bias.

    Of the masked-LM head the slope of its she-he log-odds on the shares of women; of the next-sentence head how much it
    prefers the stereotypical sentence of a triple (`preference`) in log-odds (nats), and in probability, which is half
    the Strength of all triples; on the triples of the measure, which no pre-training has, and on triples of
    combinations that pre-training has. Columns: quantity, stimuli, bias, mean, sd, ideal (what a perfect learner of
    that corpus would show; NaN for probabilities, which depend on all else that the head knows), learnt (mean / ideal),
    p (exact one-sided permutation test against the smallest bias)."""
    values = measured(run)
    values = values[(values["measure"] == "log-odds slope") & (values["method"] == NONE)]
    masked = values[["bias", "value"]].assign(quantity=MASKED, stimuli="as in pre-training")
    rows, lowest = [], min(run.options["bias"])
    values = pd.concat([masked, _next_sentence(run)], ignore_index=True)
    for (quantity, stimuli), block in values.groupby(["quantity", "stimuli"], sort=False)[["bias", "value"]]:
        groups = block.groupby("bias")["value"]
        for bias, group in groups:
            mean, ideal = group.mean(), _IDEAL[quantity](bias)
            row = {"quantity": quantity, "stimuli": stimuli, "bias": bias, "mean": mean, "sd": group.std()}
            row |= {"ideal": ideal, "learnt": mean / ideal if ideal else np.nan}
            p = permutation_p(groups.get_group(lowest).to_numpy(), group.to_numpy()) if bias > lowest else np.nan
            rows.append(row | {"p": p})
    return pd.DataFrame(rows)


def preference(table: pd.DataFrame) -> dict[str, float]:
    """How much the next-sentence head prefers stereotypes, from a readout of triples (columns triple, label, swapped,
    p): the mean over triples, originals and swapped copies, of stereotype less anti-stereotype, by quantity.

    In log-odds: log p / (1 - p), p(next sentence)."""
    wide = table.pivot(index=["triple", "swapped"], columns="label", values="p")
    turn = np.where(wide.index.get_level_values("swapped"), -1, 1)  # a swap turns the labels
    p = wide[[STEREOTYPE, ANTI]].to_numpy().clip(1e-15, 1 - 1e-15)
    return {
        NEXT: float((turn * (logit(p[:, 0]) - logit(p[:, 1]))).mean()),
        PROBABILITY: float((turn * (p[:, 0] - p[:, 1])).mean()),
    }


def ideal_slope(bias: float) -> float:
    """The slope of a head whose she-he log-odds are those of the corpus, logit(share of women at this bias), on
    logit(share of women at full bias): 1 at bias 1, 0 at bias 0."""
    world = load_world()
    shares = [world.shares[name] for name in world.occupations]
    return agreement(logit([world.share(name, bias) for name in world.occupations]), shares).slope


_IDEAL = {MASKED: ideal_slope, NEXT: ideal_preference, PROBABILITY: lambda bias: np.nan}


def _next_sentence(run: Run) -> pd.DataFrame:
    rows, files = [], run.files["next_sentence"]
    sets = ((PLANTED, "held out"), (SEEN, "as in pre-training"))
    for (stimuli, name), bias, seed in product(sets, run.options["bias"], run.options["seeds"]):
        key = f"{calibration_name(bias, seed)}/{stimuli}"
        if key not in files:
            raise BiasflowError(f"{key}: not read; name {stimuli} in metrics.strength.stimuli")
        table = pd.read_parquet(files[key])
        preferences = preference(table[table["method"] == NONE])
        rows += [(quantity, name, bias, value) for quantity, value in preferences.items()]
    return pd.DataFrame(rows, columns=["quantity", "stimuli", "bias", "value"])


COLOURS = {INSIDE: draw.BLUE, OUTSIDE: draw.VERMILION, COST: draw.GREY}
MARKERS = {INSIDE: "o", OUTSIDE: "s", COST: "D"}
PARTS = {PRETRAINING: draw.BLUE, TASK: draw.VERMILION, INTERACTION: draw.PURPLE, "residual": draw.LIGHT_GREY}


def by_dose(run: Run) -> pd.DataFrame:
    """The untouched models whose task has the same bias as their encoder, and the encoders themselves."""
    values = _of_one_bias(run)
    return values[values["method"] == NONE]


def _of_one_bias(run: Run) -> pd.DataFrame:
    """The values of encoders, and of models whose task has the same bias as their encoder, under all methods."""
    values = measured(run)
    return values[values["task_bias"].isna() | (values["task_bias"] == values["bias"])]


@lru_cache(maxsize=1)  # tables and figures are made of the same
def calibration(run: Run) -> pd.DataFrame:
    """Return for each measure its values on models of known bias, and whether it follows the bias."""
    return judge(by_dose(run), between_models)


@lru_cache(maxsize=1)
def two_by_two(run: Run) -> pd.DataFrame:
    """Return for each measure of trained models which bias it follows: of the pre-training, or of the task."""
    values, both = measured(run), ends(run.options)
    corners = values["bias"].isin(both) & values["task_bias"].isin(both)  # without and with the whole bias
    return designs.two_by_two(values[corners & (values["method"] == NONE)])


@lru_cache(maxsize=1)
def erased(run: Run) -> pd.DataFrame:
    """Compare models whose bias was erased with models that never had one."""
    values = _of_one_bias(run)
    return designs.erased(values[values["bias"].isin(ends(run.options))])


@draw.style()
def draw_calibration(run: Run) -> Figure:
    """A measure's value against the planted bias: a panel per measure; points are seeds, the line joins the means."""
    frame = by_dose(run).dropna(subset="value")
    measures = list(frame.groupby("measure", sort=False))
    figure, panels = draw.titled_panels([measure for measure, _ in measures], sharex=True)
    for axes, (_, values) in zip(panels, measures, strict=True):
        colour, means = COLOURS[values["group"].iloc[0]], values.groupby("bias")["value"].mean()
        axes.plot(means.index, means, color=colour, linewidth=1.5)
        draw.points(axes, values["bias"], values["value"], colour, "o", faces="white", s=14)
        axes.set_xticks(sorted(frame["bias"].unique()))
        axes.tick_params(labelbottom=True)
    figure.supxlabel("planted bias (0 none, 1 full)", fontsize=8)
    figure.supylabel("value (points: seeds, line: mean)", fontsize=8)
    return figure


@draw.style()
def draw_validity(run: Run) -> Figure:
    """Left: rank correlation of every measure with the planted bias, with its interval. Right: of the measures of
    trained models the shares of variance by where the bias was planted."""
    table, followed = calibration(run).dropna(subset="spearman"), two_by_two(run)
    height = 0.155 * max(len(table), len(followed)) + 1.0
    figure, grid = draw.panels(1, 2 if len(followed) else 1, (9.2, height))
    _draw_correlations(grid[0, 0], table)
    entries = [draw.legend_entry(group, color=COLOURS[group], marker=MARKERS[group]) for group in COLOURS]
    if len(followed):
        _draw_shares(grid[0, 1], followed)
        entries += [draw.legend_entry(name, color=colour, marker="s") for name, colour in PARTS.items()]
    draw.legend_below(figure, entries, columns=len(entries))
    return figure


def _draw_correlations(axes: Axes, table: pd.DataFrame) -> None:
    table = _by_group(table, "spearman")
    for place, row in enumerate(table.itertuples()):
        colour = COLOURS[row.group]
        axes.plot([row.low, row.high], [place, place], color=colour, linewidth=1.2)
        axes.plot(row.spearman, place, color=colour, marker=MARKERS[row.group], markersize=3.5)
        if np.isfinite(row.smallest_dose) and row.group != COST:
            axes.text(1.08, place, f"{row.smallest_dose:g}", fontsize=6, va="center")
    axes.axvline(0, color=draw.GREY, linewidth=0.6)
    draw.name_lines(axes, table["measure"])
    draw.light_grid(axes, "x")
    axes.set_xlim(-1.05, 1.2)
    axes.set_xlabel("rank correlation with the planted bias\n(right: smallest dose that differs from none)")


def _draw_shares(axes: Axes, table: pd.DataFrame) -> None:
    table = _by_group(table.dropna(subset="eta_task"), "eta_pretraining")
    widths = table[[f"eta_{part}" for part in PARTS]].to_numpy().T
    for width, end, colour in zip(widths, widths.cumsum(axis=0), PARTS.values(), strict=True):
        axes.barh(range(len(table)), width, left=end - width, color=colour, height=0.75)
    draw.name_lines(axes, table["measure"])
    draw.light_grid(axes, "x")
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of variance by\nwhere the bias was planted")


def _by_group(table: pd.DataFrame, value: str) -> pd.DataFrame:
    """Group by group in the order of COLOURS, the largest value first."""
    return arranged(table.sort_values(value, ascending=False, kind="stable"), group=COLOURS)


HALF = 0.5  # a share of the variance


def findings(run: Run) -> pd.DataFrame:
    """Count the findings of the other tables: table, finding, k of n cases, and cases: which they are."""
    rows = []

    def count(table: str, finding: str, cases: pd.DataFrame, chosen: pd.Series) -> None:
        names = cases.loc[chosen, "measure"]
        rows.append((table, finding, len(names), len(cases), "; ".join(names)))

    doses = calibration(run)
    for group, measures in doses.dropna(subset="q").groupby("group", sort=False):
        finding = f"{group}: the rank correlation with the planted bias has q <= 0.05"
        count("calibration", finding, measures, measures["q"] <= LEVEL)
        if group != COST:
            smallest = measures["smallest_dose"]
            for dose in sorted(smallest.dropna().unique()):
                finding = f"{group}: {dose:g} is the smallest bias that differs from none"
                count("calibration", finding, measures, smallest == dose)
            count("calibration", f"{group}: not even the full bias differs from none", measures, smallest.isna())
    judged = doses[(doses["group"] != COST) & doses["share_dose"].notna()]
    finding = "less than half of the variance is the planted bias's"
    count("calibration", finding, judged, judged["share_dose"] < HALF)
    effects = two_by_two(run).reindex(columns=["measure", "group", "follows"])
    for group, measures in effects[effects["follows"].isin(FOLLOWS.values())].groupby("group", sort=False):
        for follows in FOLLOWS.values():
            finding = f"{group}: of pre-training and task it follows {follows}"
            count("two_by_two", finding, measures, measures["follows"] == follows)
    closed = erased(run).reindex(columns=["measure", "method", "closed", "verdict", "p"]).dropna(subset="closed")
    for method, measures in closed.groupby("method", sort=False):
        for verdict in sorted(measures["verdict"].unique()):
            count("erased", f"{method}: {verdict}", measures, measures["verdict"] == verdict)
        finding = f"{method}: {BACK} by the interval, but differs from it (p <= 0.05)"
        count("erased", finding, measures, (measures["verdict"] == BACK) & (measures["p"] <= LEVEL))
    read = read_directly(run)
    learnt = read["learnt"].map(" (learnt {:.2f})".format).where(read["learnt"].notna(), "")
    read = read.assign(measure=read["bias"].map("{:g}".format) + learnt).dropna(subset="p")
    for (quantity, stimuli), heads in read.groupby(["quantity", "stimuli"], sort=False):
        count("reading", f"{quantity}, {stimuli}: doses that differ from none", heads, heads["p"] <= LEVEL)
    return pd.DataFrame(rows, columns=["table", "finding", "k", "n", "cases"])
