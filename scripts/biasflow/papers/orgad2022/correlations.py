"""Do intrinsic measures predict extrinsic ones? Correlations over fine-tuned encoders, and within models."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from biasflow.papers.frames import Run
from biasflow.papers.orgad2022.halves import AFTER, BEFORE, COMPRESSION, OCCUPATION, Half
from biasflow.papers.orgad2022.measures import CEAT_VARIANT, bits, mixed
from biasflow.papers.orgad2022.runs import ceat_columns, points, with_coded
from biasflow.papers.orgad2022.selection import Selection, select
from biasflow.results import statistics
from biasflow.results.tables import arranged

ALL, CENTRED = "all", "within strategies"
METHODS = ["pearson", "spearman"]
_MEASURED = ["estimate", "r_squared", "p", "low", "high"]
_NUMBERS = ["estimate", "r_squared", "p", "p_holm", "low", "high"]
_KEYS = ["encoder", "stage", "tested", "intrinsic", "intrinsic_variant", "measure", "variant", "strategies", "method"]


def correlations(run: Run, *, half: Half = OCCUPATION) -> pd.DataFrame:
    """Return Pearson and Spearman correlations of every extrinsic measure with every intrinsic one, over fine-tuned
    encoders.

    Per encoder, stage ("before", "after": means over an encoder's heads), input that scrubbing is `tested` on and
    `strategies`: all of them, within strategies (partial over strategies), and each alone. Columns: estimate, r_squared
    (its square), p, p_holm (family: all tests of an encoder, stage, input and method), a 95 % jackknife
    interval over the encoders (`low`, `high`), n, `coded` (labels that the probe coded), and `note`: why
    there is no value.
    Within strategies both sides are centred by strategy first, which takes away what differs between strategies; p is
    then from t = r sqrt(df / (1 - r^2)) with df = n - k - 1 for k strategies, the test of a partial correlation.
    An encoder with nothing to correlate has one row that says why. BiasflowError naming encoder and strategy for a hole
    in the scores."""
    chosen = select(run, half)
    rows = [
        {"encoder": encoder, "stage": stage, "tested": tested} | row
        for stage, tested in product((BEFORE, AFTER), chosen.inputs)
        for encoder, table in points(chosen, stage, tested, average_heads=True).groupby("encoder")
        for row in _of_encoder(table, chosen)
    ]
    with_points = {row["encoder"] for row in rows}
    rows += [
        {"encoder": encoder, "n": 0, "note": chosen.no_points(encoder)}
        for encoder in chosen.encoders
        if encoder not in with_points
    ]
    frame = pd.DataFrame(rows, columns=[*_KEYS, *_NUMBERS, "n", "note"]).astype(dict.fromkeys(_NUMBERS, float))
    frame["p_holm"] = (
        frame.groupby(["encoder", "stage", "tested", "method"], dropna=False)["p"]
        .transform(statistics.holm)
        .astype(float)
    )
    frame = with_coded(chosen, frame.fillna(dict.fromkeys(_KEYS, "")))
    frame = frame[[*_KEYS[:5], "coded", *_KEYS[5:], *_NUMBERS, "n", "note"]]
    return arranged(frame if len(half.inputs) > 1 else frame.drop(columns="tested"), encoder=chosen.encoders)


def _of_encoder(table: pd.DataFrame, chosen: Selection) -> Iterator[dict[str, object]]:
    """The rows of one encoder and stage, without these. `table`: its points."""
    compressions = [reading(data) for data in chosen.probe_data for reading in (bits, mixed)]
    intrinsic = [(COMPRESSION, measure.variant, measure.column) for measure in compressions]
    intrinsic += [(effect, CEAT_VARIANT, effect) for effect, _ in map(ceat_columns, chosen.ceat_tests)]
    intrinsic = [keys for keys in intrinsic if keys[-1] in table and table[keys[-1]].notna().any()]
    measures = [measure for measure in chosen.half.bias if measure.column in table]
    rows = _correlated(
        table, [name for *_, name in intrinsic], [measure.column for measure in measures], [*chosen.models]
    )
    for (name, variant, x), measure in product(intrinsic, measures):
        keys = {"intrinsic": name, "intrinsic_variant": variant, "measure": measure.label, "variant": measure.variant}
        yield from (keys | row for row in rows[x, measure.column])


def _correlated(
    table: pd.DataFrame, xs: Sequence[str], ys: Sequence[str], models: Sequence[str]
) -> Mapping[tuple[str, str], list[dict[str, object]]]:
    """For each pair of columns the rows of all groups and methods. Pairs over the same points are computed at once."""
    rows = defaultdict(list)
    for x_names, y_names in product(_defined_alike(table[xs]), _defined_alike(table[ys])):
        both = table[["model", *x_names, *y_names]].dropna()
        for group, data, lost in _groups(both, models):
            x, y = data[x_names].to_numpy(), data[y_names].to_numpy()
            for method in METHODS:
                result = statistics.correlations(x, y, method)
                p = statistics.correlation_p(result.estimate, result.n - 2 - lost)
                values = np.stack([result.estimate, result.estimate**2, p, result.low, result.high], axis=-1)
                for (i, x_name), (j, y_name) in product(enumerate(x_names), enumerate(y_names)):
                    note = _why_none(result.n, result.estimate[i, j], lost)
                    numbers = (
                        dict.fromkeys(_MEASURED, np.nan) if note else dict(zip(_MEASURED, values[i, j], strict=True))
                    )
                    row = {"strategies": group, "method": method, **numbers, "n": result.n, "note": note}
                    rows[x_name, y_name].append(row)
    return rows


def _defined_alike(values: pd.DataFrame) -> list[list[str]]:
    """The columns in groups that are defined in the same rows."""
    groups = defaultdict(list)
    for name, defined in values.notna().items():
        groups[defined.to_numpy().tobytes()].append(name)
    return list(groups.values())


def _groups(both: pd.DataFrame, models: Sequence[str]) -> Iterator[tuple[str, pd.DataFrame, int]]:
    """All points, the same centred by model, and each model: name, points, degrees of freedom that are lost."""
    values = both.drop(columns="model")
    yield ALL, values, 0
    present = [name for name in models if name in set(both["model"])]
    if len(present) > 1:
        centred = values - values.groupby(both["model"]).transform("mean")
        # Values that are equal but for rounding must stay tied: what is constant in each model has no correlation.
        scale = values.abs().max().replace(0, 1)
        yield CENTRED, (centred / scale).round(12) * scale, len(present) - 1
        for model in present:
            yield model, values[both["model"] == model], 0


def _why_none(n: int, estimate: float, lost: int) -> str:
    """Why there is no correlation of n points; "" if there is one."""
    if n < 3:
        return "fewer than three pairs"
    if np.isnan(estimate):
        return "a constant side"
    return "fewer pairs than strategies and two" if n - 2 - lost < 1 else ""
