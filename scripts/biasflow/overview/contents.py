"""The contents of the overview, ready for its template: plain lists, texts and numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import pandas as pd
from scipy import stats

from biasflow.overview.about import PermutationTest, permutation_tests
from biasflow.overview.agreement import (
    LEAST_ROWS,
    agreement,
    conflicts,
    counted,
    in_words,
    mean_ranks,
    observations,
    sentences,
)
from biasflow.overview.judgements import (
    COST,
    DIFFERS,
    FARTHER,
    NEARER,
    NO_CLAIM,
    SAME,
    UNCOMPARED,
    UNSIGNED,
    VIABLE,
    compared,
    printed,
    verdict,
)
from biasflow.overview.maps import GROUPS, UNTOUCHED, Map, maps
from biasflow.overview.notes import conclusion, notes
from biasflow.overview.tradeoff import Plot, plots
from biasflow.results.comparison import ITEMS
from biasflow.results.holes import NOT_RUN
from biasflow.results.matrix import claimable, criticisms, limited, unsigned
from biasflow.results.scores import NA, NONE

PLACE = r"^layer\[(?P<layer>\d+)\](?:\.attention\.value\[(?P<unit>\d+)\])?$"
CONFLICTS = 10  # that are shown
SHOWN = 2.0  # a cell that is farther from neutral than so many times the untouched one looks as one of so many times


@dataclass(frozen=True)
class Measured:
    """A measure of an untouched model: text of value and interval (over: seeds, items or draws), the verdict, the
    matrix's caution and what stands beside the value (both may be empty), and the strip's places in percent."""

    group: str
    label: str
    where: str
    value: str
    interval: str
    over: str
    n: str
    neutral: str
    verdict: str
    caution: str
    beside: str
    places: Mapping[str, float]
    test: str = ""  # what a permutation test says, of measures that have one


@dataclass(frozen=True)
class HeatCell:
    """A cell of a heat map. size: the diameter of its circle in percent of the largest; kind: nearer or farther, by
    `judgements.compared`, or plain (as before, or not compared); sort: what the column is sorted by; text: what
    hovering and focus show."""

    value: str
    size: int
    kind: str
    sort: str
    text: str


@dataclass(frozen=True)
class HeatMap:
    """Rows: (name, what there is to say of its quality, which may be empty; cells, in the order of columns). columns:
    (header, what is better)."""

    groups: Sequence[tuple[str, int]]
    columns: Sequence[tuple[str, str]]
    rows: Sequence[tuple[str, str, Sequence[HeatCell | None]]]
    settings_left_out: Sequence[str]


@dataclass(frozen=True)
class Shares:
    """Gender by layer and head: rows (layer, shares), each share with its part of the largest of all encoders. what:
    "gender", or what tells the groups of the user's words apart."""

    encoder: str
    what: str
    heads: int
    rows: Sequence[tuple[str, Sequence[tuple[str, float]]]]


@dataclass(frozen=True)
class Section:
    """All of a map. notes: what has to be known to read it, in sentences."""

    title: str
    encoder: str
    own: bool
    notes: Sequence[str]
    heat: HeatMap
    plots: Sequence[Plot]
    agreement: Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True, eq=False)
class Contents:
    """All that the page says. pairs: `agreement` of every two measures of bias, which is a table of its own;
    other_seeds: encoders that are not shown."""

    encoders: Mapping[str, Sequence[Measured]]
    other_seeds: Sequence[str]
    sections: Sequence[Section]
    criticisms: Sequence[str]
    pairs: pd.DataFrame
    measures_agree: Sequence[str]
    ranks: Sequence[tuple[str, Sequence[tuple[str, str, str]]]]
    conflicts: Sequence[str]
    conflicts_left_out: int
    shares: Sequence[Shares]
    not_run: Sequence[tuple[str, int, str]]
    summary: Sequence[str]


def contents(
    matrix: pd.DataFrame,
    plan: pd.DataFrame,
    scores: pd.DataFrame,
    families: Mapping[str, str] = MappingProxyType({}),
) -> Contents:
    """What the page says: matrix (results.matrix), the plan with reasons (results.holes) and the table of scores.

    families (results.families): of encoders that differ in their seed alone the first is shown, as one page cannot hold
    dozens; agreement, ranks and contradictions are those of all."""
    measured = observations(claimable(scores))
    pairs, contradictions = agreement(measured), in_words(conflicts(measured))
    of_all = list(maps(matrix))
    first: dict[str, str] = {}  # of a family, those that were not measured left aside
    for name in dict.fromkeys(scores["encoder"]):
        first.setdefault(families.get(name, name), name)
    found = [each for each in of_all if each.encoder in first.values()]
    encoders = list(dict.fromkeys(each.encoder for each in found))
    tests = permutation_tests(scores)
    untouched = {
        name: [one for each in found if each.encoder == name and each.own for one in _untouched(each, tests)]
        for name in encoders
    }
    not_run = _not_run(plan)
    return Contents(
        untouched,
        list(dict.fromkeys(each.encoder for each in of_all if each.encoder not in untouched)),
        [_section(each, scores) for each in found],
        criticisms({measure for each in found for measure in each.cells["measure"]}),
        pairs,
        sentences(pairs),
        _ranks(mean_ranks(measured)),
        contradictions[:CONFLICTS],
        max(len(contradictions) - CONFLICTS, 0),
        _shares(scores[scores["encoder"].isin(first.values())]),
        not_run,
        [
            *limited(matrix["dataset"]),
            *_summary(untouched, [conclusion(each, of_all, measured, families) for each in found if each.own], not_run),
        ],
    )


