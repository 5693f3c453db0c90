"""The answers at the top of the page: how biased is a model, does a method help, at which price, how sure is it?

Every sentence with a count is made from the rows of the table that stands below it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from biasflow.overview import costs
from biasflow.overview.calibrated import in_short, in_short_of_run
from biasflow.overview.helps import MethodRow, aside_in_words, conclusion, in_words, method_rows, tested_over
from biasflow.overview.judgements import DIFFERS, NO_CLAIM, SAME, printed
from biasflow.overview.maps import UNTOUCHED, Map
from biasflow.overview.measured import Measured, strips
from biasflow.results.comparison import ITEMS, SAME_ITEMS, SEEDS
from biasflow.results.scores import NA

LISTED = 10  # methods of an answer that are seen at once
_OVER = {
    ITEMS: "the items of each test ({n}) on one model, so another seed may differ by more",
    SEEDS: "seeds ({n}; Student's t, which may go beyond the possible values)",
}
_EACH = "each score is tested by itself, so some results are due to chance."
_CORRECTED = "The permutation tests of WEAT and SEAT are corrected for how many there are (Holm); otherwise "


@dataclass(frozen=True)
class BiasRow:
    """A measure of the untouched model. score: text of the score and its interval, or the least and the largest score;
    ends: of several scores what their intervals span; tests: on how many datasets it was measured, of which `judged`
    make a claim and `shown` show bias; strips: see `measured.strips`."""

    label: str
    score: str
    ends: str
    neutral: str
    n: str
    tests: int
    judged: int
    shown: int
    strips: Sequence[Mapping[str, float]]

    @property
    def verdict(self) -> str:
        """ "bias shown"; of several tests "bias shown in 1 of 2; no claim of 1"."""
        if not self.judged:
            return NO_CLAIM
        if self.tests == 1:
            return DIFFERS if self.shown else SAME
        unjudged = self.tests - self.judged
        return f"{DIFFERS} in {self.shown} of {self.judged}" + (f"; {NO_CLAIM} of {unjudged}" if unjudged else "")


@dataclass(frozen=True)
class Answer:
    """What the page says first of a model. Sentences: bias, helps, sure; trusted: which of its measures followed a
    planted bias (`calibrated.in_short`); prices_over: how many encoders that differ in their seed the prices are of."""

    title: str
    bias: str
    rows: Sequence[BiasRow]
    helps: str
    methods: Sequence[MethodRow]
    sure: str
    trusted: Sequence[str]
    prices_over: int


def answer(
    model_map: Map,
    measured: Sequence[Measured],
    alike: Sequence[Map],
    observed: pd.DataFrame,
    kind: str | None,
    calibration: pd.DataFrame | None = None,
) -> Answer:
    """The answer for a map's model. measured: its untouched scores; alike: its map, and those of encoders that differ
    from it in their seed alone; observed: `agreement.observations` of these; kind: of `calibrated.kind_of`, None where
    it is not known; calibration: of the encoder in this run."""
    biases = [score for score in measured if score.is_bias]
    rows = bias_rows(biases)
    prices = costs.over_encoders([costs.costs(other.cells) for other in alike])
    methods = method_rows(model_map, {score.header for score in biases if score.verdict != NO_CLAIM}, prices)
    seeds = "encoders that differ only in their seed" if model_map.task == NA else "seeds"
    helps, best = conclusion(methods, observed, prices, seeds)
    if helps:
        counted = in_words(methods, tested_over(model_map)) if best is None else ""
        helps = " ".join(filter(None, [counted, aside_in_words(methods), helps]))
    labels = [row.label for row in rows]
    trusted = in_short(labels, kind) if kind is not None else []
    return Answer(
        model_map.title,
        bias_in_words(rows, biases),
        rows,
        helps,
        methods,
        how_sure(biases) + _unpaired(model_map),
        in_short_of_run(labels, calibration) if calibration is not None else trusted,
        len(alike),
    )


def bias_rows(biases: Sequence[Measured]) -> list[BiasRow]:
    """A row for each measure of these scores."""
    labels = dict.fromkeys(score.label for score in biases)
    return [_bias_row(label, [score for score in biases if score.label == label]) for label in labels]


def bias_in_words(rows: Sequence[BiasRow], biases: Sequence[Measured]) -> str:
    """How many scores show bias, by the rows of the table, and which allow no claim, in sentences. biases: the scores
    that the rows are made of."""
    if not rows:
        return "No bias was measured on this model."
    by_test = [score for score in biases if score.significant and score.verdict == DIFFERS]
    tested = list(dict.fromkeys(score.label for score in by_test))
    also = f", and the permutation test of {' and '.join(tested)} is significant after its correction" if tested else ""
    rejected = any(score.test for score in biases if score.verdict == SAME)
    said = [_shown_in_words(sum(row.shown for row in rows), sum(row.judged for row in rows), also, rejected)]
    said += _read_otherwise(biases)
    tests = {row.label: row.tests for row in rows}
    reasons: dict[str, Counter] = {}
    for score in biases:
        if score.verdict == NO_CLAIM:
            reasons.setdefault(score.caution, Counter())[score.label] += 1
    for reason, of in reasons.items():
        which = [label if n == tests[label] else f"{label} ({n} of {tests[label]} tests)" for label, n in of.items()]
        said.append(f"{' and '.join(which)}: no claim, because {reason}.")
    return " ".join(said)


def _read_otherwise(biases: Sequence[Measured]) -> list[str]:
    """Which measures say the opposite if the same test is read in another way, in sentences."""
    said = []
    for verdict, says in ((DIFFERS, "no bias"), (SAME, "bias")):
        of = [f"{row.label} ({', '.join(row.contrary)})" for row in biases if row.contrary and row.verdict == verdict]
        if of:
            show = "shows" if len(of) == 1 else "show"
            said.append(f"In other readings of the same test, {' and '.join(of)} {show} {says}.")
    return said


def _shown_in_words(shown: int, judged: int, also: str, rejected: bool) -> str:
    if not judged:
        return "No score of bias can be judged here, so nothing is claimed."
    if not shown:
        which = "The only score shows no bias: its" if judged == 1 else f"None of {judged} scores shows bias: every"
        tests = ", or its permutation test is not significant" if rejected else ""
        return f"{which} 95 % interval includes the neutral value or lies on its unbiased side{tests}."
    which = "The only score" if judged == 1 else f"{shown} of {judged} scores"
    shows = "shows bias: its" if shown == 1 else "show bias: their"
    return f"{which} {shows} 95 % interval lies on the biased side of the neutral value{also}."


def _bias_row(label: str, scores: Sequence[Measured]) -> BiasRow:
    values = [row.numbers["value"] for row in scores]
    sides = [[row.numbers[end] for row in scores if end in row.numbers] for end in ("low", "high")]
    if len(scores) == 1:
        score = scores[0].value + (f" [{scores[0].interval.replace(' to ', ', ')}]" if scores[0].interval else "")
    else:
        score = f"{len(scores)} tests: {printed(min(values))} to {printed(max(values))}"
    several = len(scores) > 1 and all(sides)
    return BiasRow(
        label,
        score,
        f"intervals within [{printed(min(sides[0]))}, {printed(max(sides[1]))}]" if several else "",
        scores[0].neutral,
        _sizes(scores),
        len(scores),
        sum(row.verdict != NO_CLAIM for row in scores),
        sum(row.verdict == DIFFERS for row in scores),
        strips([row.numbers for row in scores]),
    )


def _sizes(scores: Sequence[Measured], *units: str) -> str:
    """ "262 items", "2 seeds, 8 to 32 items"; of some units alone "8 to 32 items"."""
    by_unit: dict[str, list[int]] = {}
    for score in scores:
        for unit, sizes in score.sizes.items():
            by_unit.setdefault(unit, []).extend(sizes)
    ranges = {unit: dict.fromkeys((min(sizes), max(sizes))) for unit, sizes in by_unit.items()}
    return ", ".join(f"{' to '.join(f'{end:,}' for end in ranges[unit])} {unit}" for unit in units or ranges)


def how_sure(biases: Sequence[Measured]) -> str:
    """What the intervals are over, and what they do not say."""
    said = []
    for over in dict.fromkeys(score.over for score in biases if score.over):
        sizes = _sizes([score for score in biases if score.over == over], *({over} & set(_OVER)))
        unit = _OVER.get(over, "repeated draws of the readout").format(n=sizes)
        said.append(f"The 95 % intervals are over {unit}." if not said else f"Others are over {unit}.")
    if not said:
        return "No score has an interval, so nothing is claimed."
    return " ".join([*said, f"{_CORRECTED}{_EACH}" if any(score.test for score in biases) else _EACH.capitalize()])


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
