"""Sentences about a map: what can be said of its methods, and what has to be known to read it."""

from collections.abc import Mapping, Sequence

import pandas as pd

from biasflow.asking.matrix import RANDOM
from biasflow.overview.judgements import COST, FARTHER, NEARER, NOT_VIABLE, VIABLE, compared
from biasflow.overview.maps import UNTOUCHED, Map
from biasflow.overview.winners import LEAST_SEEDS, removed, verdict
from biasflow.plan.methods import control_of, is_matched
from biasflow.results.scores import NA, NONE

LISTED = 8  # methods in a sentence


def conclusion(found: Map, every: Sequence[Map], observed: pd.DataFrame, families: Mapping[str, str]) -> str:
    """What can be said of the methods of a map, in a sentence; "" where there is none.

    every: all maps; observed: `agreement.observations`; families: encoders that differ in their seed alone share one.
    Random directions are no method, whatever they remove, nor is an encoder that was never trained."""
    family = families.get(found.encoder, found.encoder)
    alike = [
        each
        for each in every
        if each.own and each.task == found.task and families.get(each.encoder, each.encoder) == family
    ]
    rows = pd.concat([each.cells.drop_duplicates("name") for each in alike])
    rows = rows[~rows["name"].eq(UNTOUCHED) & ~rows["strategy"].eq(RANDOM) & ~rows["grid"]]
    controls = rows["method"].map(control_of)
    methods = rows[controls.isna()]
    if methods.empty:
        return ""
    viable = methods.groupby("name", sort=False)["quality"].agg(lambda own: set(own) == {VIABLE})
    if not viable.any():
        unknown = int(methods.groupby("name")["quality"].agg(lambda own: NOT_VIABLE not in set(own)).sum())
        why = {0: f"none of {len(viable)} methods is viable", len(viable): "no cost was measured"}.get(
            unknown, f"{len(viable) - unknown} methods are not viable, and of {unknown} no cost was measured"
        )
        return f"{found.title}: {why}, so that no method is named best{_tally(found)}"
    encoders = [each.encoder for each in alike]
    own = observed[observed["encoder"].isin(encoders) & (observed["task"] == found.task)]
    shares, measures = removed(own, list(viable.index[viable]))
    if not measures:  # nothing here is a measure of bias
        return ""
    seeds = "encoders that differ in their seed" if found.task == NA else "seeds"
    said, best = verdict(shares, measures, seeds)
    return f"{found.title}: {said}" + (_tally(found) if len(shares) < LEAST_SEEDS else "") + _controls(own, rows, best)


def _controls(observed: pd.DataFrame, rows: pd.DataFrame, best: str | None) -> str:
    """What random directions in the place of the best method remove, by kind of control."""
    named = [
        (name, is_matched(method))
        for name, method in rows[["name", "method"]].drop_duplicates().itertuples(index=False)
        if (of := control_of(method)) and name.replace(method, of) == best
    ]
    said = ""
    for matched, which in ((False, "in its place"), (True, "that move vectors as far")):
        shares, _ = removed(observed, [name for name, kind in named if kind == matched])
        said += "" if shares.empty else f"; random directions {which} remove {shares.mean(axis=None):.0%}"
    return said


def _tally(found: Map) -> str:
    """Of how many measures each row is nearer to neutral, and farther, beyond doubt."""
    bias = found.cells[(found.cells["group"] != COST) & ~found.cells["grid"] & (found.cells["name"] != UNTOUCHED)]
    bias = bias[(bias["quality"] != NOT_VIABLE) & (bias["strategy"] != RANDOM)]
    says = [compared(cell) for cell in bias.itertuples()]
    counts = bias.assign(nearer=[x == NEARER for x in says], farther=[x == FARTHER for x in says])
    sums = counts.groupby("name", sort=False)[["nearer", "farther"]].sum()
    if sums.empty or not sums.to_numpy().any():
        return ""
    listed = [f"{row.Index} {row.nearer} and {row.farther}" for row in sums.head(LISTED).itertuples()]
    more = f", {len(sums) - LISTED} more in the map" if len(sums) > LISTED else ""
    over = " and ".join(dict.fromkeys(bias["change_interval"][bias["change_interval"] != NA]))
    measures = f"measures that come nearer to neutral and that go farther, of {bias['header'].nunique()}"
    return f"; {measures}, by intervals over {over} of this one model: {', '.join(listed)}{more}"


def notes(found: Map, scores: pd.DataFrame) -> list[str]:
    """What has to be known to read a map: whether it has controls, and how far they move vectors."""
    rows = found.cells[found.cells["method"] != NONE].drop_duplicates("name")
    controls = rows["method"].map(control_of).notna()
    if rows.empty:
        return []
    if not controls.any():
        return [
            "No random control was asked for. Erasing anything changes scores: add <method>-random0 (random directions "
            "in a method's place) to the methods of the block."
        ]
    said = (
        "A control takes out as many random directions as its method, at the same places, but need not move vectors "
        "as far: one without effect does not show that a change of the method's size would have none. "
        "<method>-random-matched0 moves them as far."
    )
    own = scores[(scores["metric"] == "vector_change") & (scores["encoder"] == found.encoder)]
    change = own[own["method"] != NONE].groupby("method", sort=False)["value"].mean()
    of_controls = change[[control_of(name) is not None for name in change.index]]
    if found.task != NA or of_controls.empty:
        return [f"{said} The metric similarity measures how far, on pre-trained encoders."]
    sides = (change.drop(of_controls.index), of_controls)
    listed = (", ".join(f"{name} {value:.2g}" for name, value in side.items()) for side in sides)
    return [f"{said} Here a sentence's vector is moved, in lengths of itself, by {' (controls: '.join(listed)})."]
