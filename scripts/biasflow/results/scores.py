"""The one tidy table of scores: its columns, its checks, and how it is written and read. docs/scores explains it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.tabular import as_written, read_text_csv, write_csv
from biasflow.results.bootstrap import RESAMPLED

NA, NONE = "-", "none"  # a key that does not apply; the method that leaves a model untouched
MODEL = ["encoder", "task", "strategy", "seed"]
METHOD = ["method", "setting"]
HEAD = ["head", "head_seed"]
MEASURE = ["metric", "part", "variant"]
KEYS = [*MODEL, *METHOD, *HEAD, "dataset", "split_seed", "readout_seed", *MEASURE]
VALUES = ["value", "n", "low", "high"]
COLUMNS = [*KEYS, *VALUES]
ROUNDING = 1e-9  # by so much, or this part of it, a value may lie outside its interval


def tidy(frame: pd.DataFrame, **keys: object) -> pd.DataFrame:
    """`frame` (some key columns and `value`) as a table of scores: `keys` fill whole columns, absent ones are NA.

    Every key is text; absent n, low and high are NaN; resamples are left out. The table comes back validated, in the
    fixed column order and sorted. BiasflowError for an unknown column, an empty key, or two rows with the same keys."""
    frame = frame.drop(columns=RESAMPLED, errors="ignore").assign(**keys)
    absent = dict.fromkeys(KEYS, NA) | dict.fromkeys(["n", "low", "high"], np.nan)
    return _checked(frame.assign(**{key: value for key, value in absent.items() if key not in frame}))


def concatenate(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """All tables in one, sorted by their keys. Raises BiasflowError where two rows have the same keys."""
    frames = [frame for frame in frames if len(frame)]
    return _checked(pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS))


def write_scores(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table of scores as CSV: sorted, 10 significant digits, NaN as `NaN`, whole or absent."""
    write_csv(_checked(frame), path, na_rep="NaN")


def read_scores(path: str | Path) -> pd.DataFrame:
    """Read what `write_scores` wrote: keys stay text ("-", "none" and "0" too), values are floats, maybe NaN."""
    try:
        frame = pd.read_csv(
            path, dtype=dict.fromkeys(KEYS, str), keep_default_na=False, na_values={value: ["NaN"] for value in VALUES}
        )
        return _checked(as_written(frame))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, BiasflowError) as error:
        raise BiasflowError(f"{path}: {error}") from error


