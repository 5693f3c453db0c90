"""What paper.yaml describes: functions that make tables and figures, tables without a function (our scores in rows and
columns, the printed numbers beside them, and why a number of ours is missing), and what the ledger compares."""

import importlib
from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.papers.frames import NOT_ASKED, RUN, Run, status
from biasflow.papers.paper import Compared, PaperText, Target
from biasflow.papers.printed import LABEL_OF_STRATEGY, NUMBERS, as_ours
from biasflow.results.scores import KEYS, NA
from biasflow.results.tables import merge_published

SEEDS = ("seed", "head_seed", "split_seed", "readout_seed")


def function_of(text: PaperText, about: Target | Compared) -> Callable:
    """Return the function of a run that makes a table, figure or page; BiasflowError if there is none of its name."""
    if not about.made_by:
        return partial(pivoted, text=text, target=about)
    return partial(_named(text, about.made_by), **about.options)


def _named(text: PaperText, function: str) -> Callable:
    """A function of the paper's folder, as paper.yaml names it."""
    module = text.module_of(function)
    try:
        return getattr(importlib.import_module(module), function.rpartition(".")[2])
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
    table = ours.reindex(columns=metrics).astype(float).reset_index()
    silent = printed[keys].merge(table[keys], how="left", indicator="found").query("found == 'left_only'")[keys]
    statuses = [_status(run, dict(row), metrics) for row in silent.to_dict("records")]
    table = pd.concat([table.assign(status=RUN), silent.assign(status=statuses)], ignore_index=True)
    return merge_published(table, printed, on=keys, values=[name for name in metrics if name in printed])


def printed_rows(run: Run, text: PaperText, target: Target) -> pd.DataFrame:
    """The printed numbers of a table by its `rows`, a column per metric; keys that are not printed are NA."""
    keys, names = [*target.rows], same_encoders(text, run)
    printed = run.printed[run.printed["table"] == target.printed_in].replace(dict.fromkeys(keys, ""), NA)
    printed = printed.assign(encoder=printed["encoder"].map(names)).explode("encoder").dropna(subset="encoder")
    return printed.pivot(index=keys, columns="metric", values="value").rename_axis(columns=None).reset_index()


def same_encoders(text: PaperText, run: Run) -> dict[str, list[str]]:
    """Encoder as printed -> the encoders of the run that are it, by the hub's id and the revision."""
    ids, revisions = (run.attributes("encoder", attribute) for attribute in ("id", "revision"))
    return {
        printed: [
            name
            for name, repository in ids.items()
            if _repository(repository) == _repository(about["id"]) and revisions.get(name) == about["revision"]
        ]
        for printed, about in text.encoders.items()
    }


def ours(run: Run, text: PaperText) -> pd.DataFrame:
    """Our values by the keys of the printed numbers, of all tables that paper.yaml describes, and of its `ledger`."""
    blocks = [as_ours(pd.DataFrame(), Compared({}, {}))]
    for target in text.tables.values():
        if target.rows:
            keys = {key: key for key in target.rows if key != "encoder"}
            about = Compared({metric: metric for metric in target.metrics}, keys, fixed={"table": target.printed_in})
            rows = as_ours(pivoted(run, text, target), about)
            blocks.append(rows.replace(dict.fromkeys(keys, NA), ""))
    tables: dict[str, pd.DataFrame] = {}
    for about in text.ledger:
        name = f"{about.made_by} {about.options}"
        if name not in tables:
            tables[name] = function_of(text, about)(run)
        blocks.append(as_ours(tables[name], about))
    table = pd.concat([block for block in blocks if len(block)] or blocks, ignore_index=True)
    keys = [name for name in table if name not in NUMBERS]
    table = table.assign(**table[keys].astype(object).fillna("").astype(str))
    names = {label: name for name, label in LABEL_OF_STRATEGY.items()}
    return table.replace({"model": names}) if "model" in table else table


def other_data(run: Run, text: PaperText) -> Mapping[str, str]:
    """Why numbers are not comparable: word of the column `of` -> reason, "" where the run has the same data."""
    return _named(text, text.other_data)(run) if text.other_data else {}


def _status(run: Run, keys: Mapping[str, str], metrics: list[str]) -> str:
    """Why a row that is printed has no score of ours: the plan's reason for its encoder, method and dataset."""
    planned = {key: value for key, value in keys.items() if key in run.plan and value != NA}
    return status(run.reason(**planned) or NOT_ASKED)


def _repository(identifier: str) -> str:
    """The name of a hub repository without its owner, which old ones lack; the revision, a commit, tells them apart."""
    return identifier.rpartition("/")[2]
