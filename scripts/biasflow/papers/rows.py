"""The printed numbers of a paper and ours, joined once: a row for each printed number, ours beside it, or why there is
none. The ledger prints these rows; tables without a function are made of the same scores."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from biasflow.base.by_name import module_named
from biasflow.base.errors import BiasflowError
from biasflow.papers.frames import NOT_ASKED, NOT_RUN, RUN, Run, with_reasons
from biasflow.papers.paper import HERE, PRINTED, Compared, PaperText, Target
from biasflow.registry import PLAIN, STRATEGIES
from biasflow.results.scores import KEYS, NA
from biasflow.results.tables import PUBLISHED, merge_published

# What printed.csv says about a number: where it stands (table), its text, deviation and star, the setting that is
# printed with it (at), whose data it is of (of), what other printed numbers say of it (audit), and why no table of ours
# has it (why_not). All other columns are keys: what the number is of.
ABOUT = ("table", "printed", "sd", "star", "unit", "at", "of", "audit", "why_not")
MEASURE = ("encoder", "metric", "variant")  # keys that have a column of their own in the ledger; the others are its row
# Models are called by the name of their strategy in printed.csv, and by its label in our tables.
LABEL_OF_STRATEGY = {name: strategy.label for name, strategy in STRATEGIES.items() if name != PLAIN}
NUMBERS = ("ours", "ours_sd", "ours_n")  # of our values
BESIDE = ("ours_star", "ours_at")  # texts of our values, as a printed star and setting
NOTHING = pd.DataFrame(columns=["encoder", "metric", *NUMBERS, *BESIDE, "absent"])  # absent: why ours is missing
_NO_KEYS = {*ABOUT, "encoder", "value", "value_sd"}
SCALES = {"percent": 100}  # unit of a printed number -> how many of it our scores' unit is
SEEDS = ("seed", "head_seed", "split_seed", "readout_seed")
STANDS_IN = "stands_in"  # option of a run: its encoders that are no printed ones, where they stand for one
NOTE = "note"  # in a table's attrs: what its caption says more in this run
MOST_REASONS = 3
LEAST_STARRED = 6  # models: of fewer pairs no permutation test has p < 0.05
LAST = ("last_printed", "last_ours")  # layers, by their numbers from 1
NOT_THERE = " (not run)"  # behind the name of a printed encoder
ANOTHER = " (another encoder"  # and behind that of one in its place
BOUND = "<"  # how a printed p begins that is only said to be below a number
MISSING = "\u2013"  # of a cell in the layout of a paper; a hyphen would begin a formula in a spreadsheet
CONSTRUCTION = "construction"  # whose data a number is of (`of`) that no run can give otherwise


def function_of(text: PaperText, about: Target | Compared) -> Callable:
    """Return the function of a run that makes a table, figure or page; BiasflowError if there is none of its name."""
    if not about.made_by:
        return partial(pivoted, text=text, target=about)
    return partial(_named(text, about.made_by), **about.options)


def _named(text: PaperText, function: str) -> Callable:
    """A function of the paper's folder, as paper.yaml names it."""
    module = text.module_of(function)
    try:
        return getattr(module_named(module), function.rpartition(".")[2])
    except (AttributeError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name not in (module, module.rpartition(".")[0]):
            raise
        raise BiasflowError(f"{text.name}: paper.yaml names a function that is not there: {function}") from error


def pivoted(run: Run, text: PaperText, target: Target) -> pd.DataFrame:
    """Return a table of paper.yaml: a row for each combination of the keys `rows` that has a score or a printed number,
    a column for each metric, the printed value and the difference after it, and `status`.

    Seeds are put together by `aggregate`. A printed number stands beside the encoders of the run that have the hub id
    and revision of the printed one. BiasflowError names a key of the scores, other than a seed, that neither `rows` nor
    `only` tells apart, and a printed metric that is no column."""
    keys, metrics = [*target.rows], [*target.metrics]
    scores = run.scores[run.scores["metric"].isin(metrics)]
    for key, values in target.only.items():
        scores = scores[scores[key].isin(values)]
    others = [key for key in KEYS if key not in (*keys, "metric", *SEEDS)]
    for key in others:
        mixed = scores.groupby([*keys, "metric"])[key].unique().loc[lambda values: values.map(len) > 1]
        for (*_, metric), values in mixed.head(1).items():
            said = ", ".join(sorted(values))
            raise BiasflowError(
                f"{text.name}: {metric} has several values of {key} in a row: {said}; add it to rows or only"
            )
    ours = scores.groupby([*keys, "metric"], sort=False)["value"].agg(target.aggregate).unstack("metric")
    printed = printed_rows(run, text, target)
    for metric in sorted(set(printed) - {*keys, *metrics}):
        raise BiasflowError(f"{text.name}: {target.printed_in} prints {metric}; add it to the metrics of the table")
    table = ours.reindex(columns=metrics).astype(float).reset_index().assign(status=RUN)
    values = [name for name in metrics if name in printed]
    table = merge_published(table, printed, on=keys, values=values, printed_only=True)
    of_plan = [key for key in keys if key in run.plan]

    def reason(row: NamedTuple) -> str:
        """The plan's reason for what is printed and was not run: for its encoder, method and dataset."""
        cells = {key: getattr(row, key) for key in of_plan if getattr(row, key) != NA}
        return run.reason(**cells) or NOT_ASKED

    return with_reasons(table, reason)


def printed_rows(run: Run, text: PaperText, target: Target) -> pd.DataFrame:
    """The printed numbers of a table by its `rows`, a column per metric; keys that are not printed are NA."""
    keys = [*target.rows]
    printed = run.printed[(run.printed["table"] == target.printed_in) & (run.printed["encoder"] != "")]
    printed = of_our_encoders(printed, same_encoders(text, run)).replace(dict.fromkeys(keys, ""), NA)
    return printed.pivot(index=keys, columns="metric", values="value").rename_axis(columns=None).reset_index()


def of_our_encoders(printed: pd.DataFrame, same: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Printed numbers, each once for every encoder of the run that is the printed one (`same_encoders`), under its
    name; a number that is of no encoder stays."""
    names = printed["encoder"].map({"": [""], **same})
    return printed.assign(encoder=names).explode("encoder").dropna(subset="encoder")


def read_printed(paper: str, folder: str | Path | None = None) -> pd.DataFrame:
    """Return the numbers of a paper's printed.csv, in its folder or in papers/<paper>, in their order: its columns as
    text, "" where there is nothing, all of ABOUT and MEASURE, and the numbers `value` (NaN for a BOUND) and `value_sd`
    in the unit of our scores; no rows for a paper without such a file. BiasflowError for one that is no CSV."""
    path = Path(folder or HERE / paper, PRINTED)
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False) if path.is_file() else pd.DataFrame()
        frame = frame.reindex(columns=list(dict.fromkeys([*frame, *ABOUT, *MEASURE])), fill_value="")
        scale = frame["unit"].map(SCALES).astype(float).fillna(1)
        printed = frame["printed"].replace(f"^{BOUND}.*", "nan", regex=True)
        numbers = {"value": printed.astype(float), "value_sd": frame["sd"].replace("", "nan").astype(float)}
        numbers = {name: values / scale for name, values in numbers.items()}
    except (KeyError, ValueError) as error:  # pandas' own errors, wrong encodings, what is no number
        raise BiasflowError(f"{path}: not valid CSV: {' '.join(str(error).split())}") from error
    return frame.assign(**numbers)


def same_encoders(text: PaperText, run: Run) -> dict[str, list[str]]:
    """Encoder as printed -> the encoders of the run that are it, by the hub's id and the revision, or a copy of it in a
    folder, by the sha256 of its weights: a name says nothing."""
    ids, revisions = (run.attributes("encoder", attribute) for attribute in ("id", "revision"))
    ours = {name: (_repository(repository), revisions.get(name)) for name, repository in ids.items()}
    theirs = {name: (_repository(about["id"]), about["revision"]) for name, about in text.encoders.items()}
    weights = run.attributes("encoder", "sha256")
    return {
        printed: [
            name
            for name in dict.fromkeys([*ours, *weights])
            if ours.get(name) == that or weights.get(name) == text.encoders[printed].get("weights", "")
        ]
        for printed, that in theirs.items()
    }


def _repository(identifier: str) -> str:
    """The name of a hub repository without its owner, which old ones lack; the revision, a commit, tells them apart."""
    return identifier.rpartition("/")[2]


def other_data(run: Run, text: PaperText) -> Mapping[str, str]:
    """Why numbers are not comparable: word of the column `of` -> reason, "" where the run has the same data."""
    return _named(text, text.other_data)(run) if text.other_data else {}


def sampled(run: Run, text: PaperText, of: str) -> list[str]:
    """The tasks and datasets with what numbers are `of`, words of that column, of which the run read a sample."""
    return run.samples(text.metrics_of(of))


def joined(run: Run, text: PaperText) -> pd.DataFrame:
    """The printed numbers of a paper, each with ours, ours_sd, ours_n, ours_encoder and `absent`, why there is no ours:
    of the tables without a function and of what paper.yaml has under `ledger`, by the keys that both have. An encoder
    that is no printed one stands for one (`standing_in`): which numbers can be compared is not said here."""
    numbers, run = run.printed, standing_in(run, text)
    # Of several methods or encoders that a number stands beside, the first that has a value.
    found = _matched(run, text, _ours(run, text)).drop_duplicates("place").set_index("place")
    found = found.reindex(numbers.index).rename(columns={"encoder": "ours_encoder"})
    values = found[[*NUMBERS]].astype(float)
    absent = _why_absent(numbers.assign(absent=found["absent"].fillna("")))
    return numbers.join(values).assign(ours_encoder=found["ours_encoder"].fillna(""), absent=absent)


def _why_absent(rows: pd.DataFrame) -> pd.Series:
    """Why there is no ours: of the plan, else of printed.csv."""
    return rows["absent"].where(rows["absent"] != "", rows["why_not"]).replace("", NOT_ASKED)


def _matched(run: Run, text: PaperText, ours: pd.DataFrame) -> pd.DataFrame:
    """Our values, in the unit of the print, at the `place` of each printed number that they stand beside, under the
    name of our encoder; those that are missing come last."""
    keys = [name for name in ours if name in run.printed]
    numbers = run.printed[keys].assign(place=run.printed.index, scale=run.printed["unit"].map(SCALES).fillna(1))
    found = of_our_encoders(numbers, same_encoders(text, run)).merge(ours, on=keys)
    values = {name: found[name].astype(float) * found["scale"] for name in NUMBERS[:2]}
    return found.assign(**values).sort_values("ours", key=pd.isna, kind="stable")


def standing_in(run: Run, text: PaperText) -> Run:
    """The run in which each encoder of the paper's options that is no printed one stands for the first of these, and
    its data for the paper's, so that their numbers stand side by side."""
    names, same = run.names, same_encoders(text, run)
    others = {*run.options.get("encoders", ())} - {name for names in same.values() for name in names}
    identity = ("id", "revision")
    rows = [
        (name, "encoder", key, next(iter(text.encoders.values()))[key]) for name in sorted(others) for key in identity
    ]
    kept = names[~((names["kind"] == "encoder") & names["name"].isin(others) & names["attribute"].isin(identity))]
    names = pd.concat([kept, pd.DataFrame(rows, columns=list(names))], ignore_index=True)
    return replace(run, names=names, options={**run.options, STANDS_IN: sorted(others)})


def in_print(run: Run, text: PaperText) -> pd.DataFrame:
    """Every printed number of an encoder beside ours, once for each encoder of the run (`standing_in`), in the order of
    the print: its keys and ABOUT, NUMBERS, BESIDE, `absent`, encoder, which says where it is another one, of_encoder,
    as printed, and LAST, the last layers of this and of ours, as far as they are known."""
    run = standing_in(run, text)
    first = {about["id"]: printed for printed, about in reversed(text.encoders.items())}  # an encoder of several names
    same = {
        printed: names or [f"{first[text.encoders[printed]['id']]}{NOT_THERE}"]
        for printed, names in same_encoders(text, run).items()
    }
    numbers = run.printed[run.printed["encoder"] != ""]
    numbers = of_our_encoders(numbers.assign(place=numbers.index), same)
    found = _matched(run, text, _ours(run, text)).drop_duplicates(["place", "encoder"])
    rows = numbers.merge(found[["place", "encoder", *NUMBERS, *BESIDE, "absent"]], "left", on=["place", "encoder"])
    rows = rows.assign(of_encoder=run.printed["encoder"].loc[rows["place"]].to_numpy())
    layers = {printed: about.get("layers", np.nan) for printed, about in text.encoders.items()}
    of_ours = rows["encoder"].map(run.attributes("encoder", "layers")).astype(float)
    rows = rows.assign(**dict(zip(LAST, (rows["of_encoder"].map(layers), of_ours), strict=True)))
    rows = rows.fillna(dict.fromkeys([*BESIDE, "absent"], ""))
    lacks = rows["ours"].isna() & (rows["absent"] == "")  # any row of ours: the plan may say why
    why = cache(lambda of, encoder: run.reason(encoder=encoder, metric=text.metrics_of(of)).replace(NOT_ASKED, ""))
    rows.loc[lacks, "absent"] = [
        why(*of) if of[0] in text.reads else "" for of in rows.loc[lacks, ["of", "encoder"]].itertuples(index=False)
    ]
    folders = run.attributes("encoder", "path")
    which = {name: f": {Path(folders[name]).name}" for name in run.options[STANDS_IN] if name in folders}
    names = {name: f"{name}{ANOTHER}{which.get(name, '')})" for name in run.options[STANDS_IN]}
    return rows.assign(encoder=rows["encoder"].replace(names))


def as_printed(numbers: pd.DataFrame, text: PaperText, target: Target) -> pd.DataFrame:
    """Return a table in the paper's layout, as text: its rows, columns, words, decimals and stars, in each cell our
    value and, in brackets, the printed one. numbers: `in_print`. The note says whose numbers these are, what the signs
    mean, and why something is missing (MISSING)."""
    layout, table = target.as_printed, {}
    shown = numbers[numbers["table"] == target.printed_in]
    for key, value in layout.get("only", {}).items():
        shown = shown[shown[key] == value]
    shown = shown.assign(last=shown["encoder"].str.endswith(NOT_THERE)).sort_values(["last", "encoder"], kind="stable")
    few = shown["ours_n"] < LEAST_STARRED
    shown = shown.assign(ours_star=shown["ours_star"].mask(few, ""))
    for row in shown.to_dict("records"):
        *above, last = ([row[key] for key in layout[part]] for part in ("rows", "columns"))
        cells = table.setdefault((row["encoder"], _in_layers(_worded(*above, text.words), *map(row.get, LAST))), {})
        has_count = layout.get("counts") and not np.isnan(row["ours"] * row["ours_n"])
        ours = _ours_as(row) + (f" (n = {row['ours_n']:.0f})" if has_count else "")
        cells[_worded(last, text.words)] = f"{ours} [{_cell(row['printed'], row['sd'], row['star'], row['at'])}]"
    named = _worded(["_".join(layout["rows"])], text.words)
    rows = [{"encoder": encoder, named: name, **cells} for (encoder, name), cells in table.items()]
    keys = layout["columns"]
    places = [shown[key].map({value: place for place, value in enumerate(shown[key].unique())}) for key in keys]
    ordered = shown.assign(place=list(zip(*places, strict=True))).sort_values("place", kind="stable")[keys]
    columns = dict.fromkeys(_worded(values, text.words) for values in ordered.itertuples(index=False))
    frame = pd.DataFrame(rows, columns=["encoder", named, *columns]).fillna("")
    frame.attrs[NOTE] = " ".join(_notes(shown, bool(few.any()), frame))
    return frame


def _notes(shown: pd.DataFrame, few: bool, frame: pd.DataFrame) -> list[str]:
    """The sentences of `as_printed`, the first of which a page shows."""
    there = shown[~shown["encoder"].str.endswith(NOT_THERE)]
    pairs = [f"{ours}, and in brackets the printed numbers, of {of}" for ours, of in _encoders_of(there).items()]
    stand_in = any(ANOTHER in name for name in there["encoder"].unique())
    others = ", which another encoder does not reproduce" * stand_in
    if away := len(shown) - len(there):
        others += f"; {away} of {len(shown)} cells are of encoders that were not run, in the rows{NOT_THERE}"
    missing, absent = _why_absent(there[there["ours"].isna()]), there["ours"].isna().sum()
    why = "; ".join(missing.unique()[:MOST_REASONS]).rstrip(".")
    lacking = f"; {absent} of {len(there)} have no value of ours ({MISSING}): {why}" * bool(absent)
    whose = f"Ours are of {'; of '.join(pairs)}{others}" if pairs else "In brackets are the printed numbers"
    notes = [f"{whose}{lacking}."]
    for name, of_encoder in there.groupby("encoder", sort=False):
        printed, ours = of_encoder[[*LAST]].iloc[0]
        own = f"Rows have the layers of {name}, counted from the last: its layer {ours:.0f} is {printed:.0f} in print."
        notes += [own] * bool(abs(ours - printed) > 0 and frame.iloc[:, 1].str.contains("Layer").any())
    signs = {"\u00b1": "\u00b1 is the standard deviation.", "*": "* p < 0.05."}
    cells = " ".join(frame.iloc[:, 2:].to_numpy().ravel())
    notes += [meaning for sign, meaning in signs.items() if sign in cells]
    untested = f"Ours are of fewer than {LEAST_STARRED} models, whose test cannot find p < 0.05: no star, no claim."
    return notes + [untested] * (few and "*" in cells)


def _in_layers(words: str, printed: float, ours: float) -> str:
    """The words of a row with our encoder's layers, counted from its last one, in place of the printed one's."""
    if printed == ours or np.isnan(printed - ours):
        return words
    return re.sub(r"(?<=Layer )\d+", lambda number: f"{int(number[0]) + ours - printed:.0f}", words)


def _encoders_of(shown: pd.DataFrame) -> dict[str, str]:
    """Encoder as a table names it -> the printed ones beside it."""
    return {name: " and ".join(rows["of_encoder"].unique()) for name, rows in shown.groupby("encoder", sort=False)}


def _worded(values: Sequence[str], words: Mapping[str, str]) -> str:
    """The values of keys as the paper calls them."""
    whole = " ".join(filter(None, values))
    return words.get(whole) or " ".join(filter(None, (words.get(value, value) for value in values)))


def _ours_as(row: Mapping) -> str:
    """Our value with the decimals, and with what stands beside it, of the printed one; a p below these is never 0."""
    if np.isnan(row["ours"]):
        return MISSING
    decimals, of_sd = (len(row[key].partition(".")[2]) for key in ("printed", "sd"))
    is_small = row["metric"].endswith("p_value") and row["ours"] < (least := 10**-decimals)
    value = f"{BOUND}{least:.{decimals}f}" if is_small else f"{row['ours']:z.{decimals}f}"
    sd = f"{row['ours_sd']:z.{of_sd}f}" if row["sd"] and not np.isnan(row["ours_sd"]) else ""
    return _cell(value, sd, row["ours_star"], row["ours_at"] if row["at"] else "")


def _cell(value: str, sd: str, star: str, at: str) -> str:
    return value + "*" * (star == "yes") + (f" ± {sd}" if sd else "") + (f" ({at})" if at else "")


def _ours(run: Run, text: PaperText) -> pd.DataFrame:
    """Our values by the keys of the printed numbers."""
    blocks, tables = [NOTHING], {}
    for target in text.tables.values():
        if target.rows:
            table = pivoted(run, text, target).replace(dict.fromkeys([*target.rows], NA), "")
            values = {metric: metric for metric in target.metrics}
            blocks += _cells(run, table, Compared(values, fixed={"table": target.printed_in}))
    for about in text.ledger:
        made = (about.made_by, *sorted(about.options.items()))
        if made not in tables:
            tables[made] = function_of(text, about)(run)
        blocks += _cells(run, tables[made], about)
    table = pd.concat([block for block in blocks if len(block)] or blocks, ignore_index=True)
    keys = [name for name in table if name not in NUMBERS]  # and texts
    table = table.assign(**table[keys].astype(object).fillna("").astype(str))
    names = {label: name for name, label in LABEL_OF_STRATEGY.items()}
    return table.replace({"model": names}) if "model" in table else table


def _cells(run: Run, table: pd.DataFrame, about: Compared) -> Iterator[pd.DataFrame]:
    """The numbers of a table of ours as `NOTHING` has them, with the keys of the printed numbers, column by column."""
    values = about.values if isinstance(about.values, Mapping) else {name: name for name in about.values}
    of_table = {key: key for key in run.printed if key in table and key not in _NO_KEYS} | about.keys
    for column, metric in values.items():
        if about.everywhere or column + PUBLISHED in table:
            rows = table if about.everywhere else table[table[column + PUBLISHED].notna()]
            of_column = {"metric": metric} if isinstance(metric, str) else metric
            block = {**of_column} | {key: rows[name] for key, name in of_table.items()} | about.fixed
            for name, source in zip(NUMBERS, ("{}", about.sd, about.n), strict=True):
                block[name] = rows[source.format(column)].astype(float) if source else np.nan
            for name, source in zip(BESIDE, (about.star, about.at.format(column)), strict=True):
                block[name] = rows.get(source, "")
            reasons = rows[about.status].str.removeprefix(NOT_RUN).replace(RUN, "") if about.status else ""
            if about.few:
                few = rows[about.few.format(column)]
                block["ours"] = block["ours"].mask(few != "")
                reasons = reasons.where(few == "", few)
            yield rows.assign(**block, absent=reasons)[["encoder", *block, "absent"]]
