"""Table 1 of Orgad, Goldfarb-Tarrant & Belinkov (2022): every model's intrinsic and extrinsic bias in one row."""

from collections.abc import Mapping, Sequence

import pandas as pd

from scripts.biasflow.papers.dawkins2024.downstream import NOT_ASKED, RUN, not_run_status
from scripts.biasflow.papers.orgad2022.comparisons import LEVEL, PRINTED_IN, compare, comparisons, seeds_named
from scripts.biasflow.papers.orgad2022.rows import (
    AFTER,
    BASELINES,
    BEFORE,
    CEAT_VARIANT,
    CHANCE,
    COMPRESSION,
    COMPRESSION_BITS,
    CONTROL,
    EXTRINSIC,
    FINETUNING,
    NONE,
    RAW,
    STRATEGIES,
    Measure,
    ceat_runs,
    ceat_tests,
    compression_runs,
    diverged,
    encoders,
    of_paper,
    printed_rows,
    with_baselines,
)
from scripts.biasflow.results.tables import DIFFERENCE, merge_published

_OVERVIEW = ["TPR gap (P)", "FPR gap (S)", "Separation gap (S)", "Sufficiency gap (S)"]
_TEST = "C6"  # the CEAT test of the published values
_SPREAD = "_in_printed_sd"


