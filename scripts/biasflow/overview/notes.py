"""What has to be known to read a map, or a run: which controls there are, and which items are left out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from biasflow.metrics.items import LEFT_OUT
from biasflow.overview.maps import Map
from biasflow.plan.methods import control_of
from biasflow.registry import METRICS
from biasflow.results.scores import NA, NONE
from biasflow.tasks.classification.labels import dropped

TEMPLATES, SPLIT, PIECES = ".templates", "_split_words", "occtmp_pieces"


def dropped_of_tasks(paths: Sequence[str | Path]) -> list[str]:
    """What the data of tasks leave out, a sentence each. paths: of their tables of labels, or of what was understood of
    the user's files, in their folders."""
    tables = {Path(path).parent.name: pd.read_csv(path) for path in paths}
    said = {task: table["understood"][0] if "understood" in table else dropped(table) for task, table in tables.items()}
    return [f"{task}: {sentence}." for task, sentence in said.items() if sentence]


def own_words(names: pd.DataFrame, scores: pd.DataFrame) -> list[str]:
    """In which sentences the words of the user's tests stand, and how many of them a vocabulary splits: a sentence for
    each test. names: names.csv."""
    notes: dict[tuple[str, str], list[str]] = {}
    for row in names[names["kind"] == "dataset"].itertuples():
        notes.setdefault((row.attribute.removesuffix(TEMPLATES), row.name), []).append(f"words stand in {row.value}")
    counted = scores["metric"].str.endswith(SPLIT) | (scores["metric"] == PIECES)
    rows = scores[counted & (scores["method"] == NONE) & (scores["task"] == NA)]
    on = {name: f" on {name}" if rows["encoder"].nunique() > 1 else "" for name in rows["encoder"].unique()}
    for row in rows.itertuples():
        if row.metric == PIECES:
            text = f"pieces of the {row.part} pronoun: {row.value:.3g} on average"
        else:
            text = f"{row.value:.0f} of {row.n:.0f} words have several pieces, or are not in the vocabulary"
        notes.setdefault((row.metric.split("_")[0], row.dataset), []).append(text + on[row.encoder])
    return [f"{METRICS[metric].label} ({name}): {'; '.join(texts)}." for (metric, name), texts in notes.items()]


def left_out(scores: pd.DataFrame) -> list[str]:
    """Which tests leave out items that cannot be measured, how many, why, and on which models: a sentence each."""
    models: dict[str, dict[str, None]] = {}
    rows = scores[scores["metric"] == LEFT_OUT].drop_duplicates(["encoder", "task", "variant", "dataset", "part"])
    for (encoder, task, metric, dataset), block in rows.groupby(["encoder", "task", "variant", "dataset"], sort=False):
        why = "; ".join(f"{row.part} ({row.value:.0f})" if len(block) > 1 else row.part for row in block.itertuples())
        counts = f"{block['value'].sum():,.0f} of {block['n'].iloc[0]:,.0f} items left out"
        said = f"{METRICS[metric].label} ({dataset}): {counts} ({why})"
        models.setdefault(said, {})[encoder if task == NA else f"{encoder} on {task}"] = None
    return [f"{said}, on {', '.join(names)}." for said, names in models.items()]


class Controls(NamedTuple):
    """The controls of a map, the methods that lack one, and how far methods and controls move the vector of a sentence,
    as a share of its length, by name; empty where that was not measured."""

    names: Sequence[str]
    lacking: Sequence[str]
    methods: Mapping[str, float]
    controls: Mapping[str, float]

    @property
    def weak(self) -> list[str]:
        """The controls that move vectors less than half as far as their methods do."""
        return [name for name, change in self.controls.items() if change < self.methods.get(control_of(name), 0) / 2]


def controls(model_map: Map, scores: pd.DataFrame) -> Controls | None:
    """The controls of a map; None of a map without methods."""
    methods = [name for name in model_map.cells.loc[~model_map.cells["grid"], "method"].unique() if name != NONE]
    measured = (scores["metric"] == "vector_change") & (scores["encoder"] == model_map.encoder)
    moved = scores[measured & (scores["method"] != NONE) & (model_map.task == NA)].groupby("method", sort=False)
    change = moved["value"].mean()
    is_control = change.index.map(lambda name: control_of(name) is not None).astype(bool)
    sides = (change[~is_control], change[is_control]) if is_control.any() else ({}, {})
    of = {name: control_of(name) for name in methods}
    lacking = [name for name in methods if of[name] is None and name not in of.values()]
    return Controls([name for name in methods if of[name]], lacking, *map(dict, sides)) if methods else None
