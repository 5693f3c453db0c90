"""Does a method help, and at which price: a row for each method on one model, and the sentences that count these rows.

A measure judges a method if its score of the untouched model makes a claim. What else a method moved, or turned over,
stands in its row, too, and counts nowhere."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from biasflow.asking.matrix import RANDOM
from biasflow.overview import costs
from biasflow.overview.judgements import (
    COST,
    FARTHER,
    NEARER,
    NO_CLAIM,
    NOT_VIABLE,
    UNCLEAR,
    UNCOMPARED,
    UNMEASURED,
    VIABLE,
    compared,
    moved,
    printed,
    turned,
)
from biasflow.overview.maps import UNTOUCHED, Map
from biasflow.overview.winners import percent, removed, verdict
from biasflow.plan.methods import control_of, is_matched
from biasflow.results.comparison import SEEDS


@dataclass(frozen=True)
class MethodRow:
    """A method on one model, as the page shows it.

    method: its name without strategy and setting; nearer, farther: the measures that it moves so, by the 95 % intervals
    of the changes (a measure with several tests by more of them), of the `tested` ones that judge it; aside: what it
    moves farther without a claim (FARTHER), or past neutral (PAST), in words; price: `costs.price`; quality: of
    `judgements`."""

    name: str
    method: str
    nearer: Sequence[str]
    farther: Sequence[str]
    tested: int
    aside: Mapping[str, Sequence[str]]
    price: str
    quality: str

    @property
    def control_of(self) -> str | None:
        """The method whose control this is, if it is one (plan.methods)."""
        return control_of(self.method)

    @property
    def helps(self) -> bool:
        """Whether it moves more measures nearer to neutral than farther from it."""
        return len(self.nearer) > len(self.farther)


PAST = "past neutral"


def method_rows(model_map: Map, judging: Collection[str], prices: pd.DataFrame) -> list[MethodRow]:
    """A row for every method of a map but the untouched model, an untrained encoder and the settings of a grid;
    controls come last.

    judging: the headers of the measures whose untouched score makes a claim; prices: `costs.costs`."""
    cells = model_map.cells
    cells = cells[(cells["name"] != UNTOUCHED) & (cells["strategy"] != RANDOM) & ~cells["grid"]]
    qualities = costs.quality(prices, cells["name"].unique())
    rows = [
        _row(name, of[of["group"] != COST], of["method"].iloc[0], judging)
        | {"price": costs.price(prices[prices["name"] == name]), "quality": qualities[name]}
        for name, of in cells.groupby("name", sort=False)
    ]
    return sorted((MethodRow(**row) for row in rows), key=lambda row: row.control_of is not None)


def _row(name: str, biases: pd.DataFrame, method: str, judging: Collection[str]) -> dict[str, object]:
    said: dict[str, list[str]] = {NEARER: [], FARTHER: []}
    aside: dict[str, list[str]] = {FARTHER: [], PAST: []}
    tested = 0
    for label, of in biases.groupby("label", sort=False):
        cells = list(of.itertuples())
        claims = {cell.Index: compared(cell) for cell in cells if cell.header in judging}
        kinds = [kind for kind in claims.values() if kind != UNCOMPARED]
        tested += bool(kinds)
        often = Counter(kinds)
        for kind, other in ((NEARER, FARTHER), (FARTHER, NEARER)):
            if often[kind] > often[other]:
                said[kind].append(label + (f" ({often[kind]} of {len(kinds)})" if len(kinds) > 1 else ""))
        silent = [cell for cell in cells if claims.get(cell.Index, UNCOMPARED) == UNCOMPARED]
        aside[FARTHER] += _changes(label, [cell for cell in silent if moved(cell) == FARTHER])
        aside[PAST] += _changes(label, [cell for cell in cells if turned(cell)])
    return {"name": name, "method": method, "nearer": said[NEARER], "farther": said[FARTHER]} | {
        "tested": tested,
        "aside": aside,
    }


def _changes(label: str, cells: Sequence) -> list[str]:
    """A measure with its scores before and after, of each of its tests: "GEST rate 1.275 → 0.936"."""
    changes = ", ".join(f"{printed(cell.untouched)} → {printed(cell.value)}" for cell in cells)
    return [f"{label} {changes}"] if cells else []


def in_words(rows: Sequence[MethodRow], over: str) -> str:
    """How many of the methods, and of the controls, of a table of rows move more measures nearer to neutral than
    farther from it, and keep quality; and which rows hold more than that. over: what the changes are tested over."""
    controls = [row for row in rows if row.control_of is not None]
    methods = [row for row in rows if row.control_of is None]
    tested = [row for row in methods if row.tested]
    if not tested:
        return "No measure that makes a claim here has an interval of a change, so nothing is claimed of methods."
    good = [row for row in tested if row.helps]
    untested = len(methods) - len(tested)
    said = [
        f"{over}, {len(good)} of {len(methods)} methods move more measures nearer to the neutral value than farther "
        "from it, by the 95 % interval of each change" + (f" ({untested} not tested)" if untested else "")
    ]
    if good and any(row.quality == VIABLE for row in tested):
        keeping = sum(row.quality == VIABLE for row in good)
        said.append(f"{keeping} of these {len(good)} {'keeps' if keeping == 1 else 'keep'} quality")
    if controls:
        of = ", ".join(dict.fromkeys(filter(None, (row.control_of for row in controls))))
        n = sum(row.helps for row in controls)
        said.append(
            f"{n} of {len(controls)} controls {'does' if n == 1 else 'do'} so (random directions{of and ' for '}{of})"
        )
    return "; ".join(said) + "."


def aside_in_words(rows: Sequence[MethodRow]) -> str:
    """What methods made worse without a claim, or turned over, as a sentence."""
    said = [
        f"{row.name} ({'; '.join(f'{kind}: {change}' for kind in (FARTHER, PAST) for change in row.aside[kind])})"
        for row in rows
        if row.control_of is None and (row.aside[FARTHER] or row.aside[PAST])
    ]
    return f"Without a claim, or turned over: {'; '.join(said)}." if said else ""


def tested_over(model_map: Map) -> str:
    """What the changes by methods are tested over: "On this one model", "Over 5 seeds"."""
    changes = model_map.cells[(model_map.cells["name"] != UNTOUCHED) & (model_map.cells["group"] != COST)]
    seeds = changes.loc[changes["change_interval"] == SEEDS, "n"].unique()
    if not len(seeds):
        return "On this one model"
    return f"Over {' to '.join(str(n) for n in dict.fromkeys((min(seeds), max(seeds))))} seeds"


def conclusion(
    rows: Sequence[MethodRow], observed: pd.DataFrame, prices: pd.DataFrame, seeds: str
) -> tuple[str, str | None]:
    """What can be said of the methods of a table of rows, in sentences ("" where there is nothing to say), and the name
    of the one that reduces bias most, if one does.

    observed: `agreement.observations` of the model and those that differ from it in their seed alone; prices: their
    `costs`; seeds: what they are called. Random directions are no method, whatever they remove."""
    methods = [row for row in rows if row.control_of is None]
    if not methods:
        return "", None
    keeping = [row.name for row in methods if row.quality == VIABLE]
    if not keeping:
        return f"No method is named best, because {_why_none(methods)}.", None
    shares, measures = removed(observed, keeping)
    if not measures:  # nothing here is a measure of bias
        return "", None
    said, best = verdict(shares, measures, seeds)
    if best is not None:
        said += "".join(_controls(observed, rows, best)) + f" Its price: {costs.price(prices[prices['name'] == best])}."
    return said, best


def _why_none(methods: Sequence[MethodRow]) -> str:
    """Why no method of these is known to keep quality."""
    counts = Counter(row.quality for row in methods)
    if set(counts) == {UNMEASURED}:
        return "no cost was measured"
    words = {
        NOT_VIABLE: f"{{}} {'loses' if counts[NOT_VIABLE] == 1 else 'lose'} quality",
        NO_CLAIM: "for {} the score of the quality allows no claim",
        UNCLEAR: "for {} the interval of a cost is too wide, or missing",
        UNMEASURED: "for {} no cost was measured",
    }
    said = "; ".join(text.format(counts[key]) for key, text in words.items() if counts[key])
    return f"none is shown to keep quality (every cost at most 5 % worse): {said}"


def _controls(observed: pd.DataFrame, rows: Sequence[MethodRow], best: str) -> Iterator[str]:
    """What random directions in the place of the best method remove, by kind of control, in sentences."""
    named = [row for row in rows if row.control_of and row.name.replace(row.method, row.control_of) == best]
    for matched, which in ((False, "in its place"), (True, "that move vectors as far")):
        shares, _ = removed(observed, [row.name for row in named if is_matched(row.method) == matched])
        if not shares.empty:
            yield f" Random directions {which} remove {percent(shares.mean(axis=None))}."
