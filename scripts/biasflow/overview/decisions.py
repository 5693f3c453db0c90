"""What the page says first of a classifier that is given: how many of its decisions change when he is she, towards
which label, beside the control, and what an eraser changes of that."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from biasflow.methods.controls import control_of
from biasflow.readouts.files import load_arrays
from biasflow.registry import GIVEN
from biasflow.results.bootstrap import share_interval
from biasflow.results.matrix import OWN
from biasflow.results.scores import NA, NONE

Answers = Mapping[tuple[str, str], pd.Series]  # (encoder, task) -> labels of a classifier as it is (`answers_of`)


class Score(NamedTuple):
    """A score with its interval, and how many texts it is of; NaN where there is none."""

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    n: float = 0

    @property
    def is_there(self) -> bool:
        return not np.isnan(self.value)

    @property
    def of_1000(self) -> str:
        """A share as a number of 1,000, with its interval: "23 (15 to 33)"."""
        value, low, high = (f"{1000 * share:.0f}" for share in (self.value, self.low, self.high))
        return f"{value} ({low} to {high})"


class Label(NamedTuple):
    """A label: mean p of the version that speaks of a man minus that of the one that speaks of a woman; share of texts
    that have it in his, or her, version alone; the gap in its true positive rate."""

    name: str
    he_minus_she: Score
    his: Score
    hers: Score
    gap: Score


class UnderMethod(NamedTuple):
    """A method: flips, the same under the draws of its control (least, most), and its price in decisions."""

    name: str
    flips: Score
    control: tuple[float, float] | None
    kept: Score
    accuracy: Score


@dataclass(frozen=True)
class Decisions:
    """A classifier on the tested texts of a task. tested: how many these are; flips, control: share of labels that
    change, by words of gender and by neutral ones; paired: by words of gender, of the texts of the control; above: p of
    this being larger than control; accuracy: of all tested texts; majority: of the label that most of these have;
    swapped: the change of accuracy on swapped copies; labels: those that move the most first; cut: texts that were too
    long; others: the other classifiers of the task, such as one of another seed, each with the share of texts to which
    it gives another label, of those that both decide on."""

    encoder: str
    task: str
    tested: int
    flips: Score
    control: Score
    paired: Score
    above: float
    accuracy: Score
    majority: Score
    swapped: Score
    labels: Sequence[Label]
    methods: Sequence[UnderMethod]
    cut: int
    others: Sequence[tuple[str, Score]] = ()

    @property
    def gendered(self) -> int:
        """How many of the tested texts have a word of gender."""
        return int(self.flips.n)

    @property
    def towards(self) -> Label | None:
        """The label that women gain the most of, by decisions; None where no probability is shown to move so."""
        moving = [label for label in self.labels if label.he_minus_she.high < 0]
        label = max(moving, key=lambda one: one.hers.value - one.his.value, default=None)
        return label if label and label.hers.value > label.his.value else None

    @property
    def away(self) -> Label | None:
        """The label that men gain the most of."""
        moving = [label for label in self.labels if label.he_minus_she.low > 0]
        label = max(moving, key=lambda one: one.his.value - one.hers.value, default=None)
        return label if label and label.his.value > label.hers.value else None

    @property
    def gaps(self) -> list[Label]:
        """The labels with a gap, the largest first."""
        with_gap = [label for label in self.labels if label.gap.is_there]
        return sorted(with_gap, key=lambda label: -abs(label.gap.value))


def answers_of(path: Path) -> pd.Series:
    """The name of the label that a classifier gives, as it is, to each tested text, by the text's id; none where its
    readout (of `predictions`) could not be made."""
    if path.is_file():
        readout = load_arrays(path)
        ids, classes = readout.meta["ids"], np.array(readout.meta["classes"])
        for (method, _), labels in zip(readout.axis, readout.arrays["own"], strict=True):
            if method == NONE:
                return pd.Series(classes[labels[: len(ids)]], ids)
    return pd.Series(dtype=str)


def decisions(scores: pd.DataFrame, answers: Answers = MappingProxyType({})) -> list[Decisions]:
    """One for each classifier that is given, in the order of the table of scores."""
    of_given = scores[(scores["strategy"] == GIVEN) & scores["head"].isin(OWN)]
    # Those of all tested texts, not of as many women as men.
    of_given = of_given[of_given["dataset"].isin(of_given.loc[of_given["metric"] == "flips", "dataset"])]
    found = []
    for (encoder, task), rows in of_given.groupby(["encoder", "task"], sort=False):
        by_method = dict(list(rows.groupby(["method", "setting"], sort=False)))
        untouched = _by_key(by_method.get((NONE, NA), rows[:0]))
        if ("flips", NA, NA) not in untouched:
            continue
        labels = [
            Label(
                name,
                untouched["he_minus_she", name, NA],
                *(untouched["moved_to", name, side] for side in ("he", "she")),
                untouched.get(("tpr_gap", name, NA), Score()),
            )
            for metric, name, _ in untouched
            if metric == "he_minus_she"
        ]
        labels.sort(key=lambda one: (-abs(one.his.value - one.hers.value), -abs(one.he_minus_she.value)))
        found.append(
            Decisions(
                encoder,
                task,
                int(untouched["gendered_texts", NA, NA].n),
                *(untouched.get(("flips", NA, variant), Score()) for variant in (NA, "control", "paired")),
                untouched.get(("flips_p", NA, NA), Score()).value,
                untouched.get(("accuracy_tested", NA, NA), Score()),
                untouched.get(("majority_share", NA, NA), Score()),
                untouched.get(("accuracy_change", NA, NA), Score()),
                labels,
                [*_methods(by_method)],
                int(np.nan_to_num(untouched.get(("truncated", NA, NA), Score()).value)),
                [*_others(encoder, task, answers)],
            )
        )
    return found


def _others(encoder: str, task: str, answers: Answers) -> Iterator[tuple[str, Score]]:
    own = answers.get((encoder, task), pd.Series(dtype=str))
    for (other, of_task), labels in answers.items():
        own_of_both, of_other = own.align(labels, join="inner")
        if of_task == task and other != encoder and (n := len(of_other)):
            differ = int((own_of_both != of_other).sum())
            yield other, Score(differ / n, *share_interval(differ, n), n)


def _by_key(rows: pd.DataFrame) -> dict[tuple[str, str, str], Score]:
    keys = rows[["metric", "part", "variant"]].itertuples(index=False, name=None)
    return dict(zip(keys, (Score(*row) for row in rows[[*Score._fields]].itertuples(index=False)), strict=True))


def _methods(by_method: dict[tuple[str, str], pd.DataFrame]):
    scores = {key: _by_key(rows) for key, rows in by_method.items()}
    for (name, setting), of in scores.items():
        if name != NONE and setting == NA and control_of(name) is None and ("flips", NA, NA) in of:
            draws = [
                other["flips", NA, NA].value
                for (control, _), other in scores.items()
                if control_of(control) == name and ("flips", NA, NA) in other
            ]
            price = (of.get((metric, NA, NA), Score()) for metric in ("decisions_kept", "accuracy_tested"))
            yield UnderMethod(name, of["flips", NA, NA], (min(draws), max(draws)) if draws else None, *price)
