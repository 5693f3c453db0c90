"""How many seeds it takes to see a difference: how far a measure spreads between seeds and over items, and what follows
for the power of a t test."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from biasflow.registry import Measure
from biasflow.results.comparison import distance
from biasflow.results.matrix import OWN, of_measures, untouched_rows
from biasflow.results.page import meanings
from biasflow.results.scores import attributes
from biasflow.results.statistics import sd_interval, seeds_needed

SIZES = {"half": 0.5, "quarter": 0.25, "tenth": 0.1}  # of the distance from neutral
TOO_FEW = "too few seeds"
NORMAL = 2 * 1.96  # standard errors that a 95 % interval spans
CAPTION = meanings("tables")["power"]


def families(names: pd.DataFrame) -> dict[str, str]:
    """Encoder -> the first one that has all of its attributes but the `seed` of its pre-training; itself without one.

    names: names.csv, columns name, kind, attribute, value."""
    first: dict[frozenset, str] = {}
    first_of_family = {}
    for name, about in attributes(names).items():
        alike = frozenset((about | {"seed": ""}).items()) if "seed" in about else frozenset({name})
        first_of_family[name] = first.setdefault(alike, name)
    return first_of_family


def power(scores: pd.DataFrame, families: Mapping[str, str]) -> pd.DataFrame:
    """One row per measure of untouched models: encoder (the first of its family), task, dataset, measure, seeds, value
    (mean), distance (of it from neutral), sd_items, sd_seeds, sd_low, sd_high, seeds_for_half, _quarter, _tenth (in
    each of two groups), note (TOO_FEW, where a single seed was measured).

    families: encoder -> its family (`families`)."""
    untouched = untouched_rows(scores[scores["head"].isin(OWN)])
    untouched = untouched.assign(family=untouched["encoder"].map(lambda name: families.get(name, name)))
    rows = []
    for _, measure, block in of_measures(untouched):
        for (family, task, dataset), cell in block.groupby(["family", "task", "dataset"], sort=False):
            rows.append({"encoder": family, "task": task, "dataset": dataset, "measure": measure.label})
            rows[-1] |= _components(cell, measure)
    columns = ["encoder", "task", "dataset", "measure", "seeds", "value", "distance", "sd_items", "sd_seeds"]
    columns += ["sd_low", "sd_high", *(f"seeds_for_{size}" for size in SIZES), "note"]
    integers = ["seeds", *(f"seeds_for_{size}" for size in SIZES)]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(integers, "Int64"))


def _components(cell: pd.DataFrame, measure: Measure) -> dict[str, object]:
    by = "encoder" if cell["encoder"].nunique() > 1 else "seed"
    values = cell.groupby(by)["value"].mean().dropna().to_numpy()
    mean = values.mean() if len(values) else np.nan
    components = {
        "seeds": len(values),
        "value": mean,
        "distance": distance(mean, measure.neutral, measure.better),
        "sd_items": ((cell["high"] - cell["low"]) / NORMAL).mean(),
        "note": "",
    }
    if len(values) < 2:
        return components | {"note": TOO_FEW}
    sd = values.std(ddof=1)
    low, high = sd_interval(sd, len(values))
    needed = {f"seeds_for_{size}": seeds_needed(sd, share * components["distance"]) for size, share in SIZES.items()}
    return components | {"sd_seeds": sd, "sd_low": low, "sd_high": high} | needed
