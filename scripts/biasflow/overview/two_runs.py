"""The untouched models of two runs beside each other: how biased is each by which measures, and which is more?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from biasflow.base.tabular import read_parquet, read_text_csv
from biasflow.overview.about import permutation_tests
from biasflow.overview.bias import BiasRow, bias_rows
from biasflow.overview.calibrated import kind_of, moved_in_words, own_calibrations
from biasflow.overview.judgements import COST, brief
from biasflow.overview.maps import head_of, headers, weak_head
from biasflow.overview.measured import judged, other_readings
from biasflow.results.changes import COLUMNS
from biasflow.results.comparison import ITEMS
from biasflow.results.differences import MODELS, RUNS, SCORE, apart
from biasflow.results.matrix import by_rows, untouched_rows, without_samples
from biasflow.results.power import families
from biasflow.results.scores import NA, NONE, TABLES

NO_TABLE = pd.DataFrame(columns=["name", "kind", "attribute", "value", "encoder", "masked_lm_head", "sha256"])


@dataclass(frozen=True)
class TwoSided:
    """A measure in two runs. name: with the model where there are several, and whether the score of a run is not
    trusted; sides: as the page of either run has it; seeds: over how many either is the mean; more: 0 or 1, which run
    is more biased, None where neither is shown to be; apart: the difference of the distances from neutral, with its
    interval; over: what this is over; moved: how much another seed moved the measure elsewhere
    (`calibrated.moved_in_words`)."""

    name: str
    sides: tuple[BiasRow, BiasRow]
    seeds: tuple[int, int]
    more: int | None
    apart: tuple[float, float, float]
    over: str
    moved: str

    @property
    def in_words(self) -> str:
        first, second = (brief(side.value) for side in self.sides)
        value, low, high = map(brief, self.apart)
        return f"{first} and {second}, distances from neutral differ by {value} [{low}, {high}] over {self.over}"


def two_runs(folders: Sequence[Path], tables: Sequence[pd.DataFrame]) -> list[TwoSided]:
    """The measures of bias that both runs have. tables: their scores. A run without names.csv, or without resamples,
    has no seeds, or no known items; without encoders.csv it is not known which of its scores are trusted."""
    seeds = tuple(families(_table(folder / "names.csv")) for folder in folders)
    rows = apart(*tables, tuple(map(_resamples, folders)), seeds)
    rows = without_samples(rows.assign(measure=rows["metric"]))
    rows["header"] = headers(rows)
    several = len(rows.drop_duplicates(["encoder", "task", "strategy"])) > 1
    both = zip(*(_sides(rows, *of_run) for of_run in zip(RUNS, folders, tables, strict=True)), strict=True)
    found = []
    for row, sides in zip(rows.to_dict("records"), both, strict=True):
        model = ", ".join(row[key] for key in ("encoder", "task") if row[key] != NA)
        remarks = [model] * several + ["not trusted"] * any(side.untrusted for side in sides)
        found.append(
            TwoSided(
                " ".join([row["header"], *(f"({remark})" for remark in remarks)]),
                sides,
                tuple(row[f"seeds_{run}"] for run in RUNS),
                RUNS.index(row["more"]) if row["more"] else None,
                (row["apart"], row["apart_low"], row["apart_high"]),
                row["over"],
                moved_in_words(row["metric"], row["dataset"]),
            )
        )
    return found


def _sides(rows: pd.DataFrame, run: str, folder: Path, scores: pd.DataFrame) -> list[BiasRow]:
    """The scores of a run as its page has them. rows: of `apart`; run: which of RUNS."""
    tests, readings = permutation_tests(scores), other_readings(scores)
    names, encoders = (_table(folder / name) for name in TABLES)
    calibrations, weak = own_calibrations(encoders, [], []), _weak_heads(folder / "matrix.csv")
    sides: dict[int, BiasRow] = {}
    for (encoder, task), block in rows.groupby(["encoder", "task"], sort=False):
        listed = []
        for row in block.to_dict("records"):
            key = (encoder, task, row["metric"], row["dataset"])
            cell = _cell(row, run, weak=(encoder, task) in weak)
            listed.append(judged(cell, task, tests.get(key), readings.get(key, {})))
        of_model = bias_rows(listed, kind_of(names, encoders, encoder), calibrations.get(encoder))
        sides |= zip(block.index, of_model, strict=True)
    return [sides[place] for place in rows.index]


def _cell(row: Mapping, run: str, *, weak: bool) -> SimpleNamespace:
    """The score of a run as a row of `maps.Map.cells`; `apart` has none that another score speaks against. weak:
    whether the model's masked-LM head is."""
    measure = by_rows()[row["metric"], row["part"], row["variant"]]
    numbers = {name: row[f"{name}_{run}"] for name in SCORE}
    ideal = {"neutral": measure.neutral, "better": measure.better}
    about = {"group": measure.group, "interval": ITEMS, "caution": ""}
    return SimpleNamespace(**row, **numbers, **ideal, **about, weak=weak and head_of(row["metric"]) == "masked_lm")


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


def not_compared(rows: Sequence[TwoSided], tables: Sequence[pd.DataFrame]) -> dict[str, str]:
    """Label -> why it is not compared, of the measures of bias that these rows lack."""
    compared = {side.score.cell.metric for row in rows for side in row.sides}
    biases = {metric: one.label for (metric, *_), one in by_rows().items() if one.group != COST}
    had = [table[(table["method"] == NONE) & table["value"].notna()] for table in tables]
    first, second = ({*map(tuple, table[MODELS].itertuples(index=False))} for table in had)
    of_metric = MODELS.index("metric")
    reasons: dict[str, str] = {}
    for metric in pd.concat(had)["metric"].unique():
        if metric in biases and metric not in compared:
            of_both = {key for key in first & second if key[of_metric] == metric}
            sides = [any(key[of_metric] == metric for key in keys) for keys in (first, second)]
            why = "in both, and to be read with care" if of_both else "of other models, data or vectors"
            reasons.setdefault(biases[metric], why if all(sides) else "in one run alone")
    return reasons


def verdicts(rows: Sequence[TwoSided], runs: Sequence[str]) -> list[tuple[str, str]]:
    """What is said first of two runs, in columns: which is more biased by which measures, and what of seeds is known.

    A difference that is shown over items alone may be that of two seeds: so it is said how much another seed moved the
    measure on encoders that were calibrated."""
    said = []
    for place, run in enumerate(runs):
        shown = ", ".join(row.name for row in rows if row.more == place)
        said += [(f"{run} is more biased by:", shown)] if shown else []
    if not said:
        said.append(("more biased:", "no measure shows either run to be" if rows else "no measure could be compared"))
    alone = [row for row in rows if row.more is not None and max(row.seeds) <= 1]
    if alone:
        said.append(
            (
                "another seed:",
                "was not tried, so these differences are beyond the chance of items alone. On encoders that were "
                f"calibrated another seed moved (standard deviation) {'; '.join(map(_moved, alone))}",
            )
        )
    return said


def _moved(row: TwoSided) -> str:
    return f"{row.name} {row.moved or 'by an unknown amount'}, here apart by {brief(abs(row.apart[0]))}"