def _untouched(found: Map, tests: Mapping[tuple[str, str, str, str], PermutationTest]) -> list[Measured]:
    own = found.cells[found.cells["name"] == UNTOUCHED]
    own = own[own["untouched"].notna()]
    return [
        _tested(_measured(found, row), row.value, tests.get((found.encoder, found.task, row.measure, row.dataset)))
        for row in own.itertuples()
    ]


def _tested(measured: Measured, value: float, test: PermutationTest | None) -> Measured:
    """A measure with its permutation test, if it has one. The interval of an effect size is too narrow for few words:
    an effect in the direction that is tested differs from neutral only if its corrected p is below 5 %."""
    if test is None:
        return measured
    rejected = measured.verdict == DIFFERS and value > 0 and test.corrected >= 0.05
    return replace(measured, test=test.text, verdict=SAME if rejected else measured.verdict)


def _measured(found: Map, row) -> Measured:
    where = ["as pre-trained" if found.task == NA else f"fine-tuned on {found.task}"]
    where += [row.dataset] if row.dataset != NA else []
    known = not (np.isnan(row.low) or np.isnan(row.high))
    says = "cost" if row.group == COST else verdict(row.low, row.high, row.neutral, row.better)
    cautions = [row.caution] if row.caution else []
    cautions += [UNSIGNED] if known and row.measure in unsigned() else []
    if cautions and row.group != COST:
        says = NO_CLAIM
    return Measured(
        GROUPS[row.group],
        row.label,
        ", ".join(where),
        f"{row.value:.3f}",
        f"{row.low:.3f} to {row.high:.3f}" if known else "",
        row.interval if known else "",
        _counted(row),
        f"{row.neutral:g}",
        says,
        "; ".join(cautions),
        row.beside,
        _strip(row, known),
    )


def _counted(row) -> str:
    """ "400 items", "3 seeds, 400 items each"."""
    if pd.isna(row.n):
        return ""
    each = "" if row.unit == ITEMS or pd.isna(row.items) else f", {row.items} items each"
    return f"{row.n} {row.unit}{each}"


def _strip(row, known: bool) -> dict[str, float]:
    """Places of value, interval and neutral mark on a line that holds them all, in percent."""
    marks = {"value": row.value, "neutral": row.neutral} | ({"low": row.low, "high": row.high} if known else {})
    least, most = min(marks.values()), max(marks.values())
    span = most - least or 1.0
    return {name: round(5 + 90 * (mark - least) / span, 1) for name, mark in marks.items()}


def _section(found: Map, scores: pd.DataFrame) -> Section:
    said = notes(found, scores)
    return Section(found.title, found.encoder, found.own, said, _heat(found), list(plots(found)), _agreement(found))


def _heat(found: Map) -> HeatMap:
    columns, rows = found.columns, found.rows[~found.rows["grid"]]
    cells = {(row.name, row.header): _heat_cell(row) for row in found.cells.itertuples()}
    return HeatMap(
        [
            (name, int((columns["group"] == group).sum()))
            for group, name in GROUPS.items()
            if group in set(columns["group"])
        ],
        [(header, _better(about)) for header, about in columns.iterrows()],
        [
            (
                name,
                "" if about["quality"] == VIABLE else about["quality"],
                [cells.get((name, header)) for header in columns.index],
            )
            for name, about in rows.iterrows()
        ],
        list(found.cells.loc[found.cells["grid"], "method"].unique()),
    )


def _heat_cell(row) -> HeatCell:
    interval = "" if np.isnan(row.low) else f" [{row.low:.3f}, {row.high:.3f}]"
    said = [f"{row.name}, {row.header}: {row.value:.3f}{interval}" + (f" ({_counted(row)})" if _counted(row) else "")]
    said += [row.beside] if row.beside else []
    said += [row.caution if row.group == COST else f"{NO_CLAIM}: {row.caution}"] if row.caution else []
    said += [f"untouched {row.untouched:.3f}, neutral {row.neutral:g}"]
    if np.isnan(row.left) or row.name == UNTOUCHED:
        size = 0 if np.isnan(row.left) else _size(row.left)
        return HeatCell(printed(row.value), size, "plain", f"{row.distance:.6g}", "; ".join(said))
    kind = compared(row)
    over = f" by the interval over {row.change_interval}" if kind != UNCOMPARED else ""
    share = f"{row.left:.0%} of the distance left, " if np.isfinite(row.left) else ""
    said += [f"{share}{kind}{over}"]
    shown = kind if kind in (NEARER, FARTHER) else "plain"
    return HeatCell(printed(row.value), _size(row.left), shown, f"{row.distance:.6g}", "; ".join(said))


