"""Shared by all papers: the run from which tables are made, with every score that its plan says it has."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.files import sha256
from biasflow.base.sample import limit_of, unmarked
from biasflow.registry import METRICS, TRAINING
from biasflow.results.scores import CELL, NA, read_all, read_plan
from biasflow.results.tables import unmatched

RUN, NOT_ASKED = "run", "not asked for"
NOT_RUN = "not run: "  # how the status of a row begins that has no value
CEAT = "ceat"
_SEEDS = ["head_seed", "split_seed", "readout_seed"]


def of_sample(frame: pd.DataFrame) -> pd.DataFrame:
    """Scores, or the plan, of a run with a `limit`, whose datasets are called as those of all items: captions tell."""
    return frame.assign(dataset=frame["dataset"].map(unmarked))


def with_weights(names: pd.DataFrame, files: Mapping[str, Sequence[Path]]) -> pd.DataFrame:
    """The names of a run with the sha256 of the weights of encoders; files: encoder -> those in its folder."""
    weights = {name: next((f for f in own if f.suffix == ".safetensors"), None) for name, own in files.items()}
    rows = [(name, "encoder", "sha256", sha256(file)) for name, file in weights.items() if file]
    return pd.concat([names, pd.DataFrame(rows, columns=list(names))], ignore_index=True)


@dataclass(frozen=True, eq=False)  # compared by identity, so that properties can be cached
class Run:
    """A run as tables and figures see it.

    scores: the one tidy table (results.scores), of all papers and blocks; plan: a row per cell (block, encoder,
    training, method, metric, dataset, status, reason; limited, in a run with a `limit`: whether its dataset has one);
    names: a row per attribute of a named thing (name, kind, attribute, value); printed: the numbers that the paper
    prints (papers.rows); files: small item files by role, such as examples or words, each with its path's parts as a
    key; options: the paper's own part of the configuration."""

    scores: pd.DataFrame
    plan: pd.DataFrame
    names: pd.DataFrame
    printed: pd.DataFrame = field(default_factory=pd.DataFrame)
    files: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)

    def attributes(self, kind: str, attribute: str) -> dict[str, str]:
        """Return name -> value of an attribute, for all entries of a kind that have it: attributes("encoder",
        "parent")."""
        rows = self.names[(self.names["kind"] == kind) & (self.names["attribute"] == attribute)]
        return dict(zip(rows["name"], rows["value"], strict=True))

    def reason(self, **keys: str | Collection[str]) -> str:
        """Return why no cell of the plan with these keys was run: the first reason; "" if one was run.

        `keys`: columns of the plan, each with a value or several. Without any such cell the reason is NOT_ASKED."""
        cells = self.plan
        for column, value in keys.items():
            cells = cells[cells[column].isin([value] if isinstance(value, str) else [*value])]
        if cells.empty:
            return NOT_ASKED
        return "" if (cells["status"] == RUN).any() else str(cells["reason"].iloc[0])

    def samples(self, metrics: Collection[str] = METRICS) -> list[str]:
        """The tasks and datasets of which these metrics read a sample: those with more items than the run's `limit`, of
        tasks as the option `sampled` says, else by the items of their scores (those of CEAT are draws)."""
        if not (limit := self.options.get("sample")):
            return []
        cells = self.plan[(self.plan["status"] == RUN) & self.plan["metric"].isin([*metrics])]
        task = cells["training"].str.extract("^([^/]+)/[^/]+/")[0]
        names = [*task[task.isin(self.options["sampled"])]]
        inside = cells.loc[task.isna() & cells["limited"], ["metric", "dataset"]].drop_duplicates()
        for metric, dataset in inside.itertuples(index=False):
            scores = self.scores[self.scores["metric"].isin(METRICS[metric].measures)]
            if metric == CEAT:
                names.append("contexts of CEAT")
            elif scores.loc[scores["dataset"] == dataset, "n"].max() >= limit:
                names.append(dataset)
        return sorted({*names})


