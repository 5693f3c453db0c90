"""All verdicts of a run as columns of matrix.csv: the page, the terminal and the text for a report print the same."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from biasflow.overview.bias import BiasRow
from biasflow.overview.helps import MethodRow
from biasflow.overview.judgements import compared, turned
from biasflow.overview.maps import UNTOUCHED, Map
from biasflow.results.matrix import ROW

OF_SCORE = ["verdict", "evidence", "evidence_says", "less_evidence", "disputed", "past_neutral"]
OF_METHOD = ["left", "left_low", "left_high", "left_beats", "left_draws", "left_p", "worst_score", "worst_left"]
OF_METHOD += ["price", "price_low", "price_high", "price_of", "quality", "quality_known"]
VERDICTS = [*OF_SCORE, *OF_METHOD]


def verdicts(model_map: Map, biases: Sequence[BiasRow], methods: Sequence[MethodRow]) -> pd.DataFrame:
    """The verdicts of a model's cells: ROW and VERDICTS, a row for each cell.

    verdict: of an untouched score whether bias is shown, of one under a method what this does
    (`judgements.compared`); evidence, evidence_says: of its measure (results.evidence); less_evidence: "yes" where
    that, or a weak head, makes it so on this model; disputed: the other readings of the test that do not show it;
    past_neutral: "yes" where a method takes it to the other side of neutral. The others are of the method, and the
    same in all its cells: left [left_low, left_high], the mean share of the bias that is left, which is less than
    under left_beats of left_draws draws of its control (left_p); worst_score and worst_left: of which score most is
    left; price [price_low, price_high]: by which share the cost price_of is worse; quality; quality_known: by how
    many costs of how many."""
    cells, rows = model_map.cells, {row.name: row for row in methods}
    scores = {row.name: row for row in biases}
    table = [
        (
            scores[cell.header].score.verdict if cell.name == UNTOUCHED and cell.header in scores else compared(cell),
            *_evidence(scores.get(cell.header)),
            "yes" if turned(cell) else "no",
            *_of_method(rows.get(cell.name)),
        )
        for cell in cells.itertuples()
    ]
    found = pd.DataFrame(table, columns=VERDICTS, index=cells.index)
    is_cost = (cells["name"] == UNTOUCHED) & ~cells["header"].isin(scores)
    return pd.concat([cells[ROW], found.assign(verdict=found["verdict"].mask(is_cost, ""))], axis=1)


def _evidence(row: BiasRow | None) -> tuple[str, ...]:
    if row is None:
        return ("",) * 4
    disputed = ", ".join(row.score.contrary) if row.shown else ""
    return row.known.evidence, row.known.sentence, "yes" if row.less_evidence else "no", disputed


def _of_method(row: MethodRow | None) -> tuple[object, ...]:
    if row is None:
        return (np.nan,) * len(OF_METHOD)
    worst = max(row.left_of.items(), key=lambda share: share[1], default=("", np.nan))
    known = f"{row.costs[0]} of {row.costs[1]} costs"
    return (
        *row.left,
        row.against.beats,
        row.against.draws,
        row.against.p,
        *worst,
        *row.lost,
        row.cost,
        row.quality,
        known,
    )
