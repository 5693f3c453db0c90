"""Untouched models beside each other, the encoders of a run or those of several runs: how biased is each by which
measures, and which is more?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pandas as pd

from biasflow.base.names import is_called
from biasflow.base.tabular import read_parquet, read_text_csv
from biasflow.overview.about import permutation_tests
from biasflow.overview.bias import BiasRow, bias_rows
from biasflow.overview.calibrated import kind_of, moved_in_words, own_calibrations
from biasflow.overview.judgements import COST, brief
from biasflow.overview.maps import head_of, headers, weak_head
from biasflow.overview.measured import judged, other_readings
from biasflow.results.changes import COLUMNS
from biasflow.results.comparison import ITEMS
from biasflow.results.differences import MODELS, RUNS, SCORE, Side, between
from biasflow.results.matrix import by_rows, untouched_rows, without_samples
from biasflow.results.power import families
from biasflow.results.scores import MEASURE, NA, NONE, TABLES

NO_TABLE = pd.DataFrame(columns=["name", "kind", "attribute", "value", "encoder", "masked_lm_head", "sha256"])


class Pair(NamedTuple):
    """Two of them by one measure. more: the name of the more biased one, "" where neither is shown to be; apart: the
    difference of their distances from neutral, with its interval, which is over `over`; seeds: over how many either is
    the mean."""

    first: str
    second: str
    more: str
    apart: tuple[float, float, float]
    over: str
    seeds: tuple[int, int]


@dataclass(frozen=True)
class Beside:
    """A measure in several models. name: with the model where there are several; sides: name -> its score, as the page
    has it; pairs: every two of them; moved: how much another seed moved the measure elsewhere
    (`calibrated.moved_in_words`)."""

    name: str
    sides: Mapping[str, BiasRow]
    pairs: Sequence[Pair]
    moved: str

    @property
    def less_evidence(self) -> bool:
        """Whether a score has less evidence, as its page says."""
        return any(side.less_evidence for side in self.sides.values())

    def in_words(self, pair: Pair) -> str:
        first, second = (brief(self.sides[name].value) for name in pair[:2])
        value, low, high = map(brief, pair.apart)
        return f"{first} and {second}, distances from neutral differ by {value} [{low}, {high}] over {pair.over}"


def of_runs(names: Sequence[str], folders: Sequence[Path], tables: Sequence[pd.DataFrame]) -> list[Beside]:
    """The measures of bias that two or more runs have. tables: their scores. A run without names.csv, or without
    resamples, has no seeds, or no known items; without encoders.csv it is not known which of its scores have evidence.
    Runs of one encoder each are compared whatever it is called in them; others by the names of encoders."""
    sides = {}
    for name, folder, scores in zip(names, folders, map(without_samples, tables), strict=True):
        of_run = families(_table(folder / "names.csv"))
        groups = {encoder: of_run.get(encoder, encoder) for encoder in scores["encoder"].unique()}
        sides[name] = Side(scores, _resamples(folder), groups)
    if all(len({*side.families.values()}) == 1 for side in sides.values()):
        sides = {name: side._replace(families=dict.fromkeys(side.families, NA)) for name, side in sides.items()}
    table, scored = between(sides), dict(zip(names, zip(folders, tables, strict=True), strict=True))
    found = {name: _rows_of(table, name, *of_run) for name, of_run in scored.items()}
    return _beside(table, lambda key, name: found[name].get(key))


def of_encoders(table: pd.DataFrame, biases: Mapping[str, Sequence[BiasRow]]) -> list[Beside]:
    """The measures of bias that two or more encoders of a run have. table: of `differences.between`; biases: encoder ->
    the scores of its models."""
    found = {
        (name, row.score.task, row.score.cell.measure, row.score.cell.dataset): row
        for name, rows in biases.items()
        for row in rows
    }

    def side(key: tuple, name: str) -> BiasRow | None:
        about = dict(zip(MODELS, key, strict=True))
        return found.get((name, about["task"], about["metric"], about["dataset"]))

    return _beside(table, side)


def _beside(table: pd.DataFrame, side: Callable[[tuple, str], BiasRow | None]) -> list[Beside]:
    several = len(table[["encoder", "task", "strategy"]].drop_duplicates()) > 1
    found, order = [], [*by_rows()]
    measures = sorted(table.groupby(MODELS, sort=False), key=lambda of: order.index(of[0][-len(MEASURE) :]))
    for key, rows in measures:
        about = dict(zip(MODELS, key, strict=True))
        names = dict.fromkeys([*rows["first"], *rows["second"]])
        sides = {name: row for name in names if (row := side(key, name)) is not None}
        pairs = [
            Pair(
                row.first,
                row.second,
                {"first": row.first, "second": row.second}.get(row.more, ""),
                (row.apart, row.apart_low, row.apart_high),
                row.over,
                (row.seeds_first, row.seeds_second),
            )
            for row in rows.itertuples()
            if {row.first, row.second} <= {*sides}
        ]
        if pairs:
            header = next(iter(sides.values())).name
            model = ", ".join(about[name] for name in ("encoder", "task") if about[name] != NA)
            found.append(
                Beside(
                    f"{header} ({model})" if several and model else header,
                    sides,
                    pairs,
                    moved_in_words(about["metric"], about["dataset"]),
                )
            )
    return found


def _rows_of(table: pd.DataFrame, name: str, folder: Path, scores: pd.DataFrame) -> dict[tuple, BiasRow]:
    """Its models and measures (MODELS) -> the scores of a run as its page has them. table: of `between`."""
    sides = [
        table[table[side] == name].rename(columns={f"{column}_{side}": column for column in SCORE}) for side in RUNS
    ]
    rows = pd.concat(sides).drop_duplicates(MODELS).reset_index(drop=True)
    rows = rows.assign(measure=rows["metric"])
    rows["header"] = headers(rows)
    tests, readings = permutation_tests(scores), other_readings(scores)
    names, encoders = (_table(folder / file) for file in TABLES)
    calibrations, weak = own_calibrations(encoders, [], []), _weak_heads(folder / "matrix.csv")
    found: dict[tuple, BiasRow] = {}
    for (encoder, task), block in rows.groupby(["encoder", "task"], sort=False):
        encoder = encoder if encoder != NA else scores["encoder"].iloc[0]  # of a run of one
        listed = []
        for row in block.to_dict("records"):
            key = (encoder, task, row["metric"], row["dataset"])
            cell = _cell(row, weak=(encoder, task) in weak)
            listed.append(judged(cell, task, tests.get(key), readings.get(key, {})))
        of_model = bias_rows(listed, kind_of(names, encoders, encoder), calibrations.get(encoder))
        found |= zip(block[MODELS].itertuples(index=False, name=None), of_model, strict=True)
    return found


def _cell(row: Mapping, *, weak: bool) -> SimpleNamespace:
    """The score of a run as a row of `maps.Map.cells`; `apart` has none that another score speaks against. weak:
    whether the model's masked-LM head is."""
    measure = by_rows()[row["metric"], row["part"], row["variant"]]
    ideal = {"neutral": measure.neutral, "better": measure.better}
    about = {"group": measure.group, "interval": ITEMS, "caution": ""}
    return SimpleNamespace(**row, **ideal, **about, weak=weak and head_of(row["metric"]) == "masked_lm")


