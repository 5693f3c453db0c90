"""Sentences about a map: what can be said of its methods, and what has to be known to read it."""

from collections.abc import Mapping, Sequence

import pandas as pd

from biasflow.asking.matrix import RANDOM
from biasflow.metrics.left_out import LEFT_OUT
from biasflow.overview import costs
from biasflow.overview.judgements import NOT_VIABLE, UNCLEAR, UNMEASURED, VIABLE
from biasflow.overview.maps import UNTOUCHED, Map
from biasflow.overview.winners import percent, removed, verdict
from biasflow.plan.methods import control_of, is_matched
from biasflow.registry import METRICS
from biasflow.results.scores import NA, NONE


def conclusion(
    model_map: Map, all_maps: Sequence[Map], observed: pd.DataFrame, families: Mapping[str, str]
) -> tuple[str, str | None]:
    """What can be said of the methods of a map, in sentences ("" where there is nothing to say), and the name of the
    one that reduces bias most, if one does.

    observed: `agreement.observations`; families: encoders that differ in their seed alone share one. Random directions
    are no method, whatever they remove, nor is an encoder that was never trained."""
    family = families.get(model_map.encoder, model_map.encoder)
    alike = [
        other
        for other in all_maps
        if other.is_own and other.task == model_map.task and families.get(other.encoder, other.encoder) == family
    ]
    rows = pd.concat([other.cells.drop_duplicates("name") for other in alike])
    rows = rows[~rows["name"].eq(UNTOUCHED) & ~rows["strategy"].eq(RANDOM) & ~rows["grid"]]
    methods = rows[rows["method"].map(control_of).isna()]
    if methods.empty:
        return "", None
    compared = costs.over_encoders([costs.costs(other.cells) for other in alike])
    qualities = costs.quality(compared, methods["name"].unique())
    keeping = list(qualities.index[qualities == VIABLE])
    if not keeping:
        return f"No method is named best, because {_why_none(qualities)}.", None
    encoders = [other.encoder for other in alike]
    of_model = observed[observed["encoder"].isin(encoders) & (observed["task"] == model_map.task)]
    shares, measures = removed(of_model, keeping)
    if not measures:  # nothing here is a measure of bias
        return "", None
    seeds = "encoders that differ only in their seed" if model_map.task == NA else "seeds"
    said, best = verdict(shares, measures, seeds)
    if best is not None:
        said += _controls(of_model, rows, best) + f" Its price: {costs.price(compared[compared['name'] == best])}."
    return said, best


def _why_none(qualities: pd.Series) -> str:
    """Why no method of these is known to keep quality. qualities: by method."""
    counts = qualities.value_counts()
    if set(counts.index) == {UNMEASURED}:
        return "no cost was measured"
    lose = "loses" if counts.get(NOT_VIABLE) == 1 else "lose"
    words = {
        NOT_VIABLE: f"{{}} {lose} quality",
        UNCLEAR: "for {} the interval of a cost is too wide, or missing",
        UNMEASURED: "for {} no cost was measured",
    }
    said = "; ".join(text.format(counts[key]) for key, text in words.items() if key in counts)
    return f"none is shown to keep quality (every cost at most 5 % worse): {said}"


def _controls(observed: pd.DataFrame, rows: pd.DataFrame, best: str | None) -> str:
    """What random directions in the place of the best method remove, by kind of control, in sentences."""
    named = [
        (name, is_matched(method))
        for name, method in rows[["name", "method"]].drop_duplicates().itertuples(index=False)
        if (of := control_of(method)) and name.replace(method, of) == best
    ]
    said = ""
    for matched, which in ((False, "in its place"), (True, "that move vectors as far")):
        shares, _ = removed(observed, [name for name, kind in named if kind == matched])
        said += "" if shares.empty else f" Random directions {which} remove {percent(shares.mean(axis=None))}."
    return said


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
