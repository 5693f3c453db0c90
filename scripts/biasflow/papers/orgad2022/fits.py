"""Tables 2 and 6: how well intrinsic measures explain extrinsic ones, as R^2 of a line."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from biasflow.papers.frames import Run, status
from biasflow.papers.orgad2022.blocks import named_encoders
from biasflow.papers.orgad2022.comparisons import LEVEL
from biasflow.papers.orgad2022.halves import AFTER, BEFORE, CEAT, COMPRESSION, OCCUPATION, RAW, Half
from biasflow.papers.orgad2022.measures import CEAT_PRINTED, CEAT_VARIANT, bits, mixed
from biasflow.papers.orgad2022.printed import ENCODER, REPLICA, beside, printed_values, with_labels
from biasflow.papers.orgad2022.runs import ceat_columns, points, with_coded
from biasflow.papers.orgad2022.selection import Selection, select
from biasflow.results.tables import DIFFERENCE, PUBLISHED, arranged

SIGNIFICANT, EVERY = "p < 0.05", "all"  # which points stand in a row
_KEY = ["encoder", "tested", "intrinsic", "intrinsic_variant", "points", "metric", "variant"]


@dataclass(frozen=True)
class Line:
    """The least-squares line y = intercept + slope x, its coefficient of determination, and the number of points."""

    slope: float
    intercept: float
    r_squared: float
    n: int


def line(x: ArrayLike, y: ArrayLike) -> Line:
    """Fit the least-squares line through the finite pairs of x [n] and y [n].

    R^2 = 1 - residual / total sum of squares, the square of Pearson's r. NaN for fewer than three pairs or a constant
    side."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Line(*[float("nan")] * 3, n=len(x))
    fitted = stats.linregress(x, y)
    return Line(float(fitted.slope), float(fitted.intercept), float(fitted.rvalue) ** 2, len(x))


def table2(run: Run, *, half: Half = OCCUPATION) -> pd.DataFrame:
    """Return R^2 of every extrinsic measure with compression and with CEAT, before and after retraining, for the first
    encoder (for coreference: all).

    A row per encoder, input that scrubbing is `tested` on, intrinsic measure and variant, which `points` (those with
    p < 0.05, as the paper has for CEAT, or all) and extrinsic measure; points are models x seeds, after retraining x
    heads, with scrubbing probed on scrubbed biographies. `n_before` and `n_after` count them; `coded` is how many
    labels the probe coded. Published values stand beside compression as released (released-mixed-last) and the CEAT
    points with p < 0.05, tested on raw biographies. CEAT is C6, or the first test that the run has. BiasflowError
    naming encoder and strategy for a hole in the scores."""
    encoders = named_encoders(run.options, half.encoders)
    return _shown(run, half, [*(encoders[:1] if half is OCCUPATION else encoders), ENCODER])


def table6(run: Run) -> pd.DataFrame:
    """Return `table2` for the other encoders, the replicas."""
    return _shown(run, OCCUPATION, [*run.options["encoders"][1:], REPLICA])


def _shown(run: Run, half: Half, encoders: Sequence[str]) -> pd.DataFrame:
    table = fitted(run, half, encoders)
    tested = ["tested"] if len(half.inputs) > 1 else []
    columns = ["encoder", *tested, "intrinsic", "intrinsic_variant", "coded", "points", "measure", "variant"]
    for stage in (BEFORE, AFTER):
        columns += [stage, stage + PUBLISHED, stage + DIFFERENCE, f"n_{stage}"]
    return table[[*columns, "status"]].astype({"n_before": "Int64", "n_after": "Int64"})


def fitted(run: Run, half: Half, encoders: Sequence[str]) -> pd.DataFrame:
    """R^2 of every extrinsic measure (metric and variant) with the intrinsic ones, beside the printed values."""
    chosen, encoders = select(run, half), list(dict.fromkeys(encoders))
    stages = [BEFORE, AFTER]
    before, after = (
        pd.concat(
            [_fitted(points(chosen, stage, tested), stage, chosen).assign(tested=tested) for tested in chosen.inputs]
        )
        for stage in stages
    )
    ours = before.merge(after, on=_KEY, how="outer")
    table = with_labels(beside(ours, _printed(chosen), _KEY, stages, encoders), half)
    table["status"] = [
        row.status or status(chosen.no_points(row.encoder, COMPRESSION if row.intrinsic == COMPRESSION else CEAT))
        for row in table.itertuples()
    ]
    table = arranged(
        table,
        encoder=encoders,
        tested=half.inputs,
        intrinsic=[COMPRESSION],
        intrinsic_variant=[reading(data).variant for data in half.probe_data for reading in (mixed, bits)],
        points=[SIGNIFICANT, EVERY],
        key=[measure.key for measure in half.measures],
    )
    return with_coded(chosen, table)


def _fitted(table: pd.DataFrame, stage: str, chosen: Selection) -> pd.DataFrame:
    """R^2 and number of points of a stage by _KEY but `tested`, of what an encoder has."""
    effect, p = ceat_columns(chosen.ceat_test)
    compressions = [reading(data) for data in chosen.probe_data for reading in (mixed, bits)]
    readings = [(COMPRESSION, measure.variant, EVERY, measure.column) for measure in compressions]
    readings += [(effect, CEAT_VARIANT, kept, effect) for kept in (SIGNIFICANT, EVERY)]
    rows = []
    for encoder, block in table.groupby("encoder"):
        for (*reading, x), measure in product(readings, chosen.half.bias):
            if {x, measure.column} <= set(block) and block[x].notna().any():
                shown = block[block[p] < LEVEL] if SIGNIFICANT in reading else block
                fitted = line(shown[x], shown[measure.column])
                rows.append((encoder, *reading, *measure.key, fitted.r_squared, fitted.n))
    keys = [key for key in _KEY if key != "tested"]
    return pd.DataFrame(rows, columns=[*keys, stage, f"n_{stage}"])


def printed_r_squared(chosen: Selection, tested: str) -> pd.Series:
    """R^2 with compression as printed: [encoder, metric, variant, stage], none where ours is of another reading."""
    values = _printed(chosen)
    alike = values["intrinsic_variant"] == mixed(chosen.probe_data[0]).variant
    values = values[alike & (values["tested"] == tested)]
    return values.set_index(["encoder", "metric", "variant"])[[BEFORE, AFTER]].stack()


def _printed(chosen: Selection) -> pd.DataFrame:
    """R^2 as printed, by _KEY, columns before and after; CEAT only where ours is on the same test."""
    values = printed_values(chosen.run, chosen.half, "2", "6")
    ceat = values["intrinsic"] == CEAT
    values = values.assign(
        intrinsic=values["intrinsic"].mask(ceat, ceat_columns(CEAT_PRINTED)[0]),
        intrinsic_variant=np.where(ceat, CEAT_VARIANT, mixed(chosen.half.probe_data[0]).variant),
        points=np.where(ceat, SIGNIFICANT, EVERY),
        tested=RAW,
    )[~ceat | (chosen.ceat_test == CEAT_PRINTED)]
    return values.pivot(index=_KEY, columns="stage", values="value").rename_axis(columns=None).reset_index()
