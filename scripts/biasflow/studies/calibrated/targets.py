"""The targets of the calibration: whether each measure follows the dose, which measures move together, and what was
planted; and figures of the first."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from biasflow.papers.frames import Run
from biasflow.registry import INSIDE
from biasflow.results import figures as draw
from biasflow.results.bootstrap import RESAMPLED, percentiles
from biasflow.results.comparison import with_items
from biasflow.results.evidence import ALL, HELD_OUT, SEES, follows
from biasflow.results.statistics import false_discovery_rates, mean_of_units, t_interval
from biasflow.studies.calibrated.plan import calibrated_encoders
from biasflow.studies.calibrated.values import CONTROL, measured
from biasflow.studies.judge import (
    DOES_NOT,
    SHARES,
    TOO_FEW,
    Values,
    are_enough,
    by_seed,
    judge,
    smallest_dose,
    trend_within_seeds,
    variance_shares,
)


def agreement(run: Run) -> pd.DataFrame:
    """Return `agreement_of` the measures of the calibrated encoders."""
    return agreement_of(measured(run))


def agreement_of(values: pd.DataFrame) -> pd.DataFrame:
    """A row for every two measures of bias: measure_a, measure_b, spearman (the mean over seeds of the rank correlation
    of their values over the doses), its 95 % interval over seeds (Student's: low, high), p of no correlation, and q,
    that p adjusted over all pairs. values: of `values.measured`.

    Interval, p and q are NaN for fewer than six seeds, which are too few for a claim. A seed in which a measure is the
    same at all doses, or is not defined, says nothing. Rows of seen or held-out occupations are left out, but those of
    seen occupations of a measure that has no others."""
    dosed = values[values["bias"].notna() & (values["group"] == INSIDE)]
    of_all = dosed["occupations"] == ALL
    whole = dosed["measure"].isin(dosed.loc[of_all, "measure"].str.split(" (", regex=False).str[0])
    dosed = dosed[of_all | (~whole & (dosed["occupations"] != HELD_OUT))]
    ranks = {measure: _ranks(block) for measure, block in dosed.groupby("measure", sort=False)}
    rows = []
    for a, b in combinations(ranks, 2):
        correlations = (ranks[a] * ranks[b]).dropna().mean(axis=1)
        if len(correlations):
            rows.append((a, b, *mean_of_units(correlations)))
    pairs = pd.DataFrame(rows, columns=["measure_a", "measure_b", "spearman", "low", "high", "p"])
    ends = pairs[["low", "high"]].clip(-1, 1)  # Student's interval knows no bounds
    return pairs.assign(**ends, q=false_discovery_rates(pairs["p"]))


def _ranks(block: pd.DataFrame) -> pd.DataFrame:
    """The ranks of a measure's values within each seed, with mean 0 and variance 1 [seeds, doses]."""
    table = by_seed(block)
    table = table[table.nunique(axis=1) > 1]
    return table.rank(axis=1).apply(stats.zscore, axis=1, result_type="broadcast") if len(table) else table


WHAT = ["measure", "occupations"]
SLOPE = ["slope", "slope_low", "slope_high"]


@lru_cache(maxsize=1)  # the table and a figure are made of the same
def calibration(run: Run) -> pd.DataFrame:
    """A row per measure and set of occupations: its values by dose, and whether and from which dose on it follows."""
    return judged(measured(run))


def judged(values: pd.DataFrame) -> pd.DataFrame:
    """Return `judge` of the values by dose, by what the encoders of a seed, which share text and masks, say together
    (`_within_seeds`).

    before: the value of the encoder without further training. The controls have a q of their own, since they are no
    measures."""
    dosed = values.dropna(subset="bias")
    tables = [judge(part, _within_seeds, by=WHAT) for _, part in dosed.groupby(dosed["group"] != CONTROL)]
    before = values[values["bias"].isna()].set_index(WHAT)["value"].rename("before")
    table = pd.concat(tables, ignore_index=True).join(before, on=WHAT)
    table = table.rename(columns=lambda name: name.replace("_bias_", "_dose_"))
    first = [*WHAT, "group", *SLOPE, "verdict", "smallest_dose", "before"]
    return table[[*first, *(name for name in table if name not in first)]]


def _within_seeds(defined: pd.DataFrame, groups: Values, sign: int) -> dict[str, float | str]:
    """What the seeds say that have a value at every dose, each by itself.

    slope: the mean over them of the least-squares slope of the values on the dose, with a 95 % interval (slope_low,
    slope_high; NaN for fewer than three): Student's over seeds and, where the values have resamples, what the items
    add (`comparison.with_items`), on which all encoders are measured. verdict: whether this interval lies on the side
    of more bias of 0 (of measures of quality: on either side). smallest_dose: the smallest dose above 0 such that it
    and all larger ones differ from dose 0, by Student's interval over seeds. spearman, p: `trend_within_seeds`; SHARES.
    """
    complete = by_seed(defined)
    result = dict.fromkeys([*SLOPE, "smallest_dose", "spearman", "p", "q", *SHARES], np.nan) | {"verdict": TOO_FEW}
    if are_enough(groups, sign):
        result["spearman"], result["p"] = trend_within_seeds(complete.to_numpy(), complete.columns, sign)
        present = [group for group in groups.values() if len(group)]
        result |= variance_shares(present, defined["error"].to_numpy())
    if complete.empty:
        return result
    doses = complete.columns.to_numpy(float) - complete.columns.to_numpy(float).mean()
    changes = complete.sub(complete.iloc[:, 0], axis=0).to_numpy()  # exactly 0 of a constant
    slopes = changes @ doses / (doses**2).sum()
    low, high = with_items(slopes.mean(), t_interval(slopes), _over_items(defined, complete))
    if 0 in complete:
        above = sorted(complete.columns[complete.columns > 0])
        changes_at = complete.sub(complete[0], axis=0)
        result["smallest_dose"] = smallest_dose(above, lambda dose: _is_more(*t_interval(changes_at[dose]), sign))
    if np.isfinite(low):
        result["verdict"] = SEES if _is_more(low, high, sign) else DOES_NOT
    return result | dict(zip(SLOPE, (slopes.mean(), low, high), strict=True))


def _over_items(defined: pd.DataFrame, complete: pd.DataFrame) -> tuple[float, float]:
    """The 95 % interval over items of the mean slope, by resamples that are alike in all encoders; NaN without them."""
    rows = defined[defined["seed"].isin(complete.index) & defined["bias"].isin(complete.columns)]
    drawn = rows.get(RESAMPLED, pd.Series(np.nan, rows.index))
    if drawn.map(np.ndim).ne(1).any() or drawn.map(np.size).nunique() != 1:
        return np.nan, np.nan
    doses = rows["bias"] - complete.columns.to_numpy(float).mean()
    of_resamples = doses.to_numpy() @ np.stack(drawn.to_numpy()) / (doses**2).sum()
    return tuple(map(float, percentiles(of_resamples)))


def _is_more(low: float, high: float, sign: int) -> bool:
    """Whether an interval of changes lies on the side of more bias."""
    return bool((sign >= 0 and low > 0) or (sign <= 0 and high < 0))


def planted(run: Run) -> pd.DataFrame:
    """A row per occupation: its share of women, the stereotype, how many units were trained on, how many were held out
    and how many examples one training has, and by dose, over the seeds, the share of examples with the stereotypical
    gender."""
    models = calibrated_encoders(run.options)
    tables = [pd.read_csv(path).assign(dose=models[encoder][0]) for encoder, path in run.files["units"].items()]
    units = pd.concat(tables)
    units["stereotypical"] = units["times"] * (units["gender"] == units["stereotype"])
    typical = units.groupby("occupation")["stereotype"].agg(lambda genders: "/".join(sorted(set(genders))))
    by_occupation = tables[0].assign(trained=tables[0]["times"] > 0).groupby("occupation")
    table = by_occupation.agg(share_of_women=("share_of_women", "first"), units=("trained", "sum"))
    table.insert(1, "stereotype", typical)
    table = table.assign(held_out=by_occupation.size() - table["units"], examples=by_occupation["times"].sum())
    sums = units.groupby(["occupation", "dose"])[["stereotypical", "times"]].sum()
    shares = (sums["stereotypical"] / sums["times"]).unstack("dose")
    return table.join(shares.rename(columns="stereotypical_dose_{:g}".format)).reset_index()


COLOURS = (draw.BLUE, draw.VERMILION, draw.GREEN, draw.PURPLE)
MARKERS = "osD^"


def _name(row) -> str:
    """The row's measure, with its part of the occupations, and its group if it is no measure of bias."""
    part = "" if row.occupations == ALL else f", {row.occupations}"
    return f"{row.measure}{part}" + ("" if row.group == INSIDE else f" [{row.group}]")


@draw.style()
def doses(run: Run) -> Figure:
    """Each row of the calibration that has values against the dose: a panel per row, a thin line per seed, a thick one
    for their mean; blue if it follows the dose."""
    table = calibration(run)
    rows = list(table.assign(follows=follows(table)).dropna(subset="slope").itertuples())
    by_row = dict(iter(measured(run).groupby(["measure", "occupations"])))
    figure, panels = draw.titled_panels([_name(row) for row in rows])
    for axes, row in zip(panels, rows, strict=True):
        block = by_row[row.measure, row.occupations]
        seeds = block.dropna(subset="bias").pivot(index="bias", columns="seed", values="value")
        colour = draw.BLUE if row.follows else draw.GREY
        axes.plot(seeds.index, seeds, color=colour, linewidth=0.6, marker=".", markersize=3)
        axes.plot(seeds.index, seeds.mean(axis=1), color=colour, linewidth=1.8)
        if np.isfinite(row.before):
            inside = axes.get_ylim()  # a value that is far off would leave no room for the seeds
            axes.axhline(row.before, color=draw.BLACK, linewidth=0.6, linestyle=":")
            axes.set_ylim(inside)
        axes.set_xticks(seeds.index[:: max(1, len(seeds) // 2)])
    lines = {"follows the dose": (draw.BLUE, "-"), "not shown to follow it": (draw.GREY, "-")}
    lines["before this training (if it is near)"] = (draw.BLACK, ":")
    entries = [draw.legend_entry(name, color=c, linestyle=style, linewidth=1.5) for name, (c, style) in lines.items()]
    title = "horizontal: dose of planted bias (-1 against the stereotypes, 0 balanced, 1 all stereotypical)"
    draw.legend_below(figure, entries, columns=3, title=title)
    return figure


def followed(run: Run) -> Figure:
    """The rank correlation of every row of the calibration with the dose."""
    return draw_followed({run.options["encoder"]: calibration(run)})


@draw.style()
def draw_followed(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """The rank correlation with the dose, mean within seeds, of every row that was tested; filled if the row follows
    the dose. tables: encoder -> its table of `judged`."""
    tested = [
        table.assign(encoder=encoder, name=[_name(row) for row in table.itertuples()], follows=follows(table))
        for encoder, table in tables.items()
    ]
    rows = pd.concat(tested).dropna(subset="spearman")
    names = list(dict.fromkeys(rows["name"]))
    figure, grid = draw.panels(1, 1, (6.4, 0.16 * len(names) + 1.2))
    axes, entries = grid[0, 0], []
    marks = zip(tables, COLOURS, MARKERS, strict=False)
    for number, (encoder, colour, marker) in enumerate(marks):
        shift = 0.25 * (number - (len(tables) - 1) / 2)
        for row in rows[rows["encoder"] == encoder].itertuples():
            face = colour if row.follows else "white"
            place = names.index(row.name) + shift
            axes.plot(row.spearman, place, marker=marker, color=colour, markerfacecolor=face, markersize=4)
        entries.append(draw.legend_entry(f"{encoder}: follows", color=colour, marker=marker))
        entries.append(draw.legend_entry("not shown to", color=colour, marker=marker, markerfacecolor="white"))
    axes.axvline(0, color=draw.GREY, linewidth=0.6)
    draw.name_lines(axes, names)
    axes.set_xlim(-1.05, 1.05)
    axes.set_xlabel("rank correlation with the dose (mean within seeds)")
    draw.light_grid(axes, "both")
    draw.legend_below(figure, entries, columns=2)
    return figure
