"""Do intrinsic measures predict extrinsic ones? Tables 2 and 6 of Orgad, Goldfarb-Tarrant & Belinkov (2022)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics.association import holm
from scripts.biasflow.papers.dawkins2024.downstream import NOT_ASKED, RUN, not_run_status
from scripts.biasflow.papers.orgad2022.rows import (
    AFTER,
    BEFORE,
    CEAT_VARIANT,
    COMPRESSION,
    COMPRESSION_BITS,
    EXTRINSIC,
    STRATEGIES,
    VARIANTS,
    ceat_tests,
    column,
    diverged,
    of_paper,
    points,
    printed_rows,
)
from scripts.biasflow.results.statistics import correlation
from scripts.biasflow.results.tables import merge_published

ALL, CENTRED = "all", "within strategies"
SIGNIFICANT, EVERY = "p < 0.05", "all"  # which points stand in a row of tables 2 and 6
METHODS = ["pearson", "spearman"]
_LEVEL = 0.05
_TABLES = ["2", "6"]
_R_SQUARED_KEY = ["encoder", "intrinsic", "intrinsic_variant", "points", "metric", "variant"]


@dataclass(frozen=True)
class Line:
    """The least-squares line y = intercept + slope x, its coefficient of determination, and the number of points."""

    slope: float
    intercept: float
    r_squared: float
    n: int


def line(x: ArrayLike, y: ArrayLike) -> Line:
    """The least-squares line through the pairs (x, y), each [n], that are finite on both sides.

    R^2 = 1 - residual / total sum of squares, the square of Pearson's r. NaN for fewer than three pairs or a constant
    side."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Line(*[float("nan")] * 3, n=len(x))
    fitted = stats.linregress(x, y)
    return Line(float(fitted.slope), float(fitted.intercept), float(fitted.rvalue) ** 2, len(x))