def table1(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """One row per encoder, model (random, pretrained, the strategies) and test input: overview of all measures.

    Columns per measure: mean, `_published`, `_difference` (and `_difference_in_printed_sd`, but for CEAT), `_sd` over
    seeds, and `_stars` (who finds p < 0.05 against none: "ours", "published", "both", "neither", "" where neither was
    tested). Compression as released, in bits and of the control, which is at chance within CHANCE of 1; CEAT C6, or the
    first test that the run has (`ceat_test`; its roles and variance: CEAT_VARIANT), with `ceat_significant` of
    `ceat_seeds` seeds; CEAT has no test input and stands in the row of the printed one.
    `not_run`: encoder -> reason; `measures_not_run`: "before", "after", "compression" or "ceat" -> reason.
    Raises BiasflowError naming encoder and strategy for a hole in the scores."""
    names = encoders(scores, not_run)
    test = next(iter(ceat_tests(scores)), _TEST)
    printed = _printed_overview(published, test)
    measured = {"compression": _compressions(scores), "ceat": _ceats(scores, test)}
    measured |= {stage: _extrinsic_overview(scores, stage) for stage in (BEFORE, AFTER)}
    keys = ["encoder", "model", "setting"]
    table = _overview_rows([*measured.values()], printed, names)
    for frame in measured.values():
        table = table.merge(frame, on=keys, how="left", validate="one_to_one")
    table["ceat_test"] = test
    values = [name for name in printed if name not in keys and not name.endswith(("_star", _SPREAD))]
    beside = printed.set_index(keys).reindex(pd.MultiIndex.from_frame(table[keys]))
    table = merge_published(table, printed, on=keys, values=values)
    for name in values:
        spread = beside[name + _SPREAD].where(beside[name + _SPREAD] > 0).to_numpy(dtype=float)
        if name != "ceat":  # no deviation of it is printed
            place = table.columns.get_loc(name + DIFFERENCE) + 1
            table.insert(place, name + DIFFERENCE + _SPREAD, table[name + DIFFERENCE] / spread)
        theirs = beside[f"{name}_star"]
        theirs = theirs.mask(table["model"].to_numpy() == NONE, "")  # printed, but there is nothing to compare with
        table[f"{name}_stars"] = [_who(*pair) for pair in zip(table[f"{name}_stars"], theirs, strict=True)]
    lost = diverged(scores)
    rows = of_paper(scores)
    truncated = rows[(rows["task"] == FINETUNING) & (rows["metric"] == "truncated")]
    truncated = truncated.groupby(["encoder", "strategy"])["value"].mean()
    table["truncated"] = truncated.reindex(pd.MultiIndex.from_frame(table[["encoder", "model"]])).to_numpy(dtype=float)
    table["diverged"] = [seeds_named(lost.get(key, [])) for key in zip(table["encoder"], table["model"], strict=True)]
    run = set(of_paper(scores)["encoder"])
    table["status"] = [RUN if name in run else not_run_status(name, not_run) for name in table["encoder"]]
    table["measures_not_run"] = [
        _missing(name, measured, measures_not_run or {}, not_run or {}) for name in table["encoder"]
    ]
    return table.astype({"ceat_significant": "Int64", "ceat_seeds": "Int64", "control_at_chance": "boolean"})


def _overview_rows(measured: Sequence[pd.DataFrame], published: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The rows of table 1: every model that an encoder has scores or printed values of, printed test input first."""
    keys = ["encoder", "model", "setting"]
    found = {key for frame in measured for key in frame[keys].itertuples(index=False, name=None)}
    found |= set(published[keys].itertuples(index=False, name=None))
    # An encoder without a single score or printed value has one row, for the reason.
    found |= {(name, "", "") for name in names if name not in {key[0] for key in found}}
    models = [*BASELINES, *STRATEGIES, ""]
    rows = sorted(
        (key for key in found if key[0] in names),
        key=lambda key: (names.index(key[0]), models.index(key[1]), key[2] != STRATEGIES.get(key[1], RAW)),
    )
    return pd.DataFrame(rows, columns=keys)


def _compressions(scores: pd.DataFrame) -> pd.DataFrame:
    """Compression of every model; stars for the released reading, against none of the same encoder."""
    runs = with_baselines(lambda stage: compression_runs(scores, stage))
    table, keys = compare(runs), ["encoder", "model", "setting"]
    main = _one_measure(table, COMPRESSION, "compression")
    bits = _one_measure(table, COMPRESSION_BITS, "compression_bits").drop(columns="compression_bits_stars")
    control = _one_measure(table, CONTROL, "control_compression")[[*keys, "control_compression"]]
    at_chance = (control["control_compression"] - 1).abs().le(CHANCE).astype("boolean")
    control["control_at_chance"] = at_chance.mask(control["control_compression"].isna())
    return main.merge(bits, on=keys, how="left").merge(control, on=keys, how="left")


def _ceats(scores: pd.DataFrame, test: str) -> pd.DataFrame:
    """Effect sizes of every model, how many have p < 0.05, and stars against none of the same encoder."""
    runs = with_baselines(lambda stage: ceat_runs(scores, test, stage))
    effects = runs[runs["metric"] == "effect_size"]
    table = _one_measure(compare(effects), Measure("", "effect_size", CEAT_VARIANT), "ceat")
    p = runs[(runs["metric"] == "p_two_sided")].dropna(subset="value")
    counts = p.assign(below=p["value"] < LEVEL).groupby(["encoder", "strategy"])["below"].agg(["sum", "count"])
    counts = counts.rename(columns={"sum": "ceat_significant", "count": "ceat_seeds"}).rename_axis(["encoder", "model"])
    table = table.merge(counts.reset_index(), on=["encoder", "model"], how="left")
    return table.assign(setting=[STRATEGIES.get(model, RAW) for model in table["model"]])


def _extrinsic_overview(scores: pd.DataFrame, stage: str) -> pd.DataFrame:
    measures = [measure for measure in EXTRINSIC if measure.label in _OVERVIEW]
    table = comparisons(scores, stage, [measure[1:] for measure in measures])
    blocks = [_one_measure(table, measure, _overview_column(stage, measure)) for measure in measures]
    merged = blocks[0]
    for block in blocks[1:]:
        merged = merged.merge(block, on=["encoder", "model", "setting"], how="left")
    return merged


def _overview_column(stage: str, measure: Measure) -> str:
    """ "TPR gap (P)" before retraining -> "before_tpr_gap_p"."""
    return f"{stage}_{measure.label.lower().replace(' ', '_').replace('(', '').replace(')', '')}"


def _one_measure(table: pd.DataFrame, measure: Measure, name: str) -> pd.DataFrame:
    """One measure of a `compare` by encoder, model and setting: columns `name`, `name`_sd and `name`_stars."""
    own = table[(table["metric"] == measure.metric) & (table["variant"] == measure.variant)]
    columns = {"strategy": "model", "mean": name, "sd": f"{name}_sd", "star": f"{name}_stars"}
    return own[["encoder", "setting", *columns]].rename(columns=columns)


def _printed_overview(published: pd.DataFrame, test: str) -> pd.DataFrame:
    """Printed values, deviations and stars by encoder, model, test input: compression, CEAT of table 1, else 3, 4."""
    first, later = printed_rows(published, ["1"]), printed_rows(published, [PRINTED_IN[BEFORE], PRINTED_IN[AFTER]])
    compressions = first[first["metric"] == COMPRESSION.metric]
    # Table 1 has no deviations; that of compression stands in table 3.
    spreads = later[(later["table"] == PRINTED_IN[BEFORE]) & (later["metric"] == COMPRESSION.metric)]
    spreads = spreads.set_index(["encoder", "strategy"])["sd"]
    of_models = pd.MultiIndex.from_frame(compressions[["encoder", "strategy"]])
    blocks = {"compression": compressions.assign(sd=spreads.reindex(of_models).to_numpy())}
    blocks["ceat"] = first[first["metric"] == "effect_size"].head(None if test == _TEST else 0)
    for stage in (BEFORE, AFTER):
        for measure in EXTRINSIC:
            if measure.label in _OVERVIEW:
                own = (later["table"] == PRINTED_IN[stage]) & (later["metric"] == measure.metric)
                blocks[_overview_column(stage, measure)] = later[own & (later["variant"] == measure.variant)]
    keys = ["encoder", "model", "setting"]
    frames = []
    for name, block in blocks.items():
        models = block["strategy"].where(block["strategy"] != "", block["stage"])
        block = block.assign(model=models, setting=[STRATEGIES.get(model, RAW) for model in models])
        names = {"value": name, "sd": name + _SPREAD, "star": f"{name}_star"}
        frames.append(block.set_index(keys)[list(names)].rename(columns=names))
    return pd.concat(frames, axis=1).reset_index()


def _who(ours: object, theirs: object) -> str:
    """Who finds p < 0.05: "ours", "published", "both" or "neither"; "" where nobody tested."""
    tested = [star for star in (ours, theirs) if star in ("yes", "no")]
    if not tested:
        return ""
    stars = (ours == "yes", theirs == "yes")
    return {(True, True): "both", (True, False): "ours", (False, True): "published", (False, False): "neither"}[stars]


def _missing(
    encoder: str, measured: Mapping[str, pd.DataFrame], reasons: Mapping[str, str], not_run: Mapping[str, str]
) -> str:
    """What an encoder lacks, each with the reason; "" for an encoder that was not run at all."""
    if encoder in not_run:
        return ""
    absent = [name for name, frame in measured.items() if encoder not in set(frame["encoder"])]
    return "; ".join(f"{name}: {reasons.get(name, NOT_ASKED)}" for name in absent)