def scores_and_plan(
    scores: Sequence[str | Path],
    plan: str | Path,
    reasons: Sequence[str | Path],
    scored: Collection | None = None,
    *,
    limited: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the scores of a run, or of a paper in it, and their plan. scored: the jobs whose scores these are, each by
    its encoder, training and block (None: all): of other cells the plan has those that were not run; limited: whether
    the run has a `limit`.

    BiasflowError for a score that is missing although the plan says that it was made: tables would show means of fewer
    seeds than the run has, and nobody would know."""
    read, found = read_all(scores, reasons)
    planned = read_plan(plan, found)
    if scored is not None:
        own = pd.MultiIndex.from_frame(planned[["encoder", "training", "block"]]).isin(list(map(tuple, scored)))
        planned = planned[own | (planned["status"] != RUN)].reset_index(drop=True)
    for hole in holes(read, planned).head(1).to_dict("records"):
        named = ", ".join(f"{key} {hole[key]}" for key in (*CELL, "measure", *_SEEDS) if hole[key] not in ("", NA))
        folder = f"scores/{hole['encoder']}/{hole['training']}"
        raise BiasflowError(f"{plan}: no score of {named}, which it says was run: delete {folder}, run again")
    if not limited:
        return read, planned
    return of_sample(read), of_sample(planned.assign(limited=planned["dataset"].map(limit_of) != ""))


def holes(scores: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """The scores that are missing, by their keys. A cell of the plan that is run has scores, and those of each measure
    of its metric and in all seeds of heads, splits and readouts that another cell has of the same block, encoder, task
    and dataset.

    What a fine-tuning wrote of itself is of no method, and is not looked at."""
    metrics = {name: about for name, about in METRICS.items() if about.readout != TRAINING}
    measures = [(name, measure) for name, about in metrics.items() for measure in about.measures]
    measures = pd.DataFrame(measures, columns=["metric", "measure"])
    cells = plan.loc[(plan["status"] == RUN) & plan["metric"].isin(measures["metric"]), ["block", "training", *CELL]]
    rows = cells.merge(measures).merge(scores.rename(columns={"metric": "measure"}))
    rows["seeded"] = rows["seed"] != NA
    alike, measure = ["block", "encoder", "task", "metric", "dataset"], ["measure", "part", "variant", "head", "seeded"]
    for seed in _SEEDS:  # such as the split of models with a seed, each of which is read on that of its own
        is_own = rows.assign(own=rows["seeded"] & (rows[seed] == rows["seed"])).groupby([*alike, *measure])["own"]
        rows[seed] = rows[seed].mask(is_own.transform("all"), "of the model")
    models = [*cells, *measure, "setting"]
    wanted = (
        cells,
        cells.merge(rows[[*alike, "measure"]].drop_duplicates()),
        rows[models].drop_duplicates().merge(rows[[*alike, *measure, *_SEEDS]].drop_duplicates()),
    )
    absent = [unmatched(keys, rows, [*keys]) for keys in wanted]
    return pd.concat(absent).reindex(columns=[*models, *_SEEDS]).fillna("")


def status(reason: str) -> str:
    """Return the status of a row in a table: RUN, or NOT_RUN and the reason."""
    return f"{NOT_RUN}{reason}" if reason else RUN


def with_reasons(table: pd.DataFrame, reason: Callable[[NamedTuple], str]) -> pd.DataFrame:
    """The table with a status in every row: those that have none were not run, for the `reason` that their row has."""
    return table.assign(status=[row.status or status(reason(row)) for row in table.fillna({"status": ""}).itertuples()])


def wide(rows: pd.DataFrame, index: Sequence[str], columns: Sequence[str] = ("metric",)) -> pd.DataFrame:
    """The values of scores: a row per `index`, a column per combination of `columns`. BiasflowError, naming it, for a
    value that there are two of: their mean would hide a mistake."""
    keys = [*index, *columns]
    for row in rows[rows.duplicated(keys)].head(1).to_dict("records"):
        named = ", ".join(f"{key} {row[key]}" for key in keys if row[key] not in ("", NA))
        raise BiasflowError(f"{named}: more than one score; score it once")
    return rows.pivot(index=[*index], columns=[*columns] if len(columns) > 1 else columns[0], values="value")
