"""The answers at the top of the page: how biased is a model, does a method help, at which price, how sure is it?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from biasflow.asking.matrix import RANDOM
from biasflow.overview import costs
from biasflow.overview.calibrated import in_short, in_short_of_run
from biasflow.overview.judgements import (
    COST,
    DIFFERS,
    FARTHER,
    NEARER,
    NO_CLAIM,
    SAME,
    UNCOMPARED,
    VIABLE,
    compared,
    printed,
    turned,
)
from biasflow.overview.maps import UNTOUCHED, Map
from biasflow.overview.measured import Measured, strips
from biasflow.plan.methods import control_of
from biasflow.results.comparison import ITEMS, SAME_ITEMS, SEEDS

LISTED = 10  # methods in the table of an answer
_OVER = {
    ITEMS: "the items of each test ({n}) on one model, so another seed may differ by more",
    SEEDS: "seeds ({n}; Student's t, which may go beyond the possible values)",
}
_EACH = "each score is tested by itself, so some results are due to chance."
_CORRECTED = "The permutation tests of WEAT and SEAT are corrected for how many there are (Holm); otherwise "


@dataclass(frozen=True)
class BiasRow:
    """A measure of the untouched model on all of its datasets. score: text of the score and its interval, or the least
    and the largest score; ends: of several scores what their intervals span; verdict: "bias shown", of several scores
    with how many; biased: whether one of them shows bias; strips: see `measured.strips`."""

    label: str
    score: str
    ends: str
    neutral: str
    n: str
    verdict: str
    biased: bool
    strips: Sequence[Mapping[str, float]]


@dataclass(frozen=True)
class MethodRow:
    """A method on one model: which of the `tested` measures of bias it moves nearer to neutral, and which farther, by
    the 95 % intervals of the changes (of a measure with several tests by more of them); turned: those with a score that
    lies on the other side of neutral now; price: `costs.price`; quality: of `judgements`."""

    name: str
    nearer: Sequence[str]
    farther: Sequence[str]
    tested: int
    price: str
    quality: str
    turned: Sequence[str] = ()


@dataclass(frozen=True)
class Answer:
    """What the page says first of a model. Sentences: bias, helps, sure; methods_left_out: rows that are not listed;
    trusted: which of its measures followed a planted bias (`calibrated.in_short`)."""

    title: str
    bias: str
    rows: Sequence[BiasRow]
    helps: str
    methods: Sequence[MethodRow]
    methods_left_out: int
    sure: str
    trusted: Sequence[str]


def answer(
    model_map: Map,
    measured: Sequence[Measured],
    helps: str,
    best: str | None,
    kind: str | None,
    calibration: pd.DataFrame | None = None,
) -> Answer:
    """The answer for a map's model. measured: its untouched scores; helps, best: of `notes.conclusion`; kind: of
    `calibrated.kind_of`, None where it is not known; calibration: of the encoder in this run."""
    biases = [score for score in measured if score.is_bias]
    labels = dict.fromkeys(score.label for score in biases if score.verdict != NO_CLAIM)
    methods = _methods(model_map)
    names = [score.label for score in biases]
    trusted = in_short(names, kind) if kind is not None else []
    said = [_methods_in_words(methods, _tested_over(model_map))] if helps and best is None else []
    return Answer(
        model_map.title,
        bias_in_words(biases),
        [_bias_row(label, [score for score in biases if score.label == label]) for label in labels],
        " ".join([*said, helps]).strip(),
        methods[:LISTED],
        max(len(methods) - LISTED, 0),
        how_sure(biases) + _unpaired(model_map),
        in_short_of_run(dict.fromkeys(names), calibration) if calibration is not None else trusted,
    )


def bias_in_words(biases: Sequence[Measured]) -> str:
    """How many of these scores show bias, and which allow no claim, in sentences."""
    if not biases:
        return "No bias was measured on this model."
    judged = [score for score in biases if score.verdict != NO_CLAIM]
    shown = sum(score.verdict == DIFFERS for score in judged)
    by_test = [score for score in judged if score.test and score.verdict == DIFFERS and score.numbers["value"] > 0]
    tested = list(dict.fromkeys(score.label for score in by_test))
    also = f", and the permutation test of {' and '.join(tested)} is significant after its correction" if tested else ""
    said = [_shown_in_words(shown, len(judged), also)]
    reasons: dict[str, dict[str, None]] = {}
    for score in biases:
        if score.verdict == NO_CLAIM:
            reasons.setdefault(score.caution, {})[score.label] = None
    said += _read_otherwise(judged)
    said += [f"{' and '.join(labels)}: no claim, because {reason}." for reason, labels in reasons.items()]
    return " ".join(said)


def _read_otherwise(judged: Sequence[Measured]) -> list[str]:
    """Which measures say the opposite if the same test is read in another way, in sentences."""
    said = []
    for verdict, says in ((DIFFERS, "no bias"), (SAME, "bias")):
        of = [f"{row.label} ({', '.join(row.contrary)})" for row in judged if row.contrary and row.verdict == verdict]
        if of:
            show = "shows" if len(of) == 1 else "show"
            said.append(f"In other readings of the same test, {' and '.join(of)} {show} {says}.")
    return said


def _shown_in_words(shown: int, judged: int, also: str) -> str:
    if not judged:
        return "No score of bias can be judged here, so nothing is claimed."
    if not shown:
        which = "The only score shows no bias: its" if judged == 1 else f"None of {judged} scores shows bias: every"
        return f"{which} 95 % interval includes the neutral value or lies on its unbiased side."
    which = "The only score" if judged == 1 else f"{shown} of {judged} scores"
    shows = "shows bias: its" if shown == 1 else "show bias: their"
    return f"{which} {shows} 95 % interval lies on the biased side of the neutral value{also}."


def _bias_row(label: str, scores: Sequence[Measured]) -> BiasRow:
    values = [row.numbers["value"] for row in scores]
    shown = sum(row.verdict == DIFFERS for row in scores)
    ends = ""
    if len(scores) == 1:
        interval = f" [{scores[0].interval.replace(' to ', ', ')}]" if scores[0].interval else ""
        score, verdict = f"{scores[0].value}{interval}", scores[0].verdict
    else:
        score = f"{len(scores)} tests: {printed(min(values))} to {printed(max(values))}"
        sides = [[row.numbers[end] for row in scores if end in row.numbers] for end in ("low", "high")]
        ends = f"intervals within [{printed(min(sides[0]))}, {printed(max(sides[1]))}]"
        verdict = f"{DIFFERS} in {shown} of {len(scores)}"
    return BiasRow(
        label,
        score,
        ends,
        scores[0].neutral,
        _sizes(scores),
        verdict,
        bool(shown),
        strips([row.numbers for row in scores]),
    )


def _sizes(scores: Sequence[Measured]) -> str:
    """ "262 items", "8 to 32 items", "5 seeds"."""
    by_unit: dict[str, list[int]] = {}
    for score in scores:
        if score.size is not None:
            by_unit.setdefault(score.unit, []).append(score.size)
    ranges = ((unit, dict.fromkeys((min(sizes), max(sizes)))) for unit, sizes in by_unit.items())
    return ", ".join(f"{' to '.join(f'{end:,}' for end in ends)} {unit}" for unit, ends in ranges)


def how_sure(biases: Sequence[Measured]) -> str:
    """What the intervals are over, and what they do not say."""
    said = []
    for over in dict.fromkeys(score.over for score in biases if score.over):
        sizes = _sizes([score for score in biases if score.over == over])
        unit = _OVER.get(over, "repeated draws of the readout").format(n=sizes)
        said.append(f"The 95 % intervals are over {unit}." if not said else f"Others are over {unit}.")
    if not said:
        return "No score has an interval, so nothing is claimed."
    return " ".join([*said, f"{_CORRECTED}{_EACH}" if any(score.test for score in biases) else _EACH.capitalize()])


def _methods(model_map: Map) -> list[MethodRow]:
    """A row for every method of a map but the untouched model, an untrained encoder and the settings of a grid;
    controls come last."""
    cells, prices = model_map.cells, costs.costs(model_map.cells)
    cells = cells[(cells["name"] != UNTOUCHED) & (cells["strategy"] != RANDOM) & ~cells["grid"]]
    rows = []
    for name, block in cells.groupby("name", sort=False):
        biases = block[block["group"] != COST]
        kinds = {
            label: [compared(cell) for cell in of.itertuples()] for label, of in biases.groupby("label", sort=False)
        }
        kinds = {label: of for label, of in kinds.items() if set(of) != {UNCOMPARED}}
        rows.append(
            MethodRow(
                name,
                [_often(label, of, NEARER) for label, of in kinds.items() if of.count(NEARER) > of.count(FARTHER)],
                [_often(label, of, FARTHER) for label, of in kinds.items() if of.count(NEARER) < of.count(FARTHER)],
                len(kinds),
                costs.price(prices[prices["name"] == name]),
                block["quality"].iloc[0],
                list(dict.fromkeys(cell.label for cell in biases.itertuples() if turned(cell))),
            )
        )
    return sorted(rows, key=lambda row: control_of(row.name) is not None)


def _often(label: str, kinds: Sequence[str], kind: str) -> str:
    """A measure, and of how many of its tests this is said: "SEAT (5 of 6)"."""
    return f"{label} ({kinds.count(kind)} of {len(kinds)})" if len(kinds) > 1 else label


def _unpaired(model_map: Map) -> str:
    """What is to be said of changes whose interval is over items (`results.matrix`), as a sentence."""
    cells = model_map.cells[model_map.cells["name"] != UNTOUCHED]
    if not cells["change_interval"].eq(ITEMS).any():
        return ""
    over = cells[cells["change_interval"].isin([ITEMS, SAME_ITEMS])].groupby("label", sort=False)["change_interval"]
    paired = [label for label, intervals in over if intervals.eq(SAME_ITEMS).all()]
    but = f", except in {', '.join(paired)}," if paired else ""
    return (
        f" Changes by methods{but} are judged as if they were measured on different items, so their intervals are too "
        "wide."
    )


def _tested_over(model_map: Map) -> str:
    """What the changes by methods are tested over: "On this one model", or "Over 5 seeds"."""
    seeds = model_map.cells.loc[model_map.cells["change_interval"] == SEEDS, "n"]
    return "On this one model" if seeds.empty else f"Over {seeds.max()} seeds"


def _methods_in_words(rows: Sequence[MethodRow], over: str) -> str:
    """How many methods, and how many controls, bring the scores of a model nearer to neutral, and keep quality."""
    rows = [row for row in rows if row.tested]
    controls = [row for row in rows if control_of(row.name) is not None]
    methods = [row for row in rows if row not in controls]
    if not methods:
        return "No change by a method has an interval, so nothing is claimed of methods."
    nearer = [row for row in rows if len(row.nearer) > len(row.farther)]
    good = [row for row in nearer if row in methods]
    said = [
        f"{over}, {len(good)} of {len(methods)} methods move more measures nearer to the neutral value than farther "
        "from it, by the 95 % interval of each change"
    ]
    if good and any(row.quality == VIABLE for row in methods):
        keeping = sum(row.quality == VIABLE for row in good)
        said.append(f"{keeping} of these {len(good)} {'keeps' if keeping == 1 else 'keep'} quality")
    if controls:
        of = ", ".join(dict.fromkeys(control_of(row.name) for row in controls))
        n = len(nearer) - len(good)
        said.append(f"{n} of {len(controls)} controls {'does' if n == 1 else 'do'} so (random directions for {of})")
    past = [f"{row.name} ({', '.join(row.turned)})" for row in methods if row.turned]
    sentences = ["; ".join(said) + "."]
    sentences += [f"Past neutral, to its other side: {'; '.join(past)}."] if past else []
    return " ".join(sentences)
