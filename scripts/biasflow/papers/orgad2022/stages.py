"""Tables 1, 3, 4, 5, 7 and 8: every model's bias in one row, and each task before retraining and after it, and
occupation prediction without fine-tuning. Every model is compared with the one that is not debiased, by means,
changes and permutation tests over seeds and heads."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from biasflow.papers.frames import RUN, Run, status, wide, with_reasons
from biasflow.papers.orgad2022 import halves, selection
from biasflow.papers.orgad2022.selection import BASELINES, CELL, MEASURE, NONE, PROBED_ON, Selection
from biasflow.papers.orgad2022.words import baselines, few_professions
from biasflow.results.statistics import holm, paired_permutations
from biasflow.results.tables import DIFFERENCE, PUBLISHED, arranged

LEVEL = 0.05
# A line through fewer models says nothing: of unrelated points R^2 is 1 / (n - 1) on average, 0.33 for four and 0.11
# for ten, and one in twenty is above 0.90 and 0.40. Heads of a model share its compression, and are no further models.
LEAST_MODELS = 10
FEW_MODELS = f"fewer than {LEAST_MODELS} models"
_KEY = ["encoder", *MEASURE, *CELL]
SAMPLES = 10_000  # sign patterns drawn where there are more than 20 pairs


def comparisons(chosen: Selection, stage: str, measures: Collection[halves.Measure]) -> pd.DataFrame:
    """Compare the `measures` at a stage, including compression, with `undefined_cells` (mean per run)."""
    runs, compression = selection.extrinsic_runs(chosen, stage), selection.compression_runs(chosen)
    undefined = selection.undefined_cells(runs, chosen.half)
    if stage != halves.FROZEN:
        runs = pd.concat([runs, compression[compression["encoder"].isin(runs["encoder"])]], ignore_index=True)
    table = compare(runs[pd.MultiIndex.from_frame(runs[MEASURE]).isin([measure.key for measure in measures])])
    return table.assign(undefined_cells=undefined.reindex(pd.MultiIndex.from_frame(table[_KEY])).to_numpy(float))


def compare(runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean and sd (n - 1) for each encoder, MEASURE and CELL, and the change from the model "none" on raw text.

    `runs`: encoder, CELL, seed, head_seed, MEASURE, value (NaN: left out). `n` counts seeds and `n_heads` retrained
    heads; `change` is the mean over `pairs` of the same seed and head seed; `p` their two-sided paired permutation
    test, `p_one_sided` the same in the direction of the change, `p_by_encoder` two-sided, of the means over the heads
    of each seed. `star`, `star_one_sided`: "yes" where p or p_one_sided < LEVEL, "" without a test. `coded`: of
    compression, how many labels the probe coded."""
    blocks = [_compare_encoder(block).assign(encoder=name) for name, block in runs.groupby("encoder")]
    table = pd.concat(blocks or [_compare_encoder(runs).assign(encoder="")], ignore_index=True)
    coded = selection.coded(runs, *_KEY).reindex(pd.MultiIndex.from_frame(table[_KEY])).to_numpy(float)
    tests = {"star": table["p"], "star_one_sided": table["p_one_sided"]}
    stars = {name: np.where(p.isna(), "", np.where(p < LEVEL, "yes", "no")) for name, p in tests.items()}
    return table.assign(coded=coded, **stars)


def _compare_encoder(runs: pd.DataFrame) -> pd.DataFrame:
    """`compare` of one encoder: a row per measure, model and test input."""
    table = wide(runs, ["seed", "head_seed"], [*MEASURE, *CELL]).astype(float)
    values, present = table.to_numpy(), table.notna().to_numpy()  # [runs, cells]
    cells = table.columns.to_frame(index=False)
    base = pd.MultiIndex.from_frame(cells.assign(model=NONE, text=np.where(cells["text"] == "", "", halves.RAW)))
    compared = (cells["model"] != NONE) & base.isin(table.columns)
    differences = np.where(compared, values - table.reindex(columns=base).to_numpy(), np.nan)
    change = pd.DataFrame(differences).mean().to_numpy()
    directed = differences * np.sign(change)
    seeds, heads = table.index.get_level_values("seed"), table.index.get_level_values("head_seed") != ""
    return cells.assign(
        mean=table.mean().to_numpy(),
        sd=table.std().to_numpy(),
        n=pd.DataFrame(present).groupby(seeds).any().sum().to_numpy(),
        n_heads=present[heads].sum(axis=0),
        change=change,
        pairs=pd.Series(np.isfinite(differences).sum(axis=0), dtype="Int64").where(compared),
        p=paired_permutations(differences, samples=SAMPLES),
        p_one_sided=paired_permutations(directed, alternative="greater", samples=SAMPLES),
        p_by_encoder=paired_permutations(pd.DataFrame(differences).groupby(seeds).mean().to_numpy(), samples=SAMPLES),
    )