def _weak_heads(matrix: Path) -> set[tuple[str, str]]:
    """The encoder and task of every model whose masked-LM head is weak, by the matrix of its run; none without it."""
    if not matrix.is_file():
        return set()
    table = pd.read_csv(matrix).fillna({"caution": "", "beside": ""})
    untouched = untouched_rows(table[table["value"].notna()])
    return {keys for keys, rows in untouched.groupby(["encoder", "task"]) if weak_head(rows.itertuples())}


def _resamples(folder: Path) -> pd.DataFrame:
    """The resamples of the run's untouched scores."""
    tables = (read_parquet(path) for path in sorted(folder.glob("scores/**/*.resamples.parquet")))
    return pd.concat([pd.DataFrame(columns=COLUMNS), *(table[table["method"] == NONE] for table in tables)])


def _table(path: Path) -> pd.DataFrame:
    """A table of a run, names.csv or encoders.csv, as texts; without rows where there is none."""
    return read_text_csv(path) if path.is_file() else NO_TABLE


def not_compared(rows: Sequence[Beside], tables: Sequence[pd.DataFrame]) -> dict[str, str]:
    """Label -> why it is not compared, of the measures of bias that these rows lack."""
    compared = {side.score.cell.measure for row in rows for side in row.sides.values()}
    biases = {metric: one.label for (metric, *_), one in by_rows().items() if one.group != COST}
    had = [table[(table["method"] == NONE) & table["value"].notna()] for table in tables]
    keys = [{*map(tuple, table[MODELS].itertuples(index=False))} for table in had]
    of_metric = MODELS.index("metric")
    reasons: dict[str, str] = {}
    for metric in pd.concat(had)["metric"].unique():
        if metric in biases and metric not in compared:
            of_run = [{key for key in of_one if key[of_metric] == metric} for of_one in keys]
            in_two = any(one & other for one, other in combinations(of_run, 2))
            why = "in both, and to be read with care" if in_two else "of other models, data or vectors"
            reasons.setdefault(biases[metric], why if sum(map(bool, of_run)) > 1 else "in one run alone")
    return reasons