def r_squared_table(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    *,
    encoders: Sequence[str],
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Tables 2 and 6: R^2 of every extrinsic measure with compression and with CEAT, before and after retraining.

    A row per encoder of `encoders`, intrinsic measure and variant, which `points` (those with p < 0.05, as the paper
    has for CEAT, or all) and extrinsic measure; points are strategies x seeds, after retraining x heads, with
    scrubbing on scrubbed biographies. `n_before` and `n_after` count them. Published values stand beside compression
    as released (mixed-last) and the CEAT points with p < 0.05. CEAT is C6, or the first test that the run has.
    `not_run`: encoder -> reason; `measures_not_run`: "compression", "ceat", "before" or "after" -> reason.
    Raises BiasflowError for no encoders, and naming encoder and strategy for a hole in the scores."""
    if not encoders:
        raise BiasflowError("table of R^2: no encoder is given; give at least one")
    test = next(iter(ceat_tests(scores)), "C6")
    stages = {stage: points(scores, stage) for stage in (BEFORE, AFTER)}
    run = set(of_paper(scores)["encoder"])
    printed = _printed(published, test)

    def why(encoder: str, intrinsic: str, own: Mapping[str, pd.DataFrame]) -> str:
        """Why an encoder has no R^2: it was not run, not tested, or lacks the intrinsic measure."""
        if encoder not in run:
            return not_run_status(encoder, not_run)
        lacking = intrinsic.split(" ")[0] if any(map(len, own.values())) else BEFORE
        return f"not run: {(measures_not_run or {}).get(lacking, NOT_ASKED)}"

    measures = [*EXTRINSIC, *VARIANTS]
    rows = []
    for encoder in encoders:
        own = {stage: table[table["encoder"] == encoder] for stage, table in stages.items()}
        for intrinsic, variant, name, kept in _readings(test):
            for measure in measures:
                keys = dict(zip(_R_SQUARED_KEY, (encoder, intrinsic, variant, kept), strict=False))
                row = keys | {"measure": measure.label, "metric": measure.metric, "variant": measure.variant}
                for stage, table in own.items():
                    if name not in table or column(*measure[1:]) not in table or table[name].isna().all():
                        continue
                    chosen = table[table[f"{name} p"] < _LEVEL] if kept == SIGNIFICANT else table
                    fitted = line(chosen[name], chosen[column(*measure[1:])])
                    row |= {stage: fitted.r_squared, f"n_{stage}": fitted.n}
                shown = f"n_{BEFORE}" in row or f"n_{AFTER}" in row
                row["status"] = RUN if shown else why(encoder, intrinsic, own)
                if shown or _is_printed(printed, row):
                    rows.append(row)
        if not any(row["encoder"] == encoder for row in rows):
            rows.append({"encoder": encoder, "status": why(encoder, "", own)})
    columns = ["encoder", "intrinsic", "intrinsic_variant", "points", "measure", "metric", "variant"]
    columns += [BEFORE, f"n_{BEFORE}", AFTER, f"n_{AFTER}", "status"]
    table = pd.DataFrame(rows, columns=columns)
    text = [name for name in columns if name not in (BEFORE, AFTER, f"n_{BEFORE}", f"n_{AFTER}")]
    table = table.astype({**dict.fromkeys(text, object), BEFORE: float, AFTER: float}).fillna(dict.fromkeys(text, ""))
    table = merge_published(table, printed, on=_R_SQUARED_KEY, values=[BEFORE, AFTER])
    return table.drop(columns="metric").astype({f"n_{BEFORE}": "Int64", f"n_{AFTER}": "Int64"})


def correlations(scores: pd.DataFrame, *, resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Pearson and Spearman of every extrinsic measure with every intrinsic one, over fine-tuned encoders.

    Per encoder, stage ("before", "after": means over an encoder's heads) and `strategies`: all of them, within
    strategies (partial over strategies), and each alone. Columns: estimate, r_squared (its square), p, p_holm (family:
    all tests of an encoder, stage and method), a 95 % percentile bootstrap interval of `resamples` over the encoders
    (`low`, `high`), n, and `note`: why there is no value.
    Within strategies both sides are centred by strategy first, which takes away what differs between strategies; p is
    then from t = r sqrt(df / (1 - r^2)) with df = n - k - 1 for k strategies, the test of a partial correlation.
    An encoder whose models all diverged has one row that says so. Raises BiasflowError naming encoder and strategy for
    a hole in the scores, and where nothing can be correlated."""
    found, stages = [], {stage: points(scores, stage, average_heads=True) for stage in (BEFORE, AFTER)}
    for stage, models in stages.items():
        for encoder, table in models.groupby("encoder"):
            for intrinsic, variant, name in _intrinsic(table):
                for measure in [*EXTRINSIC, *VARIANTS]:
                    if (y := column(*measure[1:])) not in table:
                        continue
                    both = table[["strategy", name, y]].dropna()
                    keys = {"encoder": encoder, "stage": stage, "intrinsic": intrinsic, "intrinsic_variant": variant}
                    keys |= {"measure": measure.label, "variant": measure.variant}
                    for group, own, lost in _groups(both):
                        for method in METHODS:
                            one = _correlation(own[name], own[y], method, lost, resamples, seed)
                            found.append(keys | {"strategies": group, "method": method} | one)
    found += _diverged_altogether(scores, [row["encoder"] for row in found])
    if not found:
        raise BiasflowError("correlations: no encoder has both extrinsic and intrinsic scores; run a probe or CEAT")
    frame = pd.DataFrame(found)
    corrected = frame.groupby(["encoder", "stage", "method"])["p"].transform(holm)
    frame.insert(frame.columns.get_loc("p") + 1, "p_holm", corrected.astype(float))
    return frame.sort_values(["encoder"], kind="stable", ignore_index=True)


def _readings(test: str) -> Iterator[tuple[str, str, str, str]]:
    """Intrinsic measure, its variant, its column in `points`, and which points count."""
    for measure in (COMPRESSION, COMPRESSION_BITS):
        yield "compression", measure.variant, column(*measure[1:]), EVERY
    for kept in (SIGNIFICANT, EVERY):
        yield f"ceat {test}", CEAT_VARIANT, f"ceat {test}", kept


def _printed(published: pd.DataFrame, test: str) -> pd.DataFrame:
    """R^2 as printed, by _R_SQUARED_KEY, columns before and after; CEAT only where ours is on the same test."""
    rows = printed_rows(published, _TABLES)
    ceat = rows["intrinsic"] == "ceat"
    rows = rows.assign(
        intrinsic=rows["intrinsic"].mask(ceat, "ceat C6"),
        intrinsic_variant=np.where(ceat, CEAT_VARIANT, COMPRESSION.variant),
        points=np.where(ceat, SIGNIFICANT, EVERY),
    )
    rows = rows[~ceat | (test == "C6")]
    wide = rows.pivot(index=_R_SQUARED_KEY, columns="stage", values="value").rename_axis(columns=None)
    return wide.reset_index()


def _is_printed(printed: pd.DataFrame, row: Mapping[str, object]) -> bool:
    return bool((printed[_R_SQUARED_KEY] == [row[key] for key in _R_SQUARED_KEY]).all(axis=1).any())


def _intrinsic(table: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Intrinsic measure, its variant and its column, of those that an encoder has."""
    for measure in (COMPRESSION_BITS, COMPRESSION):
        if column(*measure[1:]) in table and table[column(*measure[1:])].notna().any():
            yield "compression", measure.variant, column(*measure[1:])
    for name in table:
        if name.startswith("ceat ") and f"{name} p" in table and table[name].notna().any():
            yield name, CEAT_VARIANT, name


def _groups(both: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, int]]:
    """All points, the same centred by strategy, and each strategy: name, points, degrees of freedom that are lost."""
    yield ALL, both, 0
    strategies = [name for name in STRATEGIES if name in set(both["strategy"])]
    if len(strategies) > 1:
        values = both.drop(columns="strategy")
        centred = values - values.groupby(both["strategy"]).transform("mean")
        # Values that are equal but for rounding must stay tied: what is constant in each strategy has no correlation.
        scale = values.abs().max().replace(0, 1)
        centred = (centred / scale).round(12) * scale
        yield CENTRED, centred, len(strategies) - 1
        for strategy in strategies:
            yield strategy, both[both["strategy"] == strategy], 0


def _correlation(x: pd.Series, y: pd.Series, method: str, lost: int, resamples: int, seed: int) -> dict[str, object]:
    one = correlation(x, y, method, resamples=resamples, seed=seed)
    freedom = one.n - 2 - lost
    reason = one.reason or ("fewer pairs than strategies and two" if freedom < 1 else "")
    if reason:
        nothing = dict.fromkeys(["estimate", "r_squared", "p", "low", "high"], float("nan"))
        return nothing | {"n": one.n, "note": reason}
    p = _partial_p(one.estimate, freedom) if lost else one.p
    values = {"estimate": one.estimate, "r_squared": one.estimate**2, "p": p, "low": one.low, "high": one.high}
    return values | {"n": one.n, "note": ""}


def _diverged_altogether(scores: pd.DataFrame, correlated: Sequence[str]) -> list[dict[str, object]]:
    """A row that says so for each encoder of which no model is left because fine-tuning diverged."""
    names = sorted({encoder for encoder, _ in diverged(scores)} - set(correlated))
    numbers = dict.fromkeys(["estimate", "r_squared", "p", "low", "high"], float("nan"))
    texts = dict.fromkeys(["stage", "intrinsic", "intrinsic_variant", "measure", "variant", "strategies", "method"], "")
    note = {"n": 0, "note": "the fine-tuning of all models diverged"}
    return [{"encoder": name} | texts | numbers | note for name in names]


def _partial_p(r: float, freedom: int) -> float:
    """Two-sided p of a (partial) correlation r with so many degrees of freedom."""
    if abs(r) >= 1:
        return 0.0
    return float(2 * stats.t.sf(abs(r) * np.sqrt(freedom / (1 - r * r)), freedom))
