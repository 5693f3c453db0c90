"""The targets of the judgement of the measures, by the names of paper.yaml: the measures by planted bias, whether a
head that shows none has not learnt it, and what the tables come to. It needs the scores of encoders and trained models
whose biases are known, and what the untouched encoders' next-sentence head says of single triples."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import logit

from biasflow.base.errors import BiasflowError
from biasflow.encoders.configured import PLANTED
from biasflow.metrics.log_odds import agreement
from biasflow.metrics.stereoset import ANTI, STEREOTYPE
from biasflow.papers.derived import calibration_name
from biasflow.papers.frames import Run
from biasflow.papers.judge import LEVEL, between_models, judge, permutation_p
from biasflow.papers.planted import designs
from biasflow.papers.planted.blocks import ends
from biasflow.papers.planted.designs import BACK, FOLLOWS, INTERACTION, PRETRAINING, TASK
from biasflow.papers.planted.values import SEEN, measured
from biasflow.planted.stereoset import ideal_preference
from biasflow.planted.world import load_world
from biasflow.registry import COST, INSIDE, OUTSIDE
from biasflow.results import figures as draw
from biasflow.results.scores import NONE
from biasflow.results.tables import arranged

MASKED, NEXT, PROBABILITY = (
    "masked word: slope of the log-odds",
    "next sentence: log-odds",
    "next sentence: probability",
)


def read_directly(run: Run) -> pd.DataFrame:
    """Return what the two heads have learnt by planted bias: a row per quantity, stimuli and bias.

    Of the masked-LM head the slope of its she-he log-odds on the shares of women; of the next-sentence head how much it
    prefers the stereotypical sentence of a triple (`preference`) in log-odds (nats), and in probability, which is half
    the Strength of all triples; on the triples of the measure, which no pre-training has, and on triples of
    combinations that pre-training has. Columns: quantity, stimuli, bias, mean, sd, ideal (what a perfect learner of
    that corpus would show; NaN for probabilities, which depend on all else that the head knows), learnt (mean / ideal),
    p (exact one-sided permutation test against the smallest bias)."""
    values = pd.concat([_masked(run), _next_sentence(run)], ignore_index=True)
    rows, lowest = [], min(run.options["bias"])
    for (quantity, stimuli), block in values.groupby(["quantity", "stimuli"], sort=False):
        groups = {bias: group["value"].to_numpy() for bias, group in block.groupby("bias")}
        for bias, group in groups.items():
            ideal = _IDEAL[quantity](bias)
            row = {"quantity": quantity, "stimuli": stimuli, "bias": bias, "mean": group.mean()}
            row |= {"sd": group.std(ddof=1) if len(group) > 1 else np.nan, "ideal": ideal}
            row |= {"learnt": group.mean() / ideal if ideal else np.nan}
            rows.append(row | {"p": permutation_p(groups[lowest], group) if bias > lowest else np.nan})
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


def _masked(run: Run) -> pd.DataFrame:
    values = measured(run)
    values = values[(values["measure"] == "log-odds slope") & (values["method"] == NONE)]
    return values[["bias", "value"]].assign(quantity=MASKED, stimuli="as in pre-training")


def _next_sentence(run: Run) -> pd.DataFrame:
    rows, files = [], run.files["next_sentence"]
    for stimuli, name in ((PLANTED, "held out"), (SEEN, "as in pre-training")):
        for bias in run.options["bias"]:
            for seed in run.options["seeds"]:
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
    values = measured(run)
    same = values["task_bias"].isna() | (values["task_bias"] == values["bias"])
    return values[same & (values["method"] == NONE)]


@lru_cache(maxsize=1)  # tables and figures are made of the same
def calibration(run: Run) -> pd.DataFrame:
    """Return for each measure its values on models of known bias, and whether it follows the bias."""
    return judge(by_dose(run), between_models)


@lru_cache(maxsize=1)
def two_by_two(run: Run) -> pd.DataFrame:
    """Return for each measure of trained models which bias it follows: of the pre-training, or of the task."""
    return designs.two_by_two(_corners(run))


@lru_cache(maxsize=1)
def erased(run: Run) -> pd.DataFrame:
    """Compare models whose bias was erased with models that never had one."""
    values = measured(run)
    wanted = values["task_bias"].isna() | (values["task_bias"] == values["bias"])
    return designs.erased(values[wanted & values["bias"].isin(ends(run.options))])


def _corners(run: Run) -> pd.DataFrame:
    """The untouched trained models without and with the whole bias, in pre-training and task."""
    values, both = measured(run), ends(run.options)
    return values[values["bias"].isin(both) & values["task_bias"].isin(both) & (values["method"] == NONE)]


@draw.style()
def draw_calibration(run: Run) -> Figure:
    """A measure's value against the planted bias: a panel per measure; points are seeds, the line joins the means."""
    frame = by_dose(run).dropna(subset="value")
    measures = list(frame.groupby("measure", sort=False))
    figure, panels = draw.titled_panels([measure for measure, _ in measures], sharex=True)
    for axes, (_, values) in zip(panels, measures, strict=True):
        colour, means = COLOURS[values["group"].iloc[0]], values.groupby("bias")["value"].mean()
        axes.plot(means.index, means, color=colour, linewidth=1.5)
        axes.scatter(values["bias"], values["value"], s=14, facecolors="white", edgecolors=colour, zorder=3)
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
    left = np.zeros(len(table))
    for part, colour in PARTS.items():
        widths = table[f"eta_{part}"].to_numpy()
        axes.barh(range(len(table)), widths, left=left, color=colour, height=0.75)
        left = left + widths
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
    rows = [
        *_of_doses(calibration(run)),
        *_of_noise(calibration(run)),
        *_of_effects(two_by_two(run)),
        *_of_erasing(erased(run)),
        *_read(read_directly(run)),
    ]
    table = pd.DataFrame(rows, columns=["table", "finding", "n", "cases"])
    table.insert(2, "k", table["cases"].map(len))
    return table.assign(cases=table["cases"].map("; ".join))


