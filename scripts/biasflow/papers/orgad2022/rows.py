"""Paper C's scores (Orgad, Goldfarb-Tarrant & Belinkov 2022, occupation prediction) as runs and points."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from scripts.biasflow.base.errors import BiasflowError

PAPER, OCCUPATION, PROBE, CEAT, FINETUNING = "internal", "occupation", "probe", "ceat:", "finetuning:occupation"
NONE, RAW, SCRUBBED = "none", "raw", "scrubbed"
# Strategy -> the test input of the printed values. The paper does not say what the scrubbed models were tested on; its
# compression of 1.699 fits the 68.8 % probing accuracy that its appendix C reports for scrubbed biographies.
STRATEGIES = {NONE: RAW, "oversampling": RAW, "subsampling": RAW, "scrubbing": SCRUBBED}
BEFORE, AFTER, FROZEN = "before", "after", "frozen"
FINETUNED, PRETRAINED, RANDOM = "finetuned", "pretrained", "random"
BASELINES = (RANDOM, PRETRAINED)  # encoders without fine-tuning, in the order of the tables
RUN_KEY = ["encoder", "strategy", "setting", "seed", "head_seed"]
MEASURE = ["metric", "variant"]
POINT_KEY = ["encoder", "strategy", "seed", "head_seed"]
NOT_LISTED = "it is not in internal.encoders"  # why the paper's encoder was not run
CEAT_VARIANT = "weat-spread"  # roles and variance of the released CEAT code
CEAT_METRICS = ("effect_size", "p_two_sided", "p_one_sided", "tau_squared", "draws")
_UNDEFINED = "undefined_cells"


class Measure(NamedTuple):
    """A measure as the tables call it, and its metric and variant in scores.csv."""

    label: str
    metric: str
    variant: str


COMPRESSION = Measure("Compression", "compression", "mixed-last")
COMPRESSION_BITS = Measure("Compression", "compression", "bits-best")
OTHER_COMPRESSIONS = [Measure("Compression", "compression", variant) for variant in ("bits-last", "mixed-best")]
CONTROL = Measure("Compression of random labels", "control_compression", "bits-best")
CHANCE = 0.05  # how far from 1 the compression of random labels may be
ACCURACY = Measure("Accuracy", "accuracy", "")
_PARTS = {"tpr": "TPR", "fpr": "FPR", "precision": "Precision"}
# As printed: nine measures of bias on the task itself.
EXTRINSIC = [
    *[
        measure
        for part, name in _PARTS.items()
        for measure in (
            Measure(f"{name} gap (P)", f"{part}_gap_pearson", "train"),
            Measure(f"{name} gap (S)", f"{part}_gap_sum", ""),
        )
    ],
    Measure("Independence gap (S)", "independence", ""),
    Measure("Separation gap (S)", "separation", "absdiff"),
    Measure("Sufficiency gap (S)", "sufficiency", "absdiff"),
]
PEARSON = [measure for measure in EXTRINSIC if measure.variant == "train"]
# Other readings of the same measures: a run may leave these out, for every strategy alike.
VARIANTS = [
    *[measure._replace(variant=shares) for measure in PEARSON for shares in ("test", "labour")],
    Measure("Separation gap (S)", "separation", "sum"),
    Measure("Sufficiency gap (S)", "sufficiency", "sum"),
    Measure("Sufficiency gap (S)", "sufficiency", "absdiff-order-free"),
    Measure("Sufficiency gap (S)", "sufficiency", "sum-order-free"),
]
MEASURES = [COMPRESSION, ACCURACY, *EXTRINSIC, COMPRESSION_BITS, *OTHER_COMPRESSIONS, *VARIANTS]  # as in the tables


def of_paper(scores: pd.DataFrame) -> pd.DataFrame:
    """The tidy scores of the paper's occupation prediction.

    Raises BiasflowError naming the encoder for a strategy that the paper does not have."""
    task = scores["task"]
    ours = (scores["paper"] == PAPER) & (task.isin([OCCUPATION, PROBE, FINETUNING]) | task.str.startswith(CEAT))
    own = scores[ours]
    for row in own[~own["strategy"].isin(["", *STRATEGIES])].head(1).itertuples():
        known = ", ".join(STRATEGIES)
        raise BiasflowError(
            f"encoder {row.encoder}, {row.task}: strategy {row.strategy!r} is unknown; there are {known}"
        )
    return own


def encoders(scores: pd.DataFrame, not_run: Mapping[str, str] | None) -> list[str]:
    """The encoders with scores, then those of `not_run`; BiasflowError if there are none."""
    names = list(dict.fromkeys([*sorted(set(of_paper(scores)["encoder"])), *(not_run or {})]))
    if not names:
        raise BiasflowError(
            f"no scores of the paper `{PAPER}` and no encoder that was not run; score one encoder first"
        )
    return names


def diverged(scores: pd.DataFrame) -> dict[tuple[str, str], list[str]]:
    """(encoder, strategy) -> the seeds whose fine-tuned encoder learned nothing, in numerical order."""
    rows = of_paper(scores)
    rows = rows[(rows["task"] == FINETUNING) & (rows["metric"] == "diverged") & (rows["value"] == 1)]
    return {key: seeds_in_order(block["seed"]) for key, block in rows.groupby(["encoder", "strategy"])}


def seeds_in_order(seeds: Sequence[str]) -> list[str]:
    """Each seed once, as a number would be sorted: "5" before "11"."""
    return sorted(set(seeds), key=lambda seed: (len(seed), seed))


def extrinsic_runs(scores: pd.DataFrame, stage: str) -> pd.DataFrame:
    """Every extrinsic score of a stage ("before", "after", "frozen"): RUN_KEY, metric, variant, value; with the metric
    `undefined_cells`, whose variant is the start of the name of a measure.

    Values of diverged encoders are NaN. Raises BiasflowError naming encoder, strategy and seed for a score that is
    missing: the accuracy and the measures of EXTRINSIC must be there, VARIANTS in all runs of an encoder or in none."""
    rows = of_paper(scores)
    rows = rows[(rows["task"] == OCCUPATION) & (rows["stage"] == stage)]
    known = {measure[1:] for measure in (ACCURACY, *EXTRINSIC, *VARIANTS)}
    shown = pd.MultiIndex.from_frame(rows[MEASURE]).isin(known)
    rows = rows[(rows["metric"] == _UNDEFINED) | shown]
    required = [measure[1:] for measure in (ACCURACY, *EXTRINSIC)]
    return _whole(rows, scores, required, what=f"occupation prediction, stage {stage}", finetuned=stage != FROZEN)


def compression_runs(scores: pd.DataFrame, stage: str = FINETUNED) -> pd.DataFrame:
    """Compression of every encoder of a stage, all variants, as a mean over its probe seeds; like `extrinsic_runs`.

    Stages: "finetuned", "pretrained", "random"; the latter two have no strategy and may lack a setting."""
    rows = of_paper(scores)
    names = [COMPRESSION.metric, CONTROL.metric]
    rows = rows[(rows["task"] == PROBE) & (rows["stage"] == stage) & rows["metric"].isin(names)]
    # A probe seed that lacks a score must not hide in a mean: the runs are checked before they are averaged.
    required = [measure[1:] for measure in (COMPRESSION, COMPRESSION_BITS)]
    whole = _whole(rows, scores, required, what="the gender probe", finetuned=stage == FINETUNED)
    keys = [key for key in (*RUN_KEY, *MEASURE) if key != "head_seed"]
    return whole.groupby(keys, as_index=False, sort=False)["value"].mean().assign(head_seed="")[list(whole)]


def ceat_runs(scores: pd.DataFrame, test: str, stage: str = FINETUNED) -> pd.DataFrame:
    """Effect size and two-sided p (metrics `effect_size`, `p_two_sided`) of one CEAT test; like `extrinsic_runs`."""
    return _ceat_runs(scores, test, stage, ["effect_size", "p_two_sided"], [CEAT_VARIANT])


def ceat_readings(scores: pd.DataFrame, test: str, variants: Sequence[str], stage: str = FINETUNED) -> pd.DataFrame:
    """All of CEAT_METRICS of one CEAT test in these variants ("weat-spread" ...), each required; like `ceat_runs`."""
    return _ceat_runs(scores, test, stage, CEAT_METRICS, variants)


def with_baselines(runs_of: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """What `runs_of` returns for the fine-tuned encoders and for BASELINES, which become strategies of their own."""
    stages = {stage: runs_of(stage) for stage in (FINETUNED, *BASELINES)}
    return pd.concat(
        [runs.assign(strategy=runs["strategy"].where(runs["strategy"] != "", stage)) for stage, runs in stages.items()]
    )


def ceat_tests(scores: pd.DataFrame) -> list[str]:
    """The CEAT tests of a run: C6, C7, C8, then others; the first is the one that the tables show ([] without CEAT)."""
    tasks = of_paper(scores)["task"]
    return sorted(set(tasks[tasks.str.startswith(CEAT)].str.removeprefix(CEAT)))


def undefined_cells(runs: pd.DataFrame) -> pd.DataFrame:
    """How many cells (classes x genders) were 0/0 and left out: RUN_KEY, metric (those of EXTRINSIC), value.

    `runs`: as `extrinsic_runs` returns them. Independence has no such cells."""
    rows = runs[runs["metric"] == _UNDEFINED]
    blocks = [
        rows[rows["variant"] == metric.split("_")[0]].assign(metric=metric)
        for metric in dict.fromkeys(measure.metric for measure in EXTRINSIC)
    ]
    return pd.concat(blocks, ignore_index=True)[[*RUN_KEY, "metric", "value"]]


def points(scores: pd.DataFrame, stage: str, *, average_heads: bool = False) -> pd.DataFrame:
    """One row per fine-tuned model, or per retrained head of it: what correlations and figures are made of.

    POINT_KEY, a column per measure of MEASURES that the run has (named by `column`), and per CEAT test its effect
    size (`ceat <test>`) and p (`ceat <test> p`); NaN where an encoder lacks a measure. Test input as printed
    (STRATEGIES). Diverged encoders are left out. `average_heads`: one row per encoder, the mean over its heads, because
    heads that share an encoder share its compression and are no independent points. `stage`: "before" or "after"."""
    table = _columns(_as_printed(extrinsic_runs(scores, stage)), POINT_KEY)
    if average_heads:
        table = table.drop(columns="head_seed").groupby(POINT_KEY[:-1], as_index=False, sort=False).mean()
        table.insert(len(POINT_KEY) - 1, "head_seed", "")
    compression = compression_runs(scores)
    intrinsic = [_columns(_as_printed(compression[compression["metric"] == COMPRESSION.metric]), POINT_KEY[:-1])]
    for test in ceat_tests(scores):
        names = {"effect_size": f"ceat {test}", "p_two_sided": f"ceat {test} p"}
        names = {column(metric, CEAT_VARIANT): name for metric, name in names.items()}
        intrinsic.append(_columns(ceat_runs(scores, test), POINT_KEY[:-1]).rename(columns=names))
    for frame in intrinsic:
        table = table.merge(frame, on=POINT_KEY[:-1], how="left", validate="many_to_one")
    lost = diverged(scores)
    keys = zip(table["encoder"], table["strategy"], table["seed"], strict=True)
    kept = [seed not in lost.get((encoder, strategy), []) for encoder, strategy, seed in keys]
    return _sorted(table[np.array(kept, dtype=bool)])


def column(metric: str, variant: str) -> str:
    """The name of a measure's column in `points`: "tpr_gap_pearson train", "independence"."""
    return f"{metric} {variant}".strip()


