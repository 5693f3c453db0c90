"""The paper's scores by seed and head, checked for holes, and the points that correlations and figures are made of."""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from itertools import product

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.papers.orgad2022.halves import FINETUNED, RAW, Half
from biasflow.papers.orgad2022.measures import (
    CEAT_EFFECT,
    CEAT_P,
    CEAT_VARIANT,
    COMPRESSION_VALUE,
    CONTROL_VALUE,
    UNDEFINED,
    bits,
    data_of,
    mixed,
)
from biasflow.papers.orgad2022.selection import BASELINES, NONE, Selection, in_order

MEASURE, CELL, POINT = ["metric", "variant"], ["model", "text"], ["encoder", "model", "seed"]
_RUN = ["seed", "head_seed", "readout_seed"]
_SCORE = ["encoder", *CELL, *_RUN]


def extrinsic_runs(chosen: Selection, stage: str) -> pd.DataFrame:
    """The scores of the task itself at a stage, "before", "after" or "frozen", with `undefined_cells`.

    Columns: encoder, CELL, seed, head_seed, MEASURE, value and n; values of diverged encoders are NaN. BiasflowError
    naming encoder, model and seed for a score that is missing: the printed measures must be there
    wherever there are others of the same metric, those others in all runs of an encoder or in none."""
    half, keys = chosen.half, pd.MultiIndex.from_frame(chosen.rows[MEASURE])
    printed = {measure.key for measure in half.printed}
    tables = []
    for metric, measures in half.scored_by.items():
        wanted = {measure.key for measure in measures}
        cells = {half.undefined(measure) for measure in half.bias} if metric == half.extrinsic_by else set()
        rows = chosen.rows[keys.isin(wanted | cells)]
        tables.append(_whole(rows, chosen, stage, [*wanted & printed], f"{half.label}, {stage}"))
    return pd.concat(tables, ignore_index=True)


def compression_runs(chosen: Selection, stage: str = FINETUNED) -> pd.DataFrame:
    """Compression of gender in all variants, and of random labels, as means over probe seeds; as `extrinsic_runs`.

    n counts the labels that are coded. `stage`: "finetuned", "pretrained" or "random"."""
    rows = chosen.rows[chosen.rows["metric"].isin([COMPRESSION_VALUE, CONTROL_VALUE])]
    data = rows["variant"].map(data_of)
    # A probe seed that lacks a score must not hide in a mean: the runs are checked before they are averaged. The seeds
    # of released data are not those of the others.
    complete = pd.concat(
        _whole(rows[data == name], chosen, stage, [mixed(name).key, bits(name).key], f"the gender probe, {name} data")
        for name in chosen.probe_data
    )
    keys = ["encoder", *CELL, "seed", "head_seed", *MEASURE]
    return complete.groupby(keys, as_index=False, sort=False)[["value", "n"]].mean()


def coded(runs: pd.DataFrame, *keys: str) -> pd.Series:
    """Return how many labels the probe coded, by `keys`: means over `compression_runs`, NaN if the scores do not
    say."""
    return runs[runs["metric"] == COMPRESSION_VALUE].groupby([*keys])["n"].mean().round()


def with_coded(chosen: Selection, table: pd.DataFrame) -> pd.DataFrame:
    """Return `table` (encoder, intrinsic_variant) with the number of labels that the probe `coded` for fine-tuned
    models."""
    labels = coded(compression_runs(chosen), *(keys := ["encoder", "variant"]))
    named = pd.MultiIndex.from_frame(table[["encoder", "intrinsic_variant"]], names=keys)
    return table.assign(coded=labels.reindex(named).to_numpy(dtype=float)).astype({"coded": "Int64"})


def ceat_runs(
    chosen: Selection,
    test: str,
    stage: str = FINETUNED,
    *,
    metrics: Collection[str] = (CEAT_EFFECT, CEAT_P),
    variants: Collection[str] = (CEAT_VARIANT,),
) -> pd.DataFrame:
    """These metrics of one CEAT test in these variants, each required; n counts draws. As `extrinsic_runs`."""
    rows = chosen.rows
    rows = rows[(rows["dataset"] == test) & rows["metric"].isin(metrics) & rows["variant"].isin(variants)]
    return _whole(rows, chosen, stage, [*product(metrics, variants)], f"CEAT {test}")


