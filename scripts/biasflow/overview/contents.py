"""The contents of the overview, ready for its template: plain lists, texts and numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd

from biasflow.overview.about import permutation_tests
from biasflow.overview.agreement import agreement, conflicts, counted, in_words, mean_ranks, observations, sentences
from biasflow.overview.answers import Answer, answer
from biasflow.overview.judgements import COST, FARTHER, NEARER, NO_CLAIM, UNCOMPARED, VIABLE, compared, printed
from biasflow.overview.maps import GROUPS, UNTOUCHED, Map, maps
from biasflow.overview.measured import Measured, other_readings, untouched_scores
from biasflow.overview.measured import counted as size_of
from biasflow.overview.notes import left_out, notes
from biasflow.overview.tradeoff import Plot, plots
from biasflow.overview.winners import percent
from biasflow.results.holes import NOT_RUN
from biasflow.results.matrix import claimable, criticisms, limited
from biasflow.results.scores import NA, NONE

PLACE = r"^layer\[(?P<layer>\d+)\](?:\.attention\.value\[(?P<unit>\d+)\])?$"
CONFLICTS = 10  # that are shown
SHOWN = 2.0  # a cell that is farther from neutral than so many times the untouched one looks as one of so many times
LEAST_SIZE = (
    24  # percent: what is nearer to neutral than its circle can show has a dot, or the best would look untested
)


@dataclass(frozen=True)
class HeatCell:
    """A cell of a heat map. ends: its interval, "" without one; beside: what stands beside a cost, such as the share of
    the majority class beside an accuracy; size: the diameter of its circle in percent of the largest; kind: nearer or
    farther, by `judgements.compared`, plain (no change is shown) or unknown (not compared); sort: what the column is
    sorted by; text: what hovering and focus show."""

    value: str
    ends: str
    beside: str
    size: int
    kind: str
    sort: str
    text: str


@dataclass(frozen=True)
class HeatMap:
    """A map as a table of circles. rows: (name, its quality, "" if it is kept; cells, in the order of columns);
    columns: (header, which direction is better, label of the measure)."""

    groups: Sequence[tuple[str, int]]
    columns: Sequence[tuple[str, str, str]]
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
    """All that the page shows of a map. notes: what has to be known to read it, in sentences."""

    title: str
    encoder: str
    own: bool
    notes: Sequence[str]
    heat: HeatMap
    plots: Sequence[Plot]


@dataclass(frozen=True, eq=False)
class Contents:
    """All that the page says. answers: of every model that is shown; limits: which datasets are samples, and of which
    items were left out; pairs: `agreement` of every two measures of bias, which is a table of its own; other_seeds:
    encoders that are not shown."""

    limits: Sequence[str]
    answers: Sequence[Answer]
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
    kinds: Mapping[str, str] = MappingProxyType({}),
    calibrations: Mapping[str, pd.DataFrame] = MappingProxyType({}),
    dropped: Sequence[str] = (),
) -> Contents:
    """What the page says: matrix (results.matrix), the plan with reasons (results.holes) and the table of scores.

    kinds: encoder -> its kind (`calibrated.kind_of`), of those with weights. calibrations: encoder -> its calibration
    in this run (calibrated_calibration.csv). dropped: what the data of tasks leave out, in sentences. families
    (results.power): of encoders that differ in their seed alone the first is shown, as one page cannot hold dozens;
    agreement, ranks and contradictions are those of all."""
    observed = observations(claimable(scores))
    pairs, contradictions = agreement(observed), in_words(conflicts(observed))
    all_maps = list(maps(matrix))
    first: dict[str, str] = {}  # of a family, those that were not measured left aside
    for name in dict.fromkeys(scores["encoder"]):
        first.setdefault(families.get(name, name), name)
    shown = [model_map for model_map in all_maps if model_map.encoder in first.values()]
    tests, readings = permutation_tests(scores), other_readings(scores)
    encoders: dict[str, list[Measured]] = {model_map.encoder: [] for model_map in shown}
    answers = []
    for model_map in shown:
        if model_map.is_own:
            measured = untouched_scores(model_map, tests, readings)
            encoders[model_map.encoder] += measured
            name, alike = model_map.encoder, _alike(model_map, all_maps, families)
            of_these = observed[
                observed["encoder"].isin([other.encoder for other in alike]) & (observed["task"] == model_map.task)
            ]
            answers.append(answer(model_map, measured, alike, of_these, kinds.get(name), calibrations.get(name)))
    for measured in encoders.values():
        measured.sort(key=lambda score: list(GROUPS.values()).index(score.group))
    shown_scores = scores[scores["encoder"].isin(first.values())]
    measured_datasets = matrix.loc[matrix["value"].notna(), "dataset"]
    not_run, limits, without = _not_run(plan), [*limited(measured_datasets), *dropped], left_out(shown_scores)
    return Contents(
        limits + without,
        answers,
        encoders,
        list(dict.fromkeys(model_map.encoder for model_map in all_maps if model_map.encoder not in encoders)),
        [_section(model_map, scores) for model_map in shown],
        criticisms({measure for model_map in shown for measure in model_map.cells["measure"]}),
        pairs,
        sentences(pairs),
        _ranks(mean_ranks(observed)),
        contradictions[:CONFLICTS],
        max(len(contradictions) - CONFLICTS, 0),
        _shares(shown_scores),
        not_run,
        _summary(limits, answers, not_run, without),
    )


def _alike(model_map: Map, all_maps: Sequence[Map], families: Mapping[str, str]) -> list[Map]:
    """The maps of the encoders that differ from a map's in their seed alone, with its own, on the same task."""
    family = families.get(model_map.encoder, model_map.encoder)
    return [
        other
        for other in all_maps
        if other.is_own and other.task == model_map.task and families.get(other.encoder, other.encoder) == family
    ]


