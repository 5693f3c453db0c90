"""What the page says first of a classifier that is given: how many of its decisions change when he is she, towards
which label, beside the control, and what an eraser changes of that."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from biasflow.base.genders import FEMALE, MALE
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
    def turned(self) -> "Score":
        """The difference the other way round."""
        return Score(-self.value, -self.high, -self.low, self.n)

    @property
    def of_1000(self) -> str:
        """A share as a number of 1,000, with its interval: "23 (15 to 33)"."""
        value, low, high = (f"{1000 * share:.0f}" for share in (self.value, self.low, self.high))
        return f"{value} ({low} to {high})"


class Label(NamedTuple):
    """A label: mean p of the version that speaks of a woman minus that of the one that speaks of a man; share of texts
    that have it in her, or his, version alone; its true positive rate of women and of men, and women's minus men's."""

    name: str
    she_minus_he: Score
    hers: Score
    his: Score
    of_women: Score
    of_men: Score
    gap: Score


class UnderMethod(NamedTuple):
    """A method: flips, the same under each draw of its control, and its price in decisions."""

    name: str
    flips: Score
    draws: Sequence[float]
    kept: Score
    accuracy: Score


@dataclass(frozen=True)
class Decisions:
    """A classifier on the tested texts of a task. tested: how many these are; flips, control: share of labels that
    change, by words of gender and by neutral ones; paired: by words of gender, of the texts of the control; above: p of
    this being larger than control; words: how many words are exchanged in the texts of the control, of gender and
    neutral ones; matched: paired and control of the texts in which these are as many; accuracy: of all tested texts;
    majority: of the label that most of these have; balanced: accuracy of as many women as men of each label; swapped:
    the change of accuracy on swapped copies; labels: those that move the most first; cut: texts that were too long;
    others: the other classifiers of the task, such as one of another seed, each with the share of texts to which it
    gives another label, of those that both decide on."""

    encoder: str
    task: str
    tested: int
    flips: Score
    control: Score
    paired: Score
    above: float
    words: tuple[Score, Score]
    matched: tuple[Score, Score]
    accuracy: Score
    majority: Score
    balanced: Score
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
        moving = [label for label in self.labels if label.she_minus_he.low > 0]
        label = max(moving, key=lambda one: one.hers.value - one.his.value, default=None)
        return label if label and label.hers.value > label.his.value else None

    @property
    def away(self) -> Label | None:
        """The label that men gain the most of."""
        moving = [label for label in self.labels if label.she_minus_he.high < 0]
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
    of_all = of_given["dataset"].isin(of_given.loc[of_given["metric"] == "flips", "dataset"])
    balanced = _by_classifier(of_given[~of_all & (of_given["metric"] == "accuracy")])
    found = []
    for (encoder, task), rows in _by_classifier(of_given[of_all]).items():
        by_method = {key: _by_key(of) for key, of in rows.groupby(["method", "setting"], sort=False)}
        untouched = by_method.get((NONE, NA), {})
        if ("flips", NA, NA) not in untouched:
            continue

        def of(metric: str, variant: str = NA, part: str = NA, scores=untouched) -> Score:
            return scores.get((metric, part, variant), Score())

        labels = [
            Label(
                name,
                score.turned,
                *(of("moved_to", side, name) for side in ("she", "he")),
                *(of("tpr", gender, name) for gender in (FEMALE, MALE)),
                of("tpr_gap", NA, name),
            )
            for (metric, name, _), score in untouched.items()
            if metric == "he_minus_she"
        ]
        labels.sort(key=lambda one: (-abs(one.his.value - one.hers.value), -abs(one.she_minus_he.value)))
        of_people = balanced.get((encoder, task), rows[:0])
        found.append(
            Decisions(
                encoder,
                task,
                int(of("gendered_texts").n),
                *(of("flips", variant) for variant in (NA, "control", "paired")),
                of("flips_p").value,
                (of("words_exchanged", "paired"), of("words_exchanged", "control")),
                (of("flips", "paired-matched"), of("flips", "control-matched")),
                of("accuracy_tested"),
                of("majority_share"),
                next(iter(_by_key(of_people[of_people["method"] == NONE]).values()), Score()),
                of("accuracy_change"),
                labels,
                [*_methods(by_method)],
                int(np.nan_to_num(of("truncated").value)),
                [*_others(encoder, task, answers)],
            )
        )
    return found


def _by_classifier(scores: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    return dict(list(scores.groupby(["encoder", "task"], sort=False)))


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


def _methods(by_method: Mapping[tuple[str, str], dict]) -> Iterator[UnderMethod]:
    flips = {key: of["flips", NA, NA] for key, of in by_method.items() if ("flips", NA, NA) in of}
    for (name, setting), score in flips.items():
        if name != NONE and setting == NA and control_of(name) is None:
            draws = [drawn.value for (control, _), drawn in flips.items() if control_of(control) == name]
            price = (
                by_method[name, setting].get((of, NA, NA), Score()) for of in ("decisions_kept", "accuracy_tested")
            )
            yield UnderMethod(name, score, draws, *price)