def _of_doses(table: pd.DataFrame) -> Iterator[tuple]:
    for group, measures in table.dropna(subset="q").groupby("group", sort=False):
        follow = measures[measures["q"] <= LEVEL]
        yield (
            "calibration",
            f"{group}: the rank correlation with the planted bias has q <= 0.05",
            len(measures),
            follow["measure"],
        )
        if group == COST:
            continue
        for dose, first in measures.groupby("smallest_dose"):
            yield (
                "calibration",
                f"{group}: {dose:g} is the smallest bias that differs from none",
                len(measures),
                first["measure"],
            )
        never = measures.loc[measures["smallest_dose"].isna(), "measure"]
        yield "calibration", f"{group}: not even the full bias differs from none", len(measures), never


def _of_noise(table: pd.DataFrame) -> Iterator[tuple]:
    judged = table[(table["group"] != COST) & table["share_dose"].notna()]
    noisy = judged.loc[judged["share_dose"] < HALF, "measure"]
    yield "calibration", "less than half of the variance is the planted bias's", len(judged), noisy


def _of_effects(table: pd.DataFrame) -> Iterator[tuple]:
    known = table[table["follows"].isin(FOLLOWS.values())] if len(table) else table
    for group, measures in known.groupby("group", sort=False) if len(known) else ():
        for follows in FOLLOWS.values():
            finding = f"{group}: of pre-training and task it follows {follows}"
            yield "two_by_two", finding, len(measures), measures.loc[measures["follows"] == follows, "measure"]


def _of_erasing(table: pd.DataFrame) -> Iterator[tuple]:
    for method, measures in table.dropna(subset="closed").groupby("method", sort=False) if len(table) else ():
        for verdict, cases in measures.groupby("verdict"):
            yield "erased", f"{method}: {verdict}", len(measures), cases["measure"]
        differs = measures.loc[(measures["verdict"] == BACK) & (measures["p"] <= LEVEL), "measure"]
        yield "erased", f"{method}: {BACK} by the interval, but differs from it (p <= 0.05)", len(measures), differs


def _read(table: pd.DataFrame) -> Iterator[tuple]:
    """The doses at which a head differs from one without bias."""
    for (quantity, stimuli), rows in table.groupby(["quantity", "stimuli"], sort=False):
        doses = rows.dropna(subset="p")
        differ = [
            f"{row.bias:g} (learnt {row.learnt:.2f})" if pd.notna(row.learnt) else f"{row.bias:g}"
            for row in doses.itertuples()
            if row.p <= LEVEL
        ]
        yield "reading", f"{quantity}, {stimuli}: doses that differ from none", len(doses), differ