def printed_rows(published: pd.DataFrame, tables: Sequence[str]) -> pd.DataFrame:
    """The rows of these tables in the file orgad2022, text columns without NaN."""
    rows = published[published["table"].isin(tables)]
    text = [name for name in rows if name not in ("value", "sd")]
    return rows.astype(dict.fromkeys(text, object)).fillna(dict.fromkeys(text, ""))


def _ceat_runs(
    scores: pd.DataFrame, test: str, stage: str, metrics: Sequence[str], variants: Sequence[str]
) -> pd.DataFrame:
    rows = of_paper(scores)
    rows = rows[(rows["task"] == CEAT + test) & (rows["stage"] == stage) & rows["variant"].isin(variants)]
    rows = rows[rows["metric"].isin(metrics)]
    required = list(product(metrics, variants))
    return _whole(rows, scores, required, what=f"CEAT {test}", finetuned=stage == FINETUNED, settings={""})


def _as_printed(runs: pd.DataFrame) -> pd.DataFrame:
    return runs[runs["setting"] == runs["strategy"].map(STRATEGIES)]


def _columns(runs: pd.DataFrame, index: Sequence[str]) -> pd.DataFrame:
    if runs.empty:
        return pd.DataFrame(columns=list(index), dtype=object)
    names = [column(*key) for key in zip(runs["metric"], runs["variant"], strict=True)]
    wide = runs.assign(_name=names).pivot(index=list(index), columns="_name", values="value")
    return wide.rename_axis(columns=None).reset_index()


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    rank = {name: number for number, name in enumerate(STRATEGIES)}
    order = table.assign(_rank=table["strategy"].map(rank), _seed=table["seed"].str.len())
    order["_head"] = order["head_seed"].str.len()
    order = order.sort_values(["encoder", "_rank", "_seed", "seed", "_head", "head_seed"], ignore_index=True)
    return order[list(table)]


