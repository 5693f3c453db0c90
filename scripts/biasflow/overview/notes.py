"""Sentences on what has to be known to read a map, or a run: which controls there are, and which items are left out."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from biasflow.corpora.bios import dropped
from biasflow.metrics.left_out import LEFT_OUT
from biasflow.overview.maps import Map
from biasflow.plan.methods import control_of
from biasflow.registry import METRICS
from biasflow.results.scores import NA, NONE


def dropped_of_tasks(paths: Sequence[str | Path]) -> list[str]:
    """Which professions the data of tasks leave out, a sentence each. paths: <task>/professions.csv."""
    said = {Path(path).parent.name: dropped(pd.read_csv(path)) for path in paths}
    return [f"{task}: {sentence}." for task, sentence in said.items() if sentence]


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


def notes(model_map: Map, scores: pd.DataFrame) -> list[str]:
    """What has to be known to read a map: whether it has controls, and how far they move vectors."""
    rows = model_map.cells[model_map.cells["method"] != NONE].drop_duplicates("name")
    is_control = rows["method"].map(control_of).notna()
    if rows.empty:
        return []
    if not is_control.any():
        return [
            "This table has no control. Any edit changes scores, so ask for one: add <method>-random0 (random "
            "directions at the places of the method) to the methods of the block under ask."
        ]
    said = (
        "A control removes random directions, as many as its method and at the same places. It may move the vectors "
        "less than the method does; then a control without effect does not rule out that any equally large change "
        "does the same. The control <method>-random-matched0 moves them as far as the method."
    )
    of_encoder = scores[(scores["metric"] == "vector_change") & (scores["encoder"] == model_map.encoder)]
    change = of_encoder[of_encoder["method"] != NONE].groupby("method", sort=False)["value"].mean()
    of_controls = change[[control_of(name) is not None for name in change.index]]
    if model_map.task != NA or of_controls.empty:
        return [f"{said} The metric similarity measures how far vectors move, on pre-trained encoders."]
    sides = (change.drop(of_controls.index), of_controls)
    listed = (", ".join(f"{name} {value:.2g}" for name, value in side.items()) for side in sides)
    return [f"{said} Mean change of a sentence's vector, as a share of its length: {' (controls: '.join(listed)})."]