def _section(model_map: Map, scores: pd.DataFrame) -> Section:
    return Section(
        model_map.title,
        model_map.encoder,
        model_map.is_own,
        notes(model_map, scores),
        _heat(model_map),
        list(plots(model_map)),
    )


def _heat(model_map: Map) -> HeatMap:
    columns, rows = model_map.columns, model_map.rows[~model_map.rows["grid"]]
    columns = columns.iloc[np.argsort(columns["section"] != COST, kind="stable")]  # costs are seen without scrolling
    cells = {(row.name, row.header): _heat_cell(row) for row in model_map.cells.itertuples()}
    return HeatMap(
        [(GROUPS[group], int((columns["section"] == group).sum())) for group in columns["section"].unique()],
        [(header, _better(about), about["label"]) for header, about in columns.iterrows()],
        [
            (
                name,
                "" if about["quality"] == VIABLE else about["quality"],
                [cells.get((name, header)) for header in columns.index],
            )
            for name, about in rows.iterrows()
        ],
        list(model_map.cells.loc[model_map.cells["grid"], "method"].unique()),
    )


def _heat_cell(row) -> HeatCell:
    ends = "" if np.isnan(row.low) else f"[{printed(row.low)}, {printed(row.high)}]"
    interval = ends and f", 95 % interval {ends}"
    said = [
        f"{row.name}, {row.header}: {printed(row.value)}{interval}" + (f" ({size_of(row)})" if size_of(row) else "")
    ]
    said += [row.beside] if row.beside else []
    doubt = row.caution or (row.untouched_caution and f"of the untouched model, {row.untouched_caution}")
    said += [doubt if row.group == COST else f"{NO_CLAIM}: {doubt}"] if doubt else []
    untouched = [] if np.isnan(row.untouched) else [f"untouched {printed(row.untouched)}"]
    said += [", ".join([*untouched, f"neutral {row.neutral:g}"])]
    if row.name == UNTOUCHED:
        kind = "plain"
    else:
        says = compared(row)
        kind = says if says in (NEARER, FARTHER) else "unknown" if says == UNCOMPARED else "plain"
        over = f", by the 95 % interval of the change over {row.change_interval}" if says != UNCOMPARED else ""
        share = f"{percent(row.left)} of the distance from neutral is left: " if np.isfinite(row.left) else ""
        said += [f"{share}{says}{over}"]
    left = 1.0 if printed(row.value) == printed(row.untouched) else row.left
    size = _size(1.0 if np.isnan(left) else left)
    beside = row.beside if row.group == COST else ""
    return HeatCell(printed(row.value), ends, beside, size, kind, f"{row.distance:.6g}", "; ".join(said))


