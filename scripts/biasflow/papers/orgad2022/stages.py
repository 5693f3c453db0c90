"""Tables 3, 4, 5, 7 and 8: each task before retraining and after it, and occupation prediction without fine-tuning."""

from typing import NamedTuple

import pandas as pd

from biasflow.papers.frames import RUN, Run, status
from biasflow.papers.orgad2022.comparisons import comparisons
from biasflow.papers.orgad2022.documents import baselines
from biasflow.papers.orgad2022.halves import AFTER, BEFORE, COREFERENCE, FROZEN, OCCUPATION, Half
from biasflow.papers.orgad2022.printed import PROBED_ON, beside, encoders_of, printed_values, with_labels
from biasflow.papers.orgad2022.runs import CELL, MEASURE
from biasflow.papers.orgad2022.selection import select
from biasflow.results.statistics import holm
from biasflow.results.tables import DIFFERENCE, PUBLISHED, arranged

NO_ENCODER = "no encoder"  # whose rows are those of predictors that have none
_KEY = ["encoder", *MEASURE, *CELL]
_STARS = ["star", "star_one_sided", "star" + PUBLISHED]


def table3(run: Run) -> pd.DataFrame:
    """Before retraining: a row per encoder, measure (printed ones first), strategy and test input (setting).

    The caption in paper.yaml says what the columns are; p and p_one_sided are `statistics.paired_permutation`, p_holm
    corrects p for the tests of one measure, stars_agree says under which of the two our star is the printed one:
    "both", "two-sided", "one-sided" or "neither". BiasflowError naming encoder and strategy for a hole in the scores.
    """
    return _stage_table(run, OCCUPATION, BEFORE)


def table4(run: Run) -> pd.DataFrame:
    """After retraining: as `table3`, over all heads; `n` counts encoders and `n_heads` heads.

    Pairs are those of encoder seed and head seed; `p_by_encoder` (and its Holm correction) compares means over the
    heads of each encoder instead."""
    return _stage_table(run, OCCUPATION, AFTER)


def table5(run: Run) -> pd.DataFrame:
    """Without fine-tuning: as `table3`, without compression, which no strategy changes."""
    return _stage_table(run, OCCUPATION, FROZEN)


def table7(run: Run) -> pd.DataFrame:
    """Coreference before retraining: as `table3`, with one test input. Below: `documents.baselines`, of no encoder."""
    table, untrained = _stage_table(run, COREFERENCE, BEFORE), with_labels(baselines(run), COREFERENCE)
    rows = untrained.rename(columns={"model": "strategy"}).assign(encoder=NO_ENCODER, status=RUN)
    rows = rows.reindex(columns=table.columns)
    texts = table.select_dtypes(exclude="number").columns
    rows[texts] = rows[texts].fillna("")
    return pd.concat([table, rows.astype(table.dtypes)], ignore_index=True) if len(rows) else table


def table8(run: Run) -> pd.DataFrame:
    """Coreference after retraining: as `table4`, with one test input."""
    return _stage_table(run, COREFERENCE, AFTER)


def _stage_table(run: Run, half: Half, stage: str) -> pd.DataFrame:
    """The columns of `compared` that the tables of a stage show."""
    heads, by_encoder = (["n_heads"], ["p_by_encoder", "p_by_encoder_holm"]) if stage == AFTER else ([], [])
    coded = [] if stage == FROZEN else ["coded"]
    setting = ["setting"] if len(half.inputs) > 1 else []
    columns = ["encoder", "measure", "variant", "strategy", *setting, "mean", "mean_published", "mean_difference"]
    columns += ["difference_in_printed_sd", "sd", "sd_published", "n", *heads, *coded, "change", "pairs"]
    columns += ["p", "p_one_sided", "p_holm", *by_encoder, *_STARS, "stars_agree"]
    columns += ["undefined_cells", "diverged", "status"]
    table = compared(run, half, stage).rename(columns={"model": "strategy", "text": "setting"})[columns]
    return table.astype(dict.fromkeys(["n", *heads, *coded, "pairs"], "Int64"))


def compared(run: Run, half: Half, stage: str) -> pd.DataFrame:
    """Every measure of a stage (metric and variant), model and test input (text), with the printed values beside it."""
    chosen = select(run, half)
    encoders = encoders_of(chosen)
    ours = comparisons(chosen, stage, half.measures)
    for name in ("p", "p_by_encoder"):
        ours[f"{name}_holm"] = ours.groupby(["encoder", *MEASURE])[name].transform(holm).astype(float)
    printed = printed_values(run, half, half.printed_in[stage]).rename(columns={"value": "mean"})
    table = with_labels(beside(ours, printed[[*_KEY, "mean", "sd", "star"]], _KEY, ["mean"], encoders), half)
    table[_STARS] = table[_STARS].astype(object).fillna("")
    scored = set(ours["encoder"])

    def why(row: NamedTuple) -> str:
        """Where a whole stage is missing all of its measures are missing for the same reason."""
        metric = half.metric_of((row.metric, row.variant)) if row.encoder in scored and stage != FROZEN else stage
        return status(chosen.reason(row.encoder, metric, row.model))

    sd = table["sd" + PUBLISHED]
    models = zip(table["encoder"], table["model"], strict=True)
    table = table.assign(
        difference_in_printed_sd=table["mean" + DIFFERENCE] / sd.where(sd > 0),
        stars_agree=[_agreeing(*stars) for stars in table[_STARS].itertuples(index=False, name=None)],
        diverged=[chosen.diverged_seeds(*model) for model in models] if chosen.lost(stage) else "",
        status=[row.status or why(row) for row in table.itertuples()],
    )
    return arranged(
        table,
        encoder=encoders,
        key=[measure.key for measure in half.measures],
        model=[*chosen.models, *PROBED_ON],
        text=half.inputs,
    )


def _agreeing(two_sided: str, one_sided: str, printed: str) -> str:
    """Under which reading our star is the printed one; "" without a test."""
    if "" in (two_sided, printed):
        return ""
    same = [name for name, star in (("two-sided", two_sided), ("one-sided", one_sided)) if star == printed]
    return "both" if len(same) == 2 else same[0] if same else "neither"