def _whole(
    rows: pd.DataFrame,
    scores: pd.DataFrame,
    required: Sequence[tuple[str, str]],
    *,
    what: str,
    finetuned: bool,
    settings: set[str] | None = None,
) -> pd.DataFrame:
    """`rows` as RUN_KEY, metric, variant, value; NaN for diverged encoders; BiasflowError for a hole or a double.

    A run of an encoder is whole if every strategy has every seed (and head seed) that another strategy has, but for
    diverged ones, in the test input of the printed values, and each of these every measure that one of them has."""
    rows = rows[[*RUN_KEY, *MEASURE, "value"]].reset_index(drop=True)
    for row in rows[rows.duplicated([*RUN_KEY, *MEASURE])].head(1).itertuples():
        raise BiasflowError(f"{_named(row)}: more than one {row.metric} of {what}; score it once")
    lost = diverged(scores) if finetuned else {}
    keys = zip(rows["encoder"], rows["strategy"], rows["seed"], strict=True)
    out = np.array([seed in lost.get((encoder, strategy), []) for encoder, strategy, seed in keys], dtype=bool)
    for encoder, block in rows.groupby("encoder"):
        cells = sorted(set(zip(block["strategy"], block["setting"], strict=True)), key=_rank)
        if finetuned or any(strategy for strategy, _ in cells):
            found = {cell[0] for cell in cells if settings or cell[1] == STRATEGIES[cell[0]]}
            for strategy in dict.fromkeys([NONE, *(strategy for strategy, _ in cells)]):
                if strategy not in found:
                    raise BiasflowError(
                        f"encoder {encoder}, strategy {strategy}: no scores of {what} (test input "
                        f"{STRATEGIES[strategy]}); score it first"
                    )
        runs = sorted(
            set(zip(block["seed"], block["head_seed"], strict=True)), key=lambda run: [(len(s), s) for s in run]
        )
        measures = list(dict.fromkeys([*required, *zip(block["metric"], block["variant"], strict=True)]))
        present = set(block[["strategy", "setting", "seed", "head_seed", *MEASURE]].itertuples(index=False, name=None))
        for (strategy, setting), run, measure in product(cells, runs, measures):
            if run[0] in lost.get((encoder, strategy), []) or (strategy, setting, *run, *measure) in present:
                continue
            heads = f", head seed {run[1]}" if run[1] else ""
            text = f", input {setting}" if setting else ""
            raise BiasflowError(
                f"encoder {encoder}, strategy {strategy or '(not fine-tuned)'}: no {column(*measure)} of {what}, "
                f"seed {run[0]}{heads}{text}; score it first"
            )
    return rows.assign(value=rows["value"].mask(out))


def _rank(cell: tuple[str, str]) -> tuple[int, bool]:
    """Strategies in the order of STRATEGIES, the test input of the printed values first."""
    strategy, setting = cell
    return list(STRATEGIES).index(strategy) if strategy else -1, setting != STRATEGIES.get(strategy, RAW)


def _named(row: tuple) -> str:
    seed = f", seed {row.seed}" if row.seed else ""
    return f"encoder {row.encoder}, strategy {row.strategy or '(not fine-tuned)'}{seed}"