def _size(left: float) -> int:
    return round(100 * np.sqrt(min(left, SHOWN) / SHOWN))


def _better(about: pd.Series) -> str:
    return {"low": "lower is better", "high": "higher is better"}.get(
        about["better"], f"nearer to {about['neutral']:g} is better"
    )


def _agreement(found: Map) -> list[tuple[str, list[str]]]:
    """Spearman's rho of the distances left between measures of bias, over rows that are no settings of a grid."""
    columns = found.columns
    names = list(columns.index[columns["group"] != COST])
    table = found.table("value").loc[~found.rows["grid"].to_numpy(), names]
    table = (table - columns.loc[names, "neutral"]).abs()
    if len(names) < 2:
        return []
    return [(a, [_rho(table[a], table[b]) if a != b else "" for b in names]) for a in names]


def _rho(a: pd.Series, b: pd.Series) -> str:
    both = a.notna() & b.notna()
    if both.sum() < LEAST_ROWS or a[both].nunique() < 2 or b[both].nunique() < 2:
        return ""
    return f"{stats.spearmanr(a[both], b[both]).statistic:.2f} ({both.sum()})"


def _ranks(ranks: pd.DataFrame) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """By task: a title, and (row, mean rank, its interval)."""
    found = []
    for task, block in ranks.groupby("task", sort=False):
        about = block.iloc[0]
        models = "as pre-trained" if task == NA else f"fine-tuned on {task}"
        title = f"{models}: {about['measures']} measures, {counted(about['encoders'], about['seeds'])}"
        rows = [
            (row.name, f"{row.rank:.1f}", "" if np.isnan(row.low) else f"{row.low:.1f} to {row.high:.1f}")
            for row in block.itertuples(index=False)
        ]
        found.append((title, rows))
    return found


def _shares(scores: pd.DataFrame) -> list[Shares]:
    own = scores[(scores["metric"] == "gender_share") & (scores["method"] == NONE)]
    own = own.join(own["part"].str.extract(PLACE))
    own = own[own["layer"].notna()].astype({"layer": int})
    largest = own["value"].max()
    found = []
    for encoder, block in own.groupby("encoder", sort=False):
        units = block.assign(unit=block["unit"].fillna("-1").astype(int))  # -1: the layer as a whole
        table = units.pivot_table(index="layer", columns="unit", values="value")
        rows = [
            (
                f"layer {layer}",
                [("", 0.0) if np.isnan(value) else (f"{value:.2f}", round(value / largest, 3)) for value in row],
            )
            for layer, row in zip(table.index, table.to_numpy(), strict=True)
        ]
        what = "gender" if block["dataset"].iloc[0] == "words" else block["dataset"].iloc[0]
        found.append(Shares(encoder, what, int((table.columns >= 0).sum()), rows))
    return found


def _not_run(plan: pd.DataFrame) -> list[tuple[str, int, str]]:
    """(reason, how many cells, their metrics)."""
    absent = plan[plan["status"] == NOT_RUN]
    return [
        (reason, len(block), ", ".join(dict.fromkeys(block["metric"])))
        for reason, block in absent.groupby("reason", sort=False)
    ]


def _counts(measured: Sequence[Measured]) -> list[str]:
    """The measures that differ from neutral; of one on several datasets on how many it does: "SEAT (4 of 6)"."""
    of = Counter(one.label for one in measured)
    differing = Counter(one.label for one in measured if one.verdict == DIFFERS)
    return [label if of[label] == 1 else f"{label} ({n} of {of[label]})" for label, n in differing.items()]


def _summary(untouched: Mapping[str, Sequence[Measured]], conclusions: Sequence[str], not_run: Sequence) -> list[str]:
    """At most eight lines for the terminal: what differs from neutral, and what can be said of methods."""
    lines = []
    for name, measured in untouched.items():
        biased = [one for one in measured if one.group != GROUPS[COST]]
        differing = _counts(biased)
        known = [one.over for one in biased if one.interval]
        over = f" over {' or '.join(dict.fromkeys(known))}" if known else ""
        more = " (of one model: another seed may differ by more)" if ITEMS in known else ""
        said = (
            f"differ from neutral: {', '.join(differing)}"
            if differing
            else "none of them is shown to differ from neutral"
        )
        lines.append(f"{name}: {len(biased)} measures of bias, {len(known)} with an interval{over}{more}; {said}")
    lines += filter(None, conclusions)
    cells = sum(n for _, n, _ in not_run)
    return [
        *lines[:7],
        f"not run: {cells} cells, for {len(not_run)} reason(s)" if not_run else "all that was asked for was run",
    ]
