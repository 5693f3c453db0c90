"""The untouched models of two runs beside each other: how biased is each by which measures, and which is more?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from biasflow.base.tabular import read_parquet, read_text_csv
from biasflow.overview.about import permutation_tests
from biasflow.overview.bias import places
from biasflow.overview.calibrated import moved_in_words
from biasflow.overview.judgements import DIFFERS, brief
from biasflow.overview.maps import headers
from biasflow.overview.measured import measured, with_test
from biasflow.results.changes import COLUMNS
from biasflow.results.comparison import ITEMS
from biasflow.results.differences import RUNS, apart
from biasflow.results.matrix import by_rows, without_samples
from biasflow.results.power import families
from biasflow.results.scores import NA, NONE


@dataclass(frozen=True)
class Side:
    """The score of one run. place, low, high: on the axis (`bias.places`); says: `judgements.verdict`; seeds: over how
    many it is the mean."""

    value: float
    place: float
    low: float
    high: float
    says: str
    seeds: int

    @property
    def shown(self) -> bool:
        return self.says == DIFFERS


@dataclass(frozen=True)
class TwoSided:
    """A measure in two runs. name: with the model where there are several; more: 0 or 1, which run is more biased, None
    where neither is shown to be; apart: the difference of the distances from neutral, with its interval; over: what
    this is over; moved: how much another seed moved the measure elsewhere (`calibrated.moved_in_words`)."""

    name: str
    sides: tuple[Side, Side]
    more: int | None
    apart: tuple[float, float, float]
    over: str
    moved: str

    @property
    def seeds_known(self) -> bool:
        return max(side.seeds for side in self.sides) > 1

    @property
    def in_words(self) -> str:
        first, second = (brief(side.value) for side in self.sides)
        value, low, high = map(brief, self.apart)
        return f"{first} and {second}, distances from neutral differ by {value} [{low}, {high}] over {self.over}"


def two_runs(folders: Sequence[Path], tables: Sequence[pd.DataFrame]) -> list[TwoSided]:
    """The measures of bias that both runs have. tables: their scores. A run without names.csv, or without resamples,
    has no seeds, or no known items."""
    rows = apart(*tables, tuple(map(_resamples, folders)), tuple(map(_families, folders)))
    rows = without_samples(rows.assign(measure=rows["metric"]))
    several = len(rows.drop_duplicates(["encoder", "task", "strategy"])) > 1
    tests = [permutation_tests(table) for table in tables]
    found = []
    for header, row in zip(headers(rows), rows.to_dict("records"), strict=True):
        model = ", ".join(row[key] for key in ("encoder", "task") if row[key] != NA)
        found.append(
            TwoSided(
                f"{header} ({model})" if several else header,
                tuple(_side(row, run, of_run) for run, of_run in zip(RUNS, tests, strict=True)),
                RUNS.index(row["more"]) if row["more"] else None,
                (row["apart"], row["apart_low"], row["apart_high"]),
                row["over"],
                moved_in_words(row["metric"], row["dataset"]),
            )
        )
    return found


def _side(row: Mapping, run: str, tests: Mapping) -> Side:
    measure = by_rows()[row["metric"], row["part"], row["variant"]]
    value, low, high = (row[f"{name}_{run}"] for name in ("value", "low", "high"))
    about = {"measure": row["metric"], "neutral": measure.neutral, "better": measure.better, "group": measure.group}
    cell = SimpleNamespace(
        value=value, low=low, high=high, interval=ITEMS, caution="", **about
    )  # apart has no doubtful one
    test = tests.get((row["encoder"], row["task"], row["metric"], row["dataset"]))
    says = with_test(measured(cell, row["task"]), value, test).verdict
    return Side(value, *places([value, low, high], measure).tolist(), says, row[f"seeds_{run}"])


def _resamples(folder: Path) -> pd.DataFrame:
    """The resamples of the run's untouched scores."""
    tables = (read_parquet(path) for path in sorted(folder.glob("scores/**/*.resamples.parquet")))
    return pd.concat([pd.DataFrame(columns=COLUMNS), *(table[table["method"] == NONE] for table in tables)])


def _families(folder: Path) -> dict[str, str]:
    names = folder / "names.csv"
    return families(read_text_csv(names)) if names.is_file() else {}


def verdicts(rows: Sequence[TwoSided], runs: Sequence[str]) -> list[tuple[str, str]]:
    """What is said first of two runs, in columns: which is more biased by which measures, and what of seeds is known.

    A difference that is shown over items alone may be that of two seeds: so it is said how much another seed moved the
    measure on encoders that were calibrated."""
    said = []
    for place, run in enumerate(runs):
        shown = ", ".join(row.name for row in rows if row.more == place)
        said += [(f"{run} is more biased by:", shown)] if shown else []
    if not said:
        said.append(("more biased:", "no measure shows either run to be"))
    alone = [row for row in rows if row.more is not None and not row.seeds_known]
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
