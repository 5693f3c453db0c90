"""Do intrinsic measures explain extrinsic ones? Tables 2 and 6, R^2 of a line, and correlations over fine-tuned
encoders and within models."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from biasflow.papers.frames import Run, with_reasons
from biasflow.papers.orgad2022 import halves, selection
from biasflow.papers.orgad2022.selection import ENCODER, REPLICA, Selection
from biasflow.papers.orgad2022.stages import FEW_MODELS, LEAST_MODELS, LEVEL
from biasflow.papers.orgad2022.words import few_professions
from biasflow.results import statistics
from biasflow.results.tables import DIFFERENCE, PUBLISHED, arranged

SIGNIFICANT, EVERY = "p < 0.05", "all"  # which points stand in a row
_KEY = ["encoder", "tested", "intrinsic", "intrinsic_variant", "points", "metric", "variant"]


class Line(NamedTuple):
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


def table(run: Run, half: str, encoders: str) -> pd.DataFrame:
    """Return R^2 of every extrinsic measure with compression and with CEAT, before and after retraining; encoders: the
    "first", "all", or the "others", the replicas.

    A row per encoder, input that scrubbing is `tested` on, intrinsic measure and variant, which `points` (those with
    p < 0.05, as the paper has for CEAT, or all) and extrinsic measure; points are models x seeds, after retraining x
    heads, with scrubbing probed on scrubbed biographies. `n_before` and `n_after` count them; `coded` is how many
    labels the probe coded; `note` says where there are too few models for a line. Published values stand beside
    compression as released (released-mixed-last) and the CEAT points with p < 0.05, tested on raw biographies. CEAT is
    C6, or the first test that the run has."""
    tested = ["tested"] if len(halves.HALVES[half].inputs) > 1 else []
    columns = ["encoder", *tested, "intrinsic", "intrinsic_variant", "coded", "points", "measure", "variant"]
    for stage in (halves.BEFORE, halves.AFTER):
        columns += [stage, stage + PUBLISHED, stage + DIFFERENCE, f"n_{stage}"]
    rows = fitted(run, half, encoders)
    rows = rows.assign(note=rows["few_before"].mask(rows["few_before"] == "", rows["few_after"]))
    return rows[[*columns, "note", "status"]].astype({"n_before": "Int64", "n_after": "Int64"})


def fitted(run: Run, half: str, encoders: str) -> pd.DataFrame:
    """R^2 of every extrinsic measure (metric and variant) with the intrinsic ones, beside the printed values; encoders:
    as in `table`."""
    chosen = selection.select(run, halves.HALVES[half])
    half, named = chosen.half, selection.named_encoders(run.options, chosen.half.encoders)
    printed = selection.printed_encoders(run)
    shown = {
        "first": [*named[:1], *printed[ENCODER]],
        "all": [*named, *printed[ENCODER]],
        "others": [*named[1:], *printed[REPLICA]],
    }
    encoders = list(dict.fromkeys(shown[encoders]))
    before, after = (
        pd.concat(_fitted(chosen, stage, tested) for tested in chosen.inputs) for stage in (halves.BEFORE, halves.AFTER)
    )
    ours = before.merge(after, on=_KEY, how="outer")
    table = selection.with_labels(selection.beside(ours, _printed(chosen), _KEY, encoders), half)

    def why(row: NamedTuple) -> str:
        return chosen.no_points(row.encoder, row.intrinsic if row.intrinsic == halves.COMPRESSION else halves.CEAT)

    table = arranged(
        with_reasons(table, why),
        encoder=encoders,
        tested=half.inputs,
        intrinsic=[halves.COMPRESSION],
        intrinsic_variant=[measure.variant for measure in _compressions(half.probe_data)],
        points=[SIGNIFICANT, EVERY],
        key=[measure.key for measure in half.measures],
    )
    few = few_professions(run, half, table["metric"])
    for stage in (halves.BEFORE, halves.AFTER):
        table[f"few_{stage}"] = np.where(table[f"models_{stage}"] < LEAST_MODELS, FEW_MODELS, few)
    return selection.with_coded(chosen, table.assign(intrinsic_metric=table["intrinsic"].str.split().str[0]))


def _compressions(probe_data: Sequence[str]) -> list[halves.Measure]:
    """Compression with all data, as released and in consistent units."""
    return [reading(data) for data in probe_data for reading in (halves.mixed, halves.bits)]


@lru_cache(maxsize=16)  # the tables of the first encoder, of all and of the others are made of the same
def _fitted(chosen: Selection, stage: str, tested: str) -> pd.DataFrame:
    """R^2 and number of points of a stage by _KEY, of what an encoder has."""
    table = selection.points(chosen, stage, tested)
    effect, p = selection.ceat_columns(chosen.ceat_test)
    compressions = _compressions(chosen.probe_data)
    readings = [(halves.COMPRESSION, measure.variant, EVERY, measure.column) for measure in compressions]
    readings += [(effect, halves.CEAT_VARIANT, kept, effect) for kept in (SIGNIFICANT, EVERY)]
    rows = []
    for encoder, block in table.groupby("encoder"):
        for (*reading, x), measure in product(readings, chosen.half.bias):
            if {x, measure.column} <= set(block) and block[x].notna().any():
                shown = block[block[p] < LEVEL] if SIGNIFICANT in reading else block
                fitted = line(shown[x], shown[measure.column])
                models = len(shown.dropna(subset=[x, measure.column]).drop_duplicates(selection.POINT))
                rows.append((encoder, tested, *reading, *measure.key, fitted.r_squared, fitted.n, models))
    return pd.DataFrame(rows, columns=[*_KEY, stage, f"n_{stage}", f"models_{stage}"])


def printed_r_squared(chosen: Selection, tested: str) -> pd.Series:
    """R^2 with compression as printed: [encoder, metric, variant, stage], none where ours is of another reading."""
    values = _printed(chosen)
    alike = values["intrinsic_variant"] == halves.mixed(chosen.probe_data[0]).variant
    values = values[alike & (values["tested"] == tested)]
    return values.set_index(["encoder", "metric", "variant"])[[halves.BEFORE, halves.AFTER]].stack()


def _printed(chosen: Selection) -> pd.DataFrame:
    """R^2 as printed, by _KEY, columns before and after; CEAT only where ours is on the same test."""
    values = selection.printed_values(chosen.run, chosen.half, "2", "6")
    ceat = values["intrinsic"] == halves.CEAT
    values = values.assign(
        intrinsic=values["intrinsic"].mask(ceat, selection.ceat_columns(halves.CEAT_PRINTED)[0]),
        intrinsic_variant=np.where(ceat, halves.CEAT_VARIANT, halves.mixed(chosen.half.probe_data[0]).variant),
        points=np.where(ceat, SIGNIFICANT, EVERY),
        tested=halves.RAW,
    )[~ceat | (chosen.ceat_test == halves.CEAT_PRINTED)]
    return values.pivot(index=_KEY, columns="stage", values="value").rename_axis(columns=None).reset_index()


ALL, CENTRED = "all", "within strategies"
METHODS = ["pearson", "spearman"]
_MEASURED = ["estimate", "r_squared", "p", "low", "high"]
_NUMBERS = ["estimate", "r_squared", "p", "p_holm", "low", "high"]
_KEYS = ["encoder", "stage", "tested", "intrinsic", "intrinsic_variant", "measure", "variant", "strategies", "method"]


def correlations(run: Run, half: str) -> pd.DataFrame:
    """Return Pearson and Spearman correlations of every extrinsic measure with every intrinsic one, over fine-tuned
    encoders.

    Per encoder, stage ("before", "after": means over an encoder's heads), input that scrubbing is `tested` on and
    `strategies`: all of them, within strategies (partial over strategies), and each alone. Columns: estimate, r_squared
    (its square), p, p_holm (family: all tests of an encoder, stage, input and method), a 95 % jackknife
    interval over the encoders (`low`, `high`), n, `coded` (labels that the probe coded), and `note`: why
    there is no value.
    Within strategies both sides are centred by strategy first, which takes away what differs between strategies; p is
    then from t = r sqrt(df / (1 - r^2)) with df = n - k - 1 for k strategies, the test of a partial correlation, and of
    fewer than ten ranks from all orders of the centred values.
    An encoder with nothing to correlate has one row that says why."""
    chosen = selection.select(run, halves.HALVES[half])
    rows = [
        {"encoder": encoder, "stage": stage, "tested": tested} | row
        for stage, tested in product((halves.BEFORE, halves.AFTER), chosen.inputs)
        for encoder, table in selection.points(chosen, stage, tested, average_heads=True).groupby("encoder")
        for row in _of_encoder(table, chosen)
    ]
    with_points = {row["encoder"] for row in rows}
    rows += [
        {"encoder": encoder, "n": 0, "note": chosen.no_points(encoder)}
        for encoder in chosen.encoders
        if encoder not in with_points
    ]
    frame = pd.DataFrame(rows, columns=[*_KEYS, *_NUMBERS, "n", "note"]).astype(dict.fromkeys(_NUMBERS, float))
    families = frame.groupby(["encoder", "stage", "tested", "method"], dropna=False)
    frame["p_holm"] = families["p"].transform(statistics.holm).astype(float)
    frame = selection.with_coded(chosen, frame.fillna(dict.fromkeys(_KEYS, "")))
    frame = frame[[*_KEYS[:5], "coded", *_KEYS[5:], *_NUMBERS, "n", "note"]]
    return arranged(frame if len(chosen.half.inputs) > 1 else frame.drop(columns="tested"), encoder=chosen.encoders)


def _of_encoder(table: pd.DataFrame, chosen: Selection) -> Iterator[dict[str, object]]:
    """The rows of one encoder and stage, without these. `table`: its points."""
    compressions = [reading(data) for data in chosen.probe_data for reading in (halves.bits, halves.mixed)]
    intrinsic = [(halves.COMPRESSION, measure.variant, measure.column) for measure in compressions]
    intrinsic += [(effect, halves.CEAT_VARIANT, effect) for effect, _ in map(selection.ceat_columns, chosen.ceat_tests)]
    intrinsic = [keys for keys in intrinsic if keys[-1] in table and table[keys[-1]].notna().any()]
    measures = [measure for measure in chosen.half.bias if measure.column in table]
    for (name, variant, x), measure in product(intrinsic, measures):
        keys = {"intrinsic": name, "intrinsic_variant": variant, "measure": measure.label, "variant": measure.variant}
        both = table[["model", x, measure.column]].dropna()
        yield from (keys | row for row in _correlated(both, [*chosen.models]))


def _correlated(both: pd.DataFrame, models: Sequence[str]) -> Iterator[dict[str, object]]:
    """The correlations of two measures, the columns beside `model`: a row for each group of models and method, with
    `note`, why there is none."""
    for (group, values, lost), method in product(_groups(both, models), METHODS):
        result = statistics.correlation(*values.T, method)
        freedom = result.n - 2 - lost
        note = result.reason or ("fewer pairs than strategies and two" if freedom < 1 else "")
        r = np.round(result.estimate, 15)  # ranks that agree are 1, whatever scipy rounds
        is_tested = not lost or (method == "spearman" and result.n < statistics.EXACT_RANKS)
        p = result.p if is_tested else statistics.correlation_p(r, freedom)
        numbers = np.array([r, r**2, p, result.low, result.high]) * (np.nan if note else 1)
        named = dict(zip(_MEASURED, numbers, strict=True))
        yield {"strategies": group, "method": method, **named, "n": result.n, "note": note}


def _groups(both: pd.DataFrame, models: Sequence[str]) -> Iterator[tuple[str, np.ndarray, int]]:
    """All points, the same centred by model, and each model: name, points, degrees of freedom that are lost."""
    of, values = both["model"].to_numpy(), both.drop(columns="model").to_numpy()
    yield ALL, values, 0
    present = [name for name in models if (of == name).any()]
    if len(present) > 1:
        centred, scale = values.copy(), np.abs(values).max(axis=0)
        for name in present:
            centred[of == name] -= values[of == name].mean(axis=0)
        # Values that are equal but for rounding must stay tied: what is constant in each model has no correlation.
        scale[scale == 0] = 1
        yield CENTRED, (centred / scale).round(12) * scale, len(present) - 1
        yield from ((name, values[of == name], 0) for name in present)
