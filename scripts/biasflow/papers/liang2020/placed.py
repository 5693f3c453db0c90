"""The scores of a run behind Liang, Dufter & Schütze's tables (2020): by method and place, with reasons for absent
ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.papers import frames
from biasflow.papers.frames import NOT_ASKED, RUN, Run, status
from biasflow.papers.paper import load
from biasflow.papers.rows import of_our_encoders, same_encoders
from biasflow.results.scores import KEYS, NA, NONE
from biasflow.results.tables import arranged, merge_published, unmatched

PLACEMENT = ["eraser", "places"]
KEY = ["encoder", "method", *PLACEMENT]  # of the tables
EACH = "densray-each"  # DensRay in one layer at a time
AFTER = "-mlm"  # how an encoder's name ends after an epoch of masked-LM training on the text
PRETRAINED, FINETUNED = "pretrained", "finetuned"
CHINESE = "chinese-professions"
# How the places begin where these numbers stand; for those of the paper's own tables it is "table of".
NOTEBOOKS = "released notebook"
# Measure of the tables -> its cells in the plan; the others are named as their metric.
_CELLS = {
    "association": {"metric": ["weat", "seat"]},
    "chinese": {"metric": "occtmp", "dataset": CHINESE},
    "glue": {"metric": "accuracy"},
}
_PRINTED_ONLY = ""  # the method of what is printed of a placement that no method of the run has
# Columns of the tables that hold text: empty, not NaN, where there is none.
_TEXT = {*KEY, "set", "test", "pooling", "verdict", "exact", "text", "stage", "task", "strategy", "metric", "place"}
_TEXT |= {"highest_head"}


class Placement(NamedTuple):
    """The identity of a method: its eraser, with the options that are not the default ones, and the places where it
    acts."""

    eraser: str
    places: str


DENSRAY = Placement("densray", "all")  # the paper's method


@dataclass(frozen=True)
class Rows:
    """The part of a run that belongs to this paper.

    scores: those of its encoders and methods, with PLACEMENT (a setting's own place where a method has several) and
    the columns `stage` (of the language model: FINETUNED for the encoder after masked-LM training, whose rows have its
    parent's name) and `set` (the dataset); layers: the same of DensRay in single layers; encoders: those that were
    scored, then the others; methods: name -> placement, in the order of rows."""

    run: Run
    scores: pd.DataFrame
    layers: pd.DataFrame
    encoders: list[str]
    methods: Mapping[str, Placement]

    @property
    def inside(self) -> pd.DataFrame:
        """The scores of the encoders themselves, not of models that were fine-tuned on a task."""
        return self.scores[(self.scores["task"] == NA) & (self.scores["strategy"] == NA)]

    def tasks(self, kind: str) -> list[str]:
        """The names of the run's tasks of a kind, such as "glue"."""
        return [name for name, task_kind in self.run.attributes("task", "kind").items() if task_kind == kind]

    def reason(self, encoder: str, measure: str, method: str | None = None) -> str:
        """Return why a measure has no scores; "" if the plan says that it was run.

        An encoder without any score has the reason of all its cells; a placement that is printed, and that no method
        has, has no name and was not asked for."""
        if encoder not in set(self.scores["encoder"]) and (alone := self.run.reason(encoder=encoder)):
            return alone
        if method == _PRINTED_ONLY:
            return NOT_ASKED
        cells = {**_CELLS.get(measure, {"metric": measure}), "encoder": [encoder, encoder + AFTER]}
        trainings = self.run.plan["training"].drop_duplicates()
        of_task = trainings.str.split("/").str[0].isin(self.tasks(measure))
        cells["training"] = list(trainings[of_task]) if measure == "glue" else PRETRAINED
        return self.run.reason(**cells, **({"method": [method, of_pretrained(method)]} if method else {}))


def of_paper(run: Run, *, chinese: bool = False) -> Rows:
    """The paper's part of a run; with `chinese` also that of encoders that are there for the Chinese occupations
    alone."""
    options = run.options
    methods = placements(run, [NONE, *options["methods"], *options["inside_only"]])
    encoders = list(dict.fromkeys([*options["encoders"], *(options["chinese"] if chinese else [])]))
    scores = _decoded(run.scores, encoders, methods)
    layers = _decoded(run.scores, encoders, placements(run, [EACH]))
    scored = sorted(set(scores["encoder"]))
    shown = [*scored, *(name for name in encoders if name not in scored)]
    return Rows(run, scores, layers[layers["task"] == NA], shown, methods)


def published_rows(ours: Rows, source: str = NOTEBOOKS) -> pd.DataFrame:
    """The printed values of a source in the form of `Rows.scores`, of those encoders that are shown and are the printed
    ones: each beside every method of the same placement, and under no method's name where there is none."""
    printed = ours.run.printed
    printed = printed[printed["table"].str.startswith(source)]
    absent = [key for key in KEYS if key not in printed and key != "method"]
    printed = printed.assign(**dict.fromkeys(absent, NA), set=printed["dataset"])
    printed = printed.assign(stage=printed["stage"].replace("", PRETRAINED))
    printed = of_our_encoders(printed, same_encoders(load("liang2020"), ours.run))
    rows = printed[printed["encoder"].isin(ours.encoders)].merge(_table(ours.methods), on=PLACEMENT, how="left")
    return rows.fillna({"method": _PRINTED_ONLY})


def placements(run: Run, names: Sequence[str]) -> dict[str, Placement]:
    """Return method -> its placement in names.csv; the untouched model has neither eraser nor places."""
    about = [run.attributes("method", attribute) for attribute in ("eraser", "options", "places")]
    result = {}
    for name in names:
        eraser, options, places = (attribute.get(name, "") for attribute in about)
        result[name] = Placement(f"{eraser} ({options})" if options else eraser, places)
    return result


def _decoded(scores: pd.DataFrame, encoders: Sequence[str], methods: Mapping[str, Placement]) -> pd.DataFrame:
    """The rows of these encoders and methods, with stage, set and placement. What an encoder became by masked-LM
    training has its name, and the methods that were fitted before it have their own."""
    children, fitted = {name + AFTER: name for name in encoders}, {of_pretrained(name): name for name in methods}
    before, after = (scores[scores["encoder"].isin(names)] for names in ([*encoders], children))
    after = after.assign(encoder=after["encoder"].map(children), method=after["method"].map(fitted))
    rows = pd.concat([before.assign(stage=PRETRAINED), after.assign(stage=FINETUNED)]).merge(_table(methods))
    return rows.assign(set=rows["dataset"], places=rows["places"].where(rows["setting"] == NA, rows["setting"]))


def _table(methods: Mapping[str, Placement]) -> pd.DataFrame:
    """A row per method: its name and its placement."""
    return pd.DataFrame([(name, *placement) for name, placement in methods.items()], columns=KEY[1:])


def of_metrics(rows: pd.DataFrame, prefix: str) -> pd.DataFrame:
    """The rows of the metrics `<prefix>_<metric>`, with `metric` without the prefix."""
    chosen = rows[rows["metric"].str.startswith(f"{prefix}_")]
    return chosen.assign(metric=chosen["metric"].str.removeprefix(f"{prefix}_"))


def wide(rows: pd.DataFrame, index: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """One row per `index` (which includes KEY) that has one of these metrics, and a column for each of them."""
    rows = rows[rows["metric"].isin(metrics)]
    table = frames.wide(rows, index).reindex(columns=[*metrics]).astype(float)
    return table.rename_axis(columns=None).reset_index()


def finished(
    table: pd.DataFrame,
    ours: Rows,
    measure: str,
    unit: Sequence[str],
    *,
    changes: Sequence[str] = (),
    printed: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return a table by KEY and `unit` as it is shown: rows in order, `changes` from the untouched encoder, the keys
    first, rows with a reason for what was not run, and the printed values (by the same keys) beside ours."""
    table = change_from_none(ordered(table, ["encoder", *unit], ours), unit, changes)
    first, keys = ["encoder", *unit, "method", *PLACEMENT], [*KEY, *unit]
    table = table[[*first, *(column for column in table if column not in first)]]
    if printed is None:
        return with_not_run(table, ours, measure)
    rows = with_not_run(table, ours, measure, printed[keys])
    return merge_published(rows, printed, on=keys, values=[column for column in printed if column not in keys])


def of_pretrained(method: str) -> str:
    """The name of the method as it is fitted on the encoder before training, which the printed perplexity needs."""
    return method if method == NONE else f"{method}-pretrained"


def other_data(run: Run) -> Mapping[str, str]:
    """Why numbers are not comparable, which only those of GLUE may be: words, tests and texts go by their names, each
    of which is one file; others have no printed number."""
    return {"glue": "the paper does not say which metric of the task its table of GLUE has"}


def of_shared_seeds(table: pd.DataFrame, unit: Sequence[str]) -> pd.DataFrame:
    """The rows of the seeds that all methods with scores in a `unit` have, so that their differences are paired: other
    parts of a run may have asked for more seeds of some. Raises BiasflowError where there is no such seed."""
    keys = ["encoder", *unit]
    methods = table.groupby(keys)["method"].transform("nunique")
    shared = table[table.groupby([*keys, "seed"])["method"].transform("nunique") == methods]
    for row in unmatched(table, shared, keys).head(1).to_dict("records"):
        where = ", ".join(f"{name} {row[name]}" for name in keys)
        raise BiasflowError(f"{where}: methods have no seed in common; ask for the same seeds of each")
    return shared


def change_from_none(table: pd.DataFrame, unit: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """`table` with `<column>_change` after each of `columns`: minus the value of the untouched encoder in that unit."""
    table, keys = table.copy(), [table[key] for key in ("encoder", *unit)]
    for column in columns:
        untouched = table[column].where(table["method"] == NONE).groupby(keys).transform("first")
        table.insert(table.columns.get_loc(column) + 1, f"{column}_change", table[column] - untouched)
    return table


def ordered(table: pd.DataFrame, by: Sequence[str], ours: Rows) -> pd.DataFrame:
    """Rows sorted by `by`, then in the order of the methods; placements that are only printed come last."""
    return arranged(table, **dict.fromkeys(by) | {"method": ours.methods, "eraser": None, "places": None})


def with_not_run(table: pd.DataFrame, ours: Rows, measure: str, printed: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return `table` with a column `status`, and rows with the reason for what is not in it.

    A method of an encoder that the plan has a reason for has one row; so has an encoder without any, or it has a row
    for each of the keys that `printed` has for it."""
    blocks = []
    for encoder, block in table.groupby("encoder", sort=False):
        absent = [method for method in ours.methods if "method" in block and method not in set(block["method"])]
        rows = [(encoder, name, *ours.methods[name], not_run(ours, encoder, measure, name)) for name in absent]
        rows = pd.DataFrame(rows, columns=[*KEY, "status"])
        blocks += [block.assign(status=RUN), rows[rows["status"] != status(NOT_ASKED)]]
    for encoder in ours.encoders:
        if encoder in set(table["encoder"]):
            continue
        keys = pd.DataFrame() if printed is None else printed[printed["encoder"] == encoder]
        unit = [column for column in keys if column not in KEY]
        keys = ordered(keys, unit, ours) if len(keys) else pd.DataFrame({"encoder": [encoder]})
        blocks.append(keys.assign(status=not_run(ours, encoder, measure)))
    rows = pd.concat([block for block in blocks if len(block)], ignore_index=True).reindex(columns=[*table, "status"])
    text = [column for column in rows if column in _TEXT]
    return rows.astype(dict.fromkeys(text, object)).fillna(dict.fromkeys(text, ""))


def not_run(ours: Rows, encoder: str, measure: str, method: str | None = None) -> str:
    """Return the status of a measure without scores: the plan's reason, or a general one."""
    return status(ours.reason(encoder, measure, method) or "no scores came of it")