def read_all(scores: Iterable[str | Path], reasons: Iterable[str | Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the scores of several jobs into one table, and why others have none (HOLES) into another; what two papers
    ask for, and each scores, stands in them once."""
    frames = [frame for frame in map(read_scores, scores) if len(frame)]
    table = pd.concat(frames).drop_duplicates(KEYS) if frames else pd.DataFrame(columns=COLUMNS)
    holes = pd.concat([pd.DataFrame(columns=HOLES), *map(read_text_csv, reasons)])
    return _checked(table), holes.drop_duplicates(CELL)


def _checked(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with its columns in their order, sorted by its keys; BiasflowError names what is wrong, and its row."""
    if missing := [column for column in COLUMNS if column not in frame]:
        raise BiasflowError(f"scores: no column {', '.join(missing)}")
    if unknown := sorted(set(frame) - set(COLUMNS)):
        raise BiasflowError(f"scores: unknown column {', '.join(unknown)}; the columns are {', '.join(COLUMNS)}")
    for key in KEYS:
        empty = frame[key].isna() | (frame[key].astype(str) == "")
        if empty.any():
            raise BiasflowError(
                f"scores: row {empty.argmax() + 1}: column {key} is empty; write {NA!r} where a key does not apply"
            )
    try:
        frame = frame[COLUMNS].astype({**dict.fromkeys(KEYS, str), **dict.fromkeys(VALUES, float)})
    except (TypeError, ValueError) as error:
        raise BiasflowError(f"scores: {error}") from error
    duplicated = frame.duplicated(KEYS)
    if duplicated.any():
        raise BiasflowError(f"scores: two rows for {_name(frame[duplicated].iloc[0])}; each score is written once")
    slack = ROUNDING * np.maximum(frame["value"].abs(), 1)
    outside = (frame["value"] < frame["low"] - slack) | (frame["value"] > frame["high"] + slack)
    if outside.any():
        row = frame[outside].iloc[0]
        raise BiasflowError(
            f"scores: {_name(row)}: the value {row['value']:g} lies outside its interval [{row['low']:g}, "
            f"{row['high']:g}]; mend the metric that computes them"
        )
    return frame.sort_values(KEYS, ignore_index=True, kind="stable")


def _name(row: pd.Series) -> str:
    return ", ".join(f"{key}={row[key]}" for key in KEYS if row[key] != NA)


CELL = ["encoder", "task", "strategy", "seed", "method", "metric", "dataset"]
HOLES = [*CELL, "reason"]
NOT_RUN = "not run"


REASONS = "reasons"  # attribute of a table of scores: method -> why its scores have no value
OF_MEASURES = "reasons_of_measures"  # likewise: measure -> why it has no value where others of its metric have
UNDEFINED = "its value is not defined (NaN), because all items are equal, or too few"


def undefined(rows: pd.DataFrame, measures: Iterable[Sequence[str]]) -> dict[str, str]:
    """Method -> why none of the measures (metric, part, variant) that rows have of it has a value. A method of which
    they have no measure is among these if its metric says why (REASONS)."""
    shown = rows.assign(**dict.fromkeys(MEASURE, NA) | dict(rows.items()))
    shown = shown[pd.MultiIndex.from_frame(shown[MEASURE]).isin([tuple(names) for names in measures])]
    has_value = shown["value"].notna().groupby(shown["method"]).any()
    told = rows.attrs.get(REASONS, {})
    silent = {name: told[name] for name in rows["method"].unique() if name in told and name not in has_value}
    return silent | {name: told.get(name, UNDEFINED) for name, has in has_value.items() if not has}


def with_silent(reasons: Mapping[str, str], methods: Iterable[str], scored: Iterable[str]) -> dict[str, str]:
    """Method -> why it has no score, with a reason for those of `methods` that have neither a score nor a reason: of
    these no table would say that they are absent."""
    return dict.fromkeys(sorted({*methods} - {*scored}), "no score came of it") | dict(reasons)


def read_plan(plan: str | Path, reasons: pd.DataFrame) -> pd.DataFrame:
    """plan.csv with the reasons that jobs found (HOLES): a cell that one names is "not run", because of it."""
    table = read_text_csv(plan)
    later = reasons.set_index(CELL)["reason"]
    cells = pd.MultiIndex.from_frame(table[CELL])
    known = cells.isin(later.index)
    table.loc[known, "status"] = NOT_RUN
    table.loc[known, "reason"] = later.reindex(cells[known]).to_numpy()
    return table


TABLES = ("names.csv", "encoders.csv")  # of a run
SHORT = 12  # hexadecimal digits of a sha256, as of a commit
TOLD = {  # by source: the attributes of names.csv that say which one it is
    "local": ("path",),
    "hub": ("id", "revision"),
    "pretrain": ("corpus", "seed"),
    "continued": ("parent", "recipe"),
}


def models(names: pd.DataFrame, encoders: pd.DataFrame) -> dict[str, str]:
    """Encoder -> where it comes from (a folder; id and revision on the hub) and how the sha256 of its weights begins.

    names, encoders: names.csv and encoders.csv as texts."""
    weights = dict(zip(encoders["encoder"], encoders["sha256"], strict=True))
    return {name: _in_words(about, weights.get(name, "")) for name, about in attributes(names).items()}


def attributes(names: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Encoder -> its attributes in names.csv."""
    of_encoders = names[names["kind"] == "encoder"].groupby("name", sort=False)
    return {name: dict(zip(rows["attribute"], rows["value"], strict=True)) for name, rows in of_encoders}


def models_of_run(folder: Path) -> dict[str, str]:
    """The same, of the run in a folder; empty where it has no such tables yet."""
    paths = [folder / name for name in TABLES]
    return models(*map(read_text_csv, paths)) if all(path.is_file() for path in paths) else {}


def attributes_of_run(folder: Path) -> dict[str, str]:
    """The attributes of the encoder of a run that has one alone; empty otherwise."""
    path = folder / TABLES[0]
    of_encoders = [*attributes(read_text_csv(path)).values()] if path.is_file() else []
    return of_encoders[0] if len(of_encoders) == 1 else {}


def _in_words(about: Mapping[str, str], sha256: str) -> str:
    told = [f"{key} {about[key]}" for key in TOLD.get(about["source"], ()) if key in about]
    told += [f"sha256 of the weights {sha256[:SHORT]}"] if sha256 else []
    return f"{about['source']}: {', '.join(told)}" if told else about["source"]