class Change(NamedTuple):
    """A measure before and after a training. by, low, high: the change of its distance from neutral, with its 95 %
    interval; shown: "more biased", "less biased", or "" where neither is shown."""

    before: float
    after: float
    by: float
    low: float
    high: float
    shown: str

    @property
    def in_words(self) -> str:
        before, after, by, low, high = map(brief, self[:5])
        return f"{before}, then {after}; distance changed by {by} [{low}, {high}]"


class Trained(NamedTuple):
    """What training an encoder from another one did to the measures that both have: measure -> its change."""

    name: str
    base: str
    changes: Mapping[str, Change]

    @property
    def in_short(self) -> str:
        """The changes that are shown, and how many are not."""
        said = [
            f"{shown} by {', '.join(f'{name} ({change.in_words})' for name, change in of)}"
            for shown in ("more biased", "less biased")
            if (of := [(name, change) for name, change in self.changes.items() if change.shown == shown])
        ]
        unseen = sum(not change.shown for change in self.changes.values())
        return "; ".join([*said, *[f"no change shown for {unseen} of {len(self.changes)} measures"] * bool(unseen)])


def bases(encoders: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Encoder -> the other one of these that it was trained from, where that is known. encoders: name -> attributes in
    names.csv."""
    found = {}
    for name, about in encoders.items():
        base = about.get("base") or about.get("parent", "")
        others = [other for other, of in encoders.items() if other != name and base and is_called(base, other, of)]
        if len(others) == 1:
            found[name] = others[0]
    return found


def trained(rows: Sequence[Beside], bases: Mapping[str, str]) -> list[Trained]:
    """What training changed, of every encoder whose base is among those beside each other."""
    changes: dict[str, dict[str, Change]] = {name: {} for name in bases}
    for row in rows:
        for pair in row.pairs:
            for name, base in (pair[:2], pair[1::-1]):
                if bases.get(name) == base:
                    value, low, high = pair.apart
                    by = (value, low, high) if name == pair.first else (-value, -high, -low)
                    shown = {name: "more biased", base: "less biased"}.get(pair.more, "")
                    changes[name][row.name] = Change(row.sides[base].value, row.sides[name].value, *by, shown)
    return [Trained(name, bases[name], of) for name, of in changes.items() if of]


def verdicts(rows: Sequence[Beside], names: Sequence[str]) -> list[tuple[str, str]]:
    """What is said first of several, in columns: which is more biased than which by which measures, whether this is an
    order, what of seeds is known, and by how many measures some are not compared.

    An order is given only where no two measures put two of them the other way around. A difference that is shown over
    items alone may be that of two seeds: so it is said how much another seed moved the measure on encoders that were
    calibrated."""
    said, shown = [], {}
    for row in rows:
        for pair in row.pairs:
            if pair.more:
                less = pair.second if pair.more == pair.first else pair.first
                shown.setdefault((pair.more, less), []).append(_marked(row))
    for more, less in sorted(shown, key=lambda two: (names.index(two[0]), names.index(two[1]))):
        than = f" than {less}" if len(names) > 2 else ""
        said.append((f"{more} is more biased{than} by:", ", ".join(shown[more, less])))
    if not said:
        nobody = "no measure shows either to be" if len(names) == 2 else "no measure tells two of them apart"
        said.append(("more biased:", nobody if rows else "no measure could be compared"))
    elif against := sorted(names.index(more) for more, less in shown if (less, more) in shown):
        said.append(("no order:", f"measures contradict each other on {', '.join(names[place] for place in against)}"))
    alone = [(row, pair) for row in rows for pair in row.pairs if pair.more and max(pair.seeds) <= 1]
    if alone:
        moved = {row.name: _moved(row, pair) for row, pair in alone}
        said.append(
            (
                "seeds:",
                "each of them has one, so these differences are beyond the chance of items alone. On encoders that "
                f"were calibrated another seed moved (standard deviation) {'; '.join(moved.values())}",
            )
        )
    lacking = {name: sum(name not in row.sides for row in rows) for name in names}
    if few := [f"{name} by {n} of {len(rows)} measures" for name, n in lacking.items() if n]:
        said.append(
            ("not compared:", f"{', '.join(few)}, for want of the head, or of the same reading (as of pooling)")
        )
    return said


def _marked(row: Beside) -> str:
    return f"{row.name} (less evidence)" if row.less_evidence else row.name


def _moved(row: Beside, pair: Pair) -> str:
    return f"{_marked(row)} {row.moved or 'by an unknown amount'}, here apart by {brief(abs(pair.apart[0]))}"