def of_all_models(runs_of: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """Return the runs that `runs_of` gives for fine-tuned encoders and for BASELINES."""
    return pd.concat([runs_of(stage) for stage in (FINETUNED, *BASELINES)], ignore_index=True)


@lru_cache(maxsize=16)  # tables and figures are made of the same, of each half
def points(chosen: Selection, stage: str, tested: str = RAW, *, average_heads: bool = False) -> pd.DataFrame:
    """Return a row of measures per fine-tuned encoder, or per retrained head of it. `tested`: what a scrubbed model is
    tested on, "raw" or "scrubbed"; it is probed on scrubbed texts.

    POINT, head_seed, a column per measure of the half that the run has (`Measure.column`), and per CEAT test its
    effect size and p (`ceat_columns`); NaN where an encoder lacks a measure. Diverged encoders are left out.
    `average_heads`: one row per encoder, the mean over its heads, because heads that share an encoder share its
    compression and are no independent points. `stage`: "before" or "after"."""
    runs = extrinsic_runs(chosen, stage)
    read = pd.Series(dict.fromkeys(chosen.models, RAW) if tested == RAW else chosen.models)
    table = _wide(runs[runs["metric"] != UNDEFINED], read, [*POINT, "head_seed"])
    if average_heads:
        table = table.drop(columns="head_seed").groupby(POINT, as_index=False).mean().assign(head_seed="")
    compressions = compression_runs(chosen)
    probed = pd.Series(chosen.models)
    intrinsic = [_wide(compressions[compressions["metric"] == COMPRESSION_VALUE], probed, POINT)]
    for test in chosen.ceat_tests:
        names = dict(zip((f"{name} {CEAT_VARIANT}" for name in (CEAT_EFFECT, CEAT_P)), ceat_columns(test), strict=True))
        intrinsic.append(_wide(ceat_runs(chosen, test), probed, POINT).rename(columns=names))
    for frame in intrinsic:
        table = table.merge(frame, on=POINT, how="left", validate="many_to_one")
    lost = [(*key, seed) for key, seeds in chosen.diverged.items() for seed in seeds]
    kept = ~pd.MultiIndex.from_frame(table[POINT]).isin(lost)
    order = {"encoder": str, "model": [*chosen.models].index, "seed": in_order, "head_seed": in_order}
    return table[kept].sort_values([*order], key=lambda column: column.map(order[column.name]), ignore_index=True)


def ceat_columns(test: str) -> tuple[str, str]:
    """The columns of a CEAT test in `points`: effect size and p."""
    return f"ceat {test}", f"ceat {test} p"


def undefined_cells(runs: pd.DataFrame, half: Half) -> pd.Series:
    """Return how many cells (classes x genders) were 0/0 and left out, as a mean over runs: [encoder, metric, variant,
    model, text].

    `runs`: as `extrinsic_runs` returns them. Independence and accuracy have no such cells."""
    counted = [(*half.undefined(measure), *measure.key) for measure in half.bias]
    measured = pd.DataFrame(counted, columns=[*MEASURE, "of_metric", "of_variant"])
    counts = runs[runs["metric"] == UNDEFINED].merge(measured, on=MEASURE).drop(columns=MEASURE)
    counts = counts.rename(columns={f"of_{key}": key for key in MEASURE})
    return counts.groupby(["encoder", *MEASURE, *CELL])["value"].mean()


def _wide(runs: pd.DataFrame, text: pd.Series, index: Sequence[str]) -> pd.DataFrame:
    """A row per `index`, a column per metric and variant, of the `text` of each model, or of none."""
    rows = runs[(runs["text"] == "") | (runs["text"] == runs["model"].map(text))]
    if rows.empty:
        return rows[[*index]]
    rows = rows.assign(column=(rows["metric"] + " " + rows["variant"]).str.strip())
    return rows.pivot(index=[*index], columns="column", values="value").rename_axis(columns=None).reset_index()


def _whole(
    rows: pd.DataFrame, chosen: Selection, stage: str, required: Sequence[tuple[str, str]], source: str
) -> pd.DataFrame:
    """The `rows` of a stage, NaN where the fine-tuning diverged; BiasflowError for a hole or a double.

    The scores of an encoder are whole if every model has every seed (and head) that another model has, but for diverged
    ones, on raw texts and on those that it is trained on, and each of these every measure that one of them has."""
    rows = rows[rows["stage"] == stage]
    for double in rows[rows.duplicated([*_SCORE, *MEASURE])].head(1).itertuples():
        raise BiasflowError(
            f"encoder {double.encoder}, strategy {double.model}, seed {double.seed or '-'}: more than one "
            f"{double.metric} of {source}; score it once"
        )
    for encoder, block in rows.groupby("encoder"):
        models = {NONE, *block["model"].unique()} if stage not in BASELINES else set()
        texts = {(model, text) for model in models for text in (RAW, chosen.models[model])}
        cells = sorted((texts if block["text"].any() else {(model, "") for model in models}) | _values(block, CELL))
        seeds = sorted(_values(block, _RUN), key=lambda run: [in_order(seed) for seed in run])
        measures = sorted({*required} | _values(block, MEASURE))
        if len(block) == len(cells) * len(seeds) * len(measures):
            continue
        lost = {(model, seed) for model, _ in cells for seed in chosen.lost(stage).get((encoder, model), ())}
        present = _values(block, [*CELL, *_RUN, *MEASURE])
        for (model, text), run, measure in product(cells, seeds, measures):
            if (model, text, *run, *measure) not in present and (model, run[0]) not in lost:
                keys = zip((*_RUN, "input"), (*run, text), strict=True)
                raise BiasflowError(
                    f"encoder {encoder}, strategy {model}: no {' '.join(measure).strip()} of {source}, "
                    f"{', '.join(f'{key} {value}' for key, value in keys if value)}; score it first"
                )
    return rows.assign(value=rows["value"].mask(rows["lost"]))[[*_SCORE, *MEASURE, "value", "n"]]


def _values(rows: pd.DataFrame, columns: Sequence[str]) -> set[tuple]:
    return set(rows[[*columns]].drop_duplicates().itertuples(index=False, name=None))