NO_ENCODER = "no encoder"  # whose rows are those of predictors that have none
_STARS = ["star", "star_one_sided", "star" + PUBLISHED]


def table7(run: Run) -> pd.DataFrame:
    """Coreference before retraining: its `stage_table`, and below it `words.baselines`, of no encoder."""
    table = stage_table(run, halves.COREFERENCE.kind, halves.BEFORE)
    untrained = selection.with_labels(baselines(run), halves.COREFERENCE)
    rows = untrained.rename(columns={"model": "strategy"}).assign(encoder=NO_ENCODER, status=RUN)
    rows = rows.reindex(columns=table.columns)
    texts = table.select_dtypes(exclude="number").columns
    rows[texts] = rows[texts].fillna("")
    return pd.concat([table, rows.astype(table.dtypes)], ignore_index=True) if len(rows) else table


def stage_table(run: Run, half: str, stage: str) -> pd.DataFrame:
    """A stage of a half: a row per encoder, measure (printed ones first), strategy and test input (setting).

    The caption in paper.yaml says what the columns are; p and p_one_sided are `statistics.paired_permutations`, p_holm
    corrects p for the tests of one measure, stars_agree says under which of the two our star is the printed one:
    "both", "two-sided", "one-sided" or "neither". After retraining over all heads: `n` counts encoders and `n_heads`
    heads, pairs are those of encoder seed and head seed, and `p_by_encoder` (and its Holm correction) compares means
    over the heads of each encoder."""
    heads, by_encoder = (["n_heads"], ["p_by_encoder", "p_by_encoder_holm"]) if stage == halves.AFTER else ([], [])
    coded = [] if stage == halves.FROZEN else ["coded"]
    setting = ["setting"] if len(halves.HALVES[half].inputs) > 1 else []
    columns = ["encoder", "measure", "variant", "strategy", *setting, "mean", "mean_published", "mean_difference"]
    columns += ["difference_in_printed_sd", "sd", "sd_published", "n", *heads, *coded, "change", "pairs"]
    columns += ["p", "p_one_sided", "p_holm", *by_encoder, *_STARS, "stars_agree"]
    columns += ["undefined_cells", "diverged", "note", "status"]
    table = compared(run, half, stage).rename(columns={"model": "strategy", "text": "setting"})
    few = (table["n"] < LEAST_MODELS).fillna(False) & (table["star"] != "")  # heads are pairs, and no further models
    table = table.assign(note=np.where(few, FEW_MODELS, table["few"]))[columns]
    return table.astype(dict.fromkeys(["n", *heads, *coded, "pairs"], "Int64"))


def compared(run: Run, half: str, stage: str) -> pd.DataFrame:
    """Every measure of a stage (metric and variant), model and test input (text), with the printed values beside it."""
    chosen = selection.select(run, halves.HALVES[half])
    half = chosen.half
    encoders = selection.encoders_of(chosen)
    ours = comparisons(chosen, stage, half.measures)
    for name in ("p", "p_by_encoder"):
        ours[f"{name}_holm"] = ours.groupby(["encoder", *MEASURE])[name].transform(holm).astype(float)
    printed = selection.printed_values(run, half, half.printed_in[stage]).rename(columns={"value": "mean"})
    table = selection.with_labels(selection.beside(ours, printed[[*_KEY, "mean", "sd", "star"]], _KEY, encoders), half)
    table[_STARS] = table[_STARS].astype(object).fillna("")
    scored = set(ours["encoder"])

    def why(row: NamedTuple) -> str:
        """Where a whole stage is missing all of its measures are missing for the same reason."""
        in_part = row.encoder in scored and stage != halves.FROZEN
        metric = half.metric_of((row.metric, row.variant)) if in_part else stage
        return chosen.reason(row.encoder, metric, row.model)

    sd = table["sd" + PUBLISHED]
    models = zip(table["encoder"], table["model"], strict=True)
    table = table.assign(
        difference_in_printed_sd=table["mean" + DIFFERENCE] / sd.where(sd > 0),
        stars_agree=[_agreeing(*stars) for stars in table[_STARS].itertuples(index=False, name=None)],
        diverged=[chosen.diverged_seeds(*model) for model in models] if stage != halves.FROZEN else "",
    )
    lost = table["mean"].isna() & (table["diverged"] != "")
    few = np.where(lost, "the fine-tuning diverged", few_professions(run, half, table["metric"]))
    return arranged(
        with_reasons(table.assign(few=few), why),
        encoder=encoders,
        key=[measure.key for measure in half.measures],
        model=[*chosen.models, *PROBED_ON],
        text=half.inputs,
    )