def _size(left: float) -> int:
    return max(LEAST_SIZE, round(100 * np.sqrt(min(left, SHOWN) / SHOWN)))


def _better(about: pd.Series) -> str:
    return {"low": "lower is better", "high": "higher is better"}.get(
        about["better"], f"nearer to {about['neutral']:g} is better"
    )


def _ranks(ranks: pd.DataFrame) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """By task: a title, and (row, mean rank, its interval). Without an interval a rank is not shown."""
    tables, ranks = [], ranks[ranks["low"].notna()]
    for task, block in ranks.groupby("task", sort=False):
        about = block.iloc[0]
        models = "as pre-trained" if task == NA else f"fine-tuned on {task}"
        title = f"{models}: {about['measures']} measures, {counted(about['encoders'], about['seeds'])}"
        rows = [
            (row.name, f"{row.rank:.1f}", f"{row.low:.1f} to {row.high:.1f}") for row in block.itertuples(index=False)
        ]
        tables.append((title, rows))
    return tables


def _shares(scores: pd.DataFrame) -> list[Shares]:
    held = scores[(scores["metric"] == "gender_share") & (scores["method"] == NONE)]
    held = held.join(held["part"].str.extract(PLACE))
    held = held[held["layer"].notna()].astype({"layer": int})
    largest = held["value"].max()
    tables = []
    for encoder, block in held.groupby("encoder", sort=False):
        units = block.assign(unit=block["unit"].fillna("-1").astype(int))  # -1: the layer as a whole
        table = units.pivot_table(index="layer", columns="unit", values="value")
        rows = [
            (
                f"layer {layer}",
                [("", 0.0) if np.isnan(value) else (f"{value:.2f}", round(value / largest, 3)) for value in row],
            )
            for layer, row in zip(table.index, table.to_numpy(), strict=True)
        ]
        attribute = "gender" if block["dataset"].iloc[0] == "words" else block["dataset"].iloc[0]
        tables.append(Shares(encoder, attribute, int((table.columns >= 0).sum()), rows))
    return tables


def _not_run(plan: pd.DataFrame) -> list[tuple[str, int, str]]:
    """(reason, how many cells, their metrics)."""
    absent = plan[plan["status"] == NOT_RUN]
    return [
        (reason, len(block), ", ".join(dict.fromkeys(block["metric"])))
        for reason, block in absent.groupby("reason", sort=False)
    ]


def _summary(limits: Sequence[str], answers: Sequence[Answer], not_run: Sequence, left_out: Sequence[str]) -> list[str]:
    """Few lines for the terminal: what is sampled, what is biased, what can be said of methods, and what is not
    there."""
    lines = []
    for model_answer in answers:
        lines += [f"{model_answer.title}: {said}" for said in (model_answer.bias, model_answer.helps) if said]
    cells = sum(n for _, n, _ in not_run)
    count = f"{cells} {'cell was' if cells == 1 else 'cells were'} not run; plan.csv and reasons.csv say why"
    lines = [*limits, *lines[:6], *left_out[:1]]
    if len(left_out) > 1:
        lines[-1] += f" The page says so of {len(left_out) - 1} more."
    return [*lines, count if not_run else "everything that was asked for was run"]
