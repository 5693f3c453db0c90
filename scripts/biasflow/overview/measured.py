"""The scores of untouched models as the page shows them: texts and verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from biasflow.matrix import RANDOM
from biasflow.overview.about import PermutationTest
from biasflow.overview.judgements import (
    COST,
    DIFFERS,
    HELPS,
    NEARER,
    NO_CLAIM,
    NO_INTERVAL,
    NO_WIDTH,
    SAME,
    UNSIGNED,
    compared,
    printed,
    verdict,
)
from biasflow.overview.maps import UNTOUCHED, Map
from biasflow.results.comparison import ITEMS, has_width
from biasflow.results.matrix import OWN, by_rows, is_unsigned, untouched_rows
from biasflow.results.page import meanings


@dataclass(frozen=True)
class Measured:
    """A score of an untouched model. cell: its row of `Map.cells`; task: on which it was fine-tuned; caution: why there
    is no claim, or the matrix's caution; test: what a permutation test says, of measures that have one; contrary: the
    readings of the same test (`registry.Measure`) whose verdict is the other one; words: how many target words the test
    divides, 0 where that is not known; significant: whether its permutation test is, in the direction of the score."""

    cell: NamedTuple
    task: str
    verdict: str
    caution: str
    test: str = ""
    contrary: Sequence[str] = ()
    words: int = 0
    significant: bool = False

    @property
    def is_bias(self) -> bool:
        return self.cell.group != COST

    @property
    def weak(self) -> bool:
        """Whether it is read from a weak masked-LM head."""
        return self.cell.weak

    @property
    def has_interval(self) -> bool:
        return not (np.isnan(self.cell.low) or np.isnan(self.cell.high))


Key = tuple[str, str, str, str]  # encoder, task, measure, dataset


def other_readings(scores: pd.DataFrame) -> dict[Key, dict[str, str]]:
    """What the other readings of each measure say of each untouched model: reading -> verdict, where a model has one
    score of it."""
    untouched = untouched_rows(scores[scores["head"].isin(OWN)])
    verdicts: dict[Key, dict[str, str]] = {}
    for (name, part, _), measure in by_rows().items():
        rows = untouched[
            (untouched["metric"] == name) & (untouched["part"] == part) & untouched["variant"].isin(measure.readings)
        ]
        for keys, block in rows.groupby(["encoder", "task", "metric", "dataset", "variant"], sort=False):
            row = block.iloc[0]
            if len(block) == 1:
                says = verdict(row["low"], row["high"], measure.neutral, measure.better)
                verdicts.setdefault(keys[:-1], {})[keys[-1]] = says
    return verdicts


def untouched_scores(
    model_map: Map,
    of_encoder: Sequence[Map],
    tests: Mapping[Key, PermutationTest],
    readings: Mapping[Key, Mapping[str, str]],
) -> list[Measured]:
    """The scores of a map's untouched model, in the order of its columns; no bias is claimed that an untrained encoder
    shows, too, and not shown to be less. of_encoder: all maps of its encoder, as an untrained one may stand beside
    another of its models; tests: `about.permutation_tests`; readings: `other_readings`."""
    cells = pd.concat([one.cells for one in (*of_encoder, model_map)])
    untrained = {row.header: row for row in cells[cells["strategy"] == RANDOM].itertuples()}
    rows = model_map.cells[(model_map.cells["name"] == UNTOUCHED) & model_map.cells["untouched"].notna()]
    place = {header: number for number, header in enumerate(model_map.columns.index)}
    scores = []
    for row in rows.sort_values("header", key=lambda headers: headers.map(place), kind="stable").itertuples():
        key = (model_map.encoder, model_map.task, row.measure, row.dataset)
        score, other = judged(row, model_map.task, tests.get(key), readings.get(key, {})), untrained.get(row.header)
        if score.verdict == DIFFERS and other and _shows_as_much(other):
            score = replace(score, verdict=NO_CLAIM, caution=f"an untrained encoder has {printed(other.value)}")
        scores.append(score)
    return scores


def _shows_as_much(untrained) -> bool:
    """Whether a cell of an untrained encoder shows bias, and not less than the trained one."""
    says = verdict(untrained.low, untrained.high, untrained.neutral, untrained.better)
    return says == DIFFERS and compared(untrained) not in (NEARER, HELPS)


def with_readings(measured: Measured, verdicts: Mapping[str, str]) -> Measured:
    """A score with the readings that contradict its verdict. verdicts: of each reading."""
    if measured.verdict not in (DIFFERS, SAME):
        return measured
    contrary = [name for name, says in verdicts.items() if says in (DIFFERS, SAME) and says != measured.verdict]
    return replace(measured, contrary=tuple(contrary))


def with_test(measured: Measured, value: float, test: PermutationTest | None) -> Measured:
    """A score with its permutation test, if it has one. The interval of an effect size is over words only: an
    effect shows bias only if the corrected p of its direction is below 5 %, too."""
    if test is None:
        return measured
    p = test.corrected if value > 0 else test.opposite
    says = SAME if measured.verdict == DIFFERS and p >= 0.05 else measured.verdict
    return replace(measured, test=test.text, verdict=says, words=test.words, significant=p < 0.05)


def judged(row, task: str, test: PermutationTest | None, readings: Mapping[str, str]) -> Measured:
    """A score of an untouched model with its verdict, on the page and in `biasflow compare`. row: of `Map.cells`; test:
    its permutation test; readings: what the other readings of its measure say."""
    if row.group == COST:
        return Measured(row, task, "cost", row.caution)
    known = not (np.isnan(row.low) or np.isnan(row.high))
    cautions = [row.caution] if row.caution else []
    if not cautions:
        cautions += [UNSIGNED] if known and is_unsigned(row.measure, row.interval) else []
        cautions += [NO_WIDTH if known else NO_INTERVAL] if not has_width(row.low, row.high) else []
    says = NO_CLAIM if cautions else verdict(row.low, row.high, row.neutral, row.better)
    score = Measured(row, task, says, "; and ".join(cautions))
    return with_readings(with_test(score, row.value, test), readings)


def counted(row, words: int = 0) -> str:
    """What a cell of the matrix is made of: "400 items", "128 sentences, interval over their 16 target words", "3
    seeds, 296 to 336 items each". words: of a test of sentences, if that is known."""
    if pd.isna(row.n):
        return ""
    if row.unit == ITEMS or pd.isna(row.items):
        unit = meanings("units").get(row.measure, row.unit) if row.unit == ITEMS else row.unit
        return f"{row.n:,} {unit.replace('their target', f'their {words} target') if words else unit}"
    sizes = " to ".join(f"{size:,}" for size in dict.fromkeys((row.items_least, row.items)))
    return f"{row.n} {row.unit}, {sizes} items each"