AGREEING = {(True, True): "both", (True, False): "two-sided", (False, True): "one-sided", (False, False): "neither"}


def _agreeing(two_sided: str, one_sided: str, printed: str) -> str:
    """Under which reading our star is the printed one; "" without a test."""
    if "" in (two_sided, printed):
        return ""
    return AGREEING[two_sided == printed, one_sided == printed]


CHANCE = 0.05  # how far from 1 the compression of random labels may be
_MODEL = ["encoder", "model", "text"]


def overview(run: Run, half: str) -> pd.DataFrame:
    """Return all measures with a row per encoder, model (random, pretrained, the strategies) and test input (setting).

    The caption in paper.yaml says what the columns are; `measures_not_run` is what an encoder lacks, and why. CEAT is
    C6, or the first test that the run has; compression is that of the first of `Selection.probe_data`, and
    in short that of the others. CEAT has no test input and stands in the row of raw texts."""
    chosen = selection.select(run, halves.HALVES[half])
    half = chosen.half
    probed = selection.of_all_models(lambda stage: selection.compression_runs(chosen, stage))
    measured = {
        halves.COMPRESSION: compare(probed),
        halves.CEAT: _ceat(chosen),
        halves.BEFORE: comparisons(chosen, halves.BEFORE, half.in_overview),
        halves.AFTER: comparisons(chosen, halves.AFTER, half.in_overview),
    }
    numbers = ["1", *(half.printed_in[stage] for stage in (halves.BEFORE, halves.AFTER))]
    printed = selection.printed_values(run, half, *numbers)
    printed = printed[(printed["metric"] != halves.CEAT_EFFECT) | (chosen.ceat_test == halves.CEAT_PRINTED)]
    in_print = dict(list(printed.groupby("table")))
    table = _rows(chosen, [*measured.values(), *in_print.values()])
    rows = pd.MultiIndex.from_frame(table)

    def rows_of(measure: halves.Measure, frame: pd.DataFrame) -> pd.DataFrame:
        matching = frame[(frame["metric"] == measure.metric) & (frame["variant"] == measure.variant)]
        return matching.set_index(_MODEL).reindex(rows).reset_index(drop=True)

    def beside(name: str, measure: halves.Measure, source: str, number: str) -> dict[str, object]:
        """The columns of a measure, with the values of a printed table."""
        ours, theirs = rows_of(measure, measured[source]), rows_of(measure, in_print[number])
        # No deviations are printed in table 1; that of compression stands in table 3 or 7, that of CEAT nowhere.
        spread = rows_of(measure, in_print[numbers[1]])["sd"] if number == "1" else theirs["sd"]
        difference = ours["mean"] - theirs["value"]
        # A printed star of the model that is not debiased compares it with nothing.
        stars = zip(ours["star"], theirs["star"].mask(table["model"] == NONE), strict=True)
        columns = {"": ours["mean"], "_published": theirs["value"], "_difference": difference}
        columns |= {"_difference_in_printed_sd": difference / spread.where(spread > 0), "_sd": ours["sd"]}
        columns["_stars"] = [_who(*pair) for pair in stars]
        return {name + end: values for end, values in columns.items()}

    counts = rows_of(halves.CEAT_MEASURE, measured[halves.CEAT])[["significant", "seeds"]].astype("Int64")
    ceat = beside("ceat", halves.CEAT_MEASURE, halves.CEAT, "1")
    ceat.pop("ceat_difference_in_printed_sd")
    in_stages = {}
    for stage, measure in product((halves.BEFORE, halves.AFTER), half.in_overview):
        in_stages |= beside(f"{stage}_{_name(measure)}", measure, stage, half.printed_in[stage])
    truncated = chosen.rows[chosen.rows["metric"] == "truncated"].groupby(["encoder", "model"])["value"].mean()
    models = list(zip(table["encoder"], table["model"], strict=True))
    ran = {model for frame in measured.values() for model in zip(frame["encoder"], frame["model"], strict=True)}
    table = table.rename(columns={"text": "setting"}) if len(half.inputs) > 1 else table.drop(columns="text")
    return table.assign(
        probe_data=chosen.probe_data[0],
        **beside("compression", halves.mixed(chosen.probe_data[0]), halves.COMPRESSION, "1"),
        **_compression_columns(chosen.probe_data, lambda measure: rows_of(measure, measured[halves.COMPRESSION])),
        **ceat,
        **counts.add_prefix("ceat_"),
        **in_stages,
        ceat_test=chosen.ceat_test,
        truncated=truncated.reindex(models).to_numpy(),
        diverged=[chosen.diverged_seeds(*key) for key in models],
        status=[RUN if key in ran else status(chosen.lacking(*key, halves.BEFORE, chosen.scored)) for key in models],
        measures_not_run=[_missing(chosen, name, measured) for name in table["encoder"]],
    )


