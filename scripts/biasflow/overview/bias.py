"""How biased is a model as it is: its scores as distances from neutral on one axis, with what is known against them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.sample import SUFFIX
from biasflow.overview.calibrated import calibrated_test, evidence_for, published
from biasflow.overview.judgements import DIFFERS, LARGE, NO_CLAIM, SAME, verdict
from biasflow.overview.measured import Measured
from biasflow.registry import Measure
from biasflow.results.evidence import DID_NOT, MEASURES, ORDER, Evidence, evidence_of


@dataclass(frozen=True)
class BiasRow:
    """A score of an untouched model. place, low, high: on the axis (`places`), NaN without an interval; published: the
    scores of published models in the same measure, and their places; less_evidence: whether it is read from a weak
    head, or its measure did not follow a planted bias in all encoders that were tried, where those of the model were
    tried at all."""

    score: Measured
    place: float
    low: float
    high: float
    known: Evidence
    published: Sequence[float] = ()
    published_places: Sequence[float] = ()
    less_evidence: bool = False

    @property
    def name(self) -> str:
        return self.score.cell.header

    @property
    def shown(self) -> bool:
        return self.score.verdict == DIFFERS

    @property
    def partial(self) -> bool:
        """Whether there is evidence in part: its measure followed a planted bias in every encoder that was tried, two
        or more, by as much in each or not, its head is not weak, and no other reading denies the bias that it shows."""
        denied = self.score.weak or (self.shown and self.score.contrary)
        return bool(not denied and self.known.followed == self.known.encoders > 1 and not self.known.against)

    @property
    def lacks(self) -> str:
        """What readers see of evidence that is not full; "" where it is."""
        return "" if not self.less_evidence else "evidence in part" if self.partial else "less evidence"

    @property
    def doubtful(self) -> str:
        """Its name, with what speaks against the bias that it shows."""
        doubt = "disputed" if self.score.contrary else "its measure failed" if self.known.failed else ""
        return f"{self.name} ({doubt})" if doubt else self.name

    @property
    def group(self) -> int:
        """0 with full evidence, 1 in part, 2 with less, 3 where it is not judged."""
        return int(self.less_evidence) * (1 if self.partial else 2) if self.judged else 3

    @property
    def order(self) -> tuple[int, bool, int]:
        """Where it stands: what has more evidence first, and of these what shows bias."""
        return self.group, not self.shown, ORDER.index(DID_NOT if self.known.failed else self.known.evidence)

    @property
    def borderline(self) -> bool:
        """Whether no bias is shown, as its interval and its permutation test do not both say so, but one does."""
        cell = self.score.cell
        by_interval = verdict(cell.low, cell.high, cell.neutral, cell.better) == DIFFERS
        return self.score.verdict == SAME and (by_interval or self.score.significant)

    @property
    def judged(self) -> bool:
        return self.score.verdict != NO_CLAIM

    @property
    def value(self) -> float:
        return self.score.cell.value

    @property
    def may_miss_large(self) -> bool:
        """Whether no bias is shown, and one of LARGE would have been in fewer than 80 of 100 cases."""
        cell, measure = self.score.cell, MEASURES[self.score.cell.measure]
        return (
            self.judged and not self.shown and bool(abs(places(measure.neutral + cell.smallest_seen, measure)) > LARGE)
        )

    @property
    def comparable(self) -> bool:
        """Whether published models may be named beside it: not beside a sample, nor beside a weak head."""
        return bool(self.published) and not self.score.weak and SUFFIX not in self.score.cell.dataset

    @property
    def beyond(self) -> dict[str, int]:
        """Of a score that shows bias, how many published models are beyond its interval: "less" or "more" -> of how
        many it shows less, or more, bias."""
        near, far = sorted(map(abs, (self.low, self.high)))
        distances = np.abs(self.published_places)
        return {"less": int((distances > far).sum()), "more": int((distances < near).sum())}


def places(values: ArrayLike, measure: Measure) -> np.ndarray:
    """Scores as places on an axis from -1 to 1, where 0 is neutral: their distance from neutral as a share of the
    largest one that is possible; of a measure without a largest, d / (1 + d), so that 1 nat, or a ratio of 2, lies half
    way. Above 0: towards the bias that the measure looks for."""
    distance = np.asarray(values, dtype=float) - measure.neutral
    distance = -distance if measure.better == "high" else distance
    return distance / measure.farthest if np.isfinite(measure.farthest) else distance / (1 + np.abs(distance))


def bias_rows(measured: Sequence[Measured], kind: str | None, calibration: pd.DataFrame | None = None) -> list[BiasRow]:
    """A row for each score of bias. kind: of `calibrated.kind_of`, None where it is not known; calibration: of the
    encoder in this run."""
    rows, evidence = [], evidence_for(kind, calibration)
    for score in filter(lambda one: one.is_bias, measured):
        cell, whole = score.cell, score.cell.dataset.partition(SUFFIX)[0]
        others = list(published(cell.measure, whole).values())
        rows.append(
            BiasRow(
                score,
                *places([cell.value, cell.low, cell.high], MEASURES[cell.measure]).tolist(),
                evidence_of(evidence, cell.measure, calibrated_test(cell.dataset)),
                others,
                places(others, MEASURES[cell.measure]).tolist(),
            )
        )
    tested = any(row.known.tried for row in rows)
    return [replace(row, less_evidence=row.score.weak or (tested and not row.known.green)) for row in rows]


def judging_rows(rows: Sequence[BiasRow]) -> list[BiasRow]:
    """The rows by which methods are judged: those that show bias and have evidence; without any, those that have it in
    part; all that show bias if there are none of these either."""
    shown = [row for row in rows if row.shown]
    return [row for row in shown if not row.less_evidence] or [row for row in shown if row.partial] or shown
