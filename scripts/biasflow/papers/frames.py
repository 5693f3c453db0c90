"""Shared by all papers: the run from which tables are made, and the NLI scores as tables show them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.results.scores import NA

RUN, NOT_ASKED = "run", "not asked for"
NLI_SCORES = {  # column of the tables -> metric, dataset, variant
    "parity": ("nli_parity", "occupation-pairs", "majority"),
    "parity_templates": ("nli_parity", "occupation-pairs", "templates"),
    "accuracy": ("nli_accuracy", "occupation-pairs", NA),
    "fairness": ("nli_fairness", "occupation-pairs", "majority"),
    "fairness_templates": ("nli_fairness", "occupation-pairs", "templates"),
    "snli_accuracy": ("accuracy", "test", NA),
}


@dataclass(frozen=True, eq=False)  # compared by identity, so that properties can be cached
class Run:
    """A run as tables and figures see it.

    scores: the one tidy table (results.scores), of all papers and blocks; plan: a row per cell (block, encoder,
    training, method, metric, dataset, status, reason); names: a row per attribute of a named thing (name, kind,
    attribute, value); printed: the numbers that the paper prints (papers.tabled); files: small item files by
    role, such as examples or words, each with its path's parts as a key; options: the paper's own part of the
    configuration."""

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


def status(reason: str) -> str:
    """Return the status of a row in a table: "run", or "not run: <reason>"."""
    return f"not run: {reason}" if reason else RUN


def wide(rows: pd.DataFrame, index: Sequence[str], columns: Sequence[str] = ("metric",)) -> pd.DataFrame:
    """The values of scores: a row per `index`, a column per combination of `columns`. BiasflowError, naming it, for a
    value that there are two of: their mean would hide a mistake."""
    keys = [*index, *columns]
    for row in rows[rows.duplicated(keys)].head(1).to_dict("records"):
        named = ", ".join(f"{key} {row[key]}" for key in keys if row[key] not in ("", NA))
        raise BiasflowError(f"{named}: more than one score; score it once")
    return rows.pivot(index=[*index], columns=[*columns] if len(columns) > 1 else columns[0], values="value")


def nli_rows(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores of NLI that tables show, with the name of their column as `metric`."""
    columns = {key: column for column, key in NLI_SCORES.items()}
    keys = zip(scores["metric"], scores["dataset"], scores["variant"], strict=True)
    return scores.assign(metric=[columns.get(key) for key in keys]).dropna(subset="metric")