def _name(measure: halves.Measure) -> str:
    """The column of a measure: "TPR gap (P)" -> "tpr_gap_p"."""
    return "_".join(re.findall(r"\w+", measure.label.lower()))


def _compression_columns(
    probe_data: Sequence[str], rows_of: Callable[[halves.Measure], pd.DataFrame]
) -> dict[str, pd.Series]:
    """Labels, bits and control of the compression of the first data; of the others mean, deviation and labels."""
    data, *others = probe_data
    in_bits, at_random = rows_of(halves.bits(data)), rows_of(halves.control(data))["mean"]
    columns = {
        "compression_coded": rows_of(halves.mixed(data))["coded"].astype("Int64"),
        "compression_bits": in_bits["mean"],
        "compression_bits_sd": in_bits["sd"],
        "control_compression": at_random,
        "control_at_chance": (at_random - 1).abs().le(CHANCE).astype("boolean").mask(at_random.isna()),
    }
    for other in others:
        name, values = f"compression_{other}".replace("-", "_"), rows_of(halves.mixed(other))
        columns |= {name: values["mean"], f"{name}_sd": values["sd"], f"{name}_coded": values["coded"].astype("Int64")}
    return columns


def _rows(chosen: Selection, frames: list[pd.DataFrame]) -> pd.DataFrame:
    """The rows of table 1: every model that an encoder has scores or printed values of, raw test input first."""
    encoders = selection.encoders_of(chosen)
    keys = pd.concat([frame[_MODEL] for frame in frames]).drop_duplicates()
    keys = keys[keys["encoder"].isin(encoders)]
    keys = selection.with_all(keys, encoders).fillna("")
    models = [*BASELINES, *chosen.models, *PROBED_ON]
    return arranged(keys, encoder=encoders, model=models, text=chosen.half.inputs)[_MODEL]


def _ceat(chosen: Selection) -> pd.DataFrame:
    """`compare` of effect sizes, and how many of the `seeds` have p < LEVEL (`significant`)."""
    runs = selection.of_all_models(lambda stage: selection.ceat_runs(chosen, chosen.ceat_test, stage))
    p = runs[runs["metric"] == halves.CEAT_P].dropna(subset="value")
    counts = (p["value"] < LEVEL).groupby([p["encoder"], p["model"]]).agg(significant="sum", seeds="count")
    table = compare(runs[runs["metric"] == halves.CEAT_EFFECT]).merge(counts.reset_index(), on=_MODEL[:2], how="left")
    return table.assign(text=halves.RAW)


def _who(ours: object, theirs: object) -> str:
    """Which of the two has p < 0.05: "ours", "published", "both" or "neither"; "" without a test."""
    said = {(True, True): "both", (True, False): "ours", (False, True): "published"}
    return said.get((ours == "yes", theirs == "yes"), "neither" if "no" in (ours, theirs) else "")


def _missing(chosen: Selection, encoder: str, measured: Mapping[str, pd.DataFrame]) -> str:
    """The measures that an encoder lacks, with reasons; "" for an encoder that was not run at all."""
    if encoder not in chosen.scored:
        return ""
    absent = [name for name, frame in measured.items() if encoder not in set(frame["encoder"])]
    return "; ".join(f"{name}: {chosen.reason(encoder, name)}" for name in absent)
