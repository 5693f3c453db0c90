"""The tables of Liang, Dufter & Schütze (2020): bias under DensRay, hard debiasing and the debiasing conceptor, the
quality of the models (perplexity, GLUE), and how much gender each place of the untouched encoder
holds."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from biasflow.metrics.glue import OFFICIAL
from biasflow.papers.frames import RUN, Run
from biasflow.papers.liang2020 import placed
from biasflow.registry import PLAIN, WITH
from biasflow.results.scores import NA, NONE
from biasflow.results.statistics import holm, t_interval
from biasflow.results.tables import with_bound

IN_TRAINING, AT_EVALUATION = "in_training", "at_evaluation"  # when an eraser is active
PRINTED_MEAN = "mean of the six"  # tasks of GLUE
_GLUE = {"glue_score", "accuracy"}.union(*OFFICIAL.values())  # what is shown of the scores of predictions
_PLACE = r"^(?P<place>layer\[(?P<layer>\d+)\](?:\.(?P<part>[a-z_.]+))?)(?:\[(?P<head>\d+)\])?$"


def perplexity_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of perplexity and pseudo-perplexity; the released form of perplexity is `batch_perplexity`."""
    shown = rows[rows["metric"].isin(["perplexity", "pseudo_perplexity"])]
    return shown.assign(metric=shown["metric"].mask(shown["variant"] == "released", "batch_perplexity"))


def perplexities(ours: placed.Rows) -> pd.DataFrame:
    """Perplexity by KEY, set (the text) and stage, over mask seeds: mean, `_sd` (unbiased; NaN for one seed), `_low`,
    `_high` and `_seeds`; the mean batch_perplexity and number of scored tokens; pseudo_perplexity (NaN where not
    run)."""
    rows = perplexity_rows(ours.inside)
    unit, masks = [*placed.KEY, "set", "stage"], ["set", "stage", "readout_seed"]
    masked = rows[rows["readout_seed"] != NA]
    masked = placed.wide(masked, [*placed.KEY, *masks], ["perplexity", "batch_perplexity"])
    tokens = rows.loc[rows["metric"] == "perplexity", [*unit, "readout_seed", "n"]]
    table = masked.merge(tokens, on=[*unit, "readout_seed"], validate="one_to_one")
    ends = {"": "mean", "_sd": "std", "_low": "min", "_high": "max"}
    numbers = {f"perplexity{end}": ("perplexity", how) for end, how in ends.items()}
    numbers["perplexity_seeds"] = ("readout_seed", "nunique")
    numbers |= {"batch_perplexity": ("batch_perplexity", "mean"), "tokens": ("n", "mean")}
    table = table.groupby(unit, as_index=False).agg(**numbers)
    pseudo = placed.wide(rows, unit, ["pseudo_perplexity"])
    return table.merge(pseudo, on=unit, how="outer", validate="one_to_one")


def perplexity(run: Run, source: str = placed.NOTEBOOKS) -> pd.DataFrame:
    """Return `perplexities` by encoder, text, stage, method and placement, with the change from the untouched encoder.

    Published is the batch perplexity. `pseudo_status` is the status of the pseudo-perplexity."""
    ours = placed.of_paper(run)
    names, unit = {"set": "text"}, ["text", "stage"]
    changes = ["perplexity", "batch_perplexity", "pseudo_perplexity"]
    printed = perplexity_rows(placed.published_rows(ours, source)).rename(columns=names)
    printed = placed.wide(printed, [*placed.KEY, *unit], ["batch_perplexity"])
    table = perplexities(ours).rename(columns=names)
    rows = placed.finished(table, ours, "perplexity", unit, changes=changes, printed=printed)
    lacking = rows["pseudo_perplexity"].isna() & (rows["status"] == RUN)
    reasons = rows["encoder"].map({name: placed.not_run(ours, name, "pseudo_perplexity") for name in ours.encoders})
    return rows.assign(pseudo_status=rows["status"].where(~lacking, reasons)).astype({"perplexity_seeds": "Int64"})


def glue_scores(ours: placed.Rows) -> pd.DataFrame:
    """GLUE scores by KEY, set (the task), strategy (when a method is active), metric (official, or score) and seed.

    Nothing is active in the untouched encoder, so that its one model serves every strategy; without any other method
    its strategy is "". Only seeds that all methods of a task and strategy share, so that their differences are
    paired."""
    rows = ours.scores[ours.scores["task"].isin(ours.tasks("glue"))]
    rows = rows[(rows["head"] == "own") & (rows["dataset"] == "validation")]
    rows = rows[(rows["strategy"] == PLAIN) | rows["strategy"].str.startswith(WITH)]
    rows = rows[rows["metric"].isin(_GLUE)]
    when = np.where(rows["strategy"] == PLAIN, AT_EVALUATION, IN_TRAINING).astype(object)
    rows = rows.assign(set=rows["task"], strategy=when, metric=rows["metric"].replace("glue_score", "score"))
    unit, is_edited = ["set", "strategy", "metric"], rows["method"] != NONE
    strategies = rows.loc[is_edited, ["encoder", "set", "strategy"]].drop_duplicates()
    untouched = rows[~is_edited].drop(columns="strategy").merge(strategies, how="left").fillna({"strategy": ""})
    table = pd.concat([untouched, rows[is_edited]], ignore_index=True)
    return placed.of_shared_seeds(table[[*placed.KEY, *unit, "seed", "value"]], unit)


def _glue_by_task(ours: placed.Rows, strategy: str) -> pd.DataFrame:
    """By KEY and set (the task): the mean over seeds of its score, and `seeds`. Planted tasks count only where there is
    no other, because they are no part of GLUE."""
    rows = glue_scores(ours)
    rows = rows[(rows["metric"] == "score") & (rows["strategy"].isin([strategy, ""]))]
    data = ours.run.attributes("task", "data")
    planted = rows["set"].map(lambda task: data.get(task, task)).str.startswith("planted").astype(bool)
    by_task = (rows if planted.all() else rows[~planted]).groupby([*placed.KEY, "set"], as_index=False)["value"]
    return by_task.agg(value="mean", seeds="size")


def glue_printed(run: Run) -> pd.DataFrame:
    """The columns of GLUE in the paper's table: by KEY and set (the task, or PRINTED_MEAN, the mean of the tasks of a
    run that has all that are printed): value, and `seeds`, how many it is of."""
    ours = placed.of_paper(run)
    tasks = _glue_by_task(ours, readings(ours)["glue_strategy"])
    printed = {*run.printed.loc[run.printed["metric"] == "glue", "dataset"]} - {PRINTED_MEAN}
    of_printed = tasks[tasks["set"].isin(printed)].groupby(placed.KEY, as_index=False)
    means = of_printed.agg(value=("value", "mean"), seeds=("seeds", "min"), tasks=("set", "size"))
    means = means[means["tasks"] == len(printed)].drop(columns="tasks")
    return placed.with_not_run(pd.concat([tasks, means.assign(set=PRINTED_MEAN)]), ours, "glue")


def glue(run: Run) -> pd.DataFrame:
    """By encoder, task, strategy, metric, method and placement: mean and 95 % t interval [low, high] over the seeds
    (NaN for fewer than three), `seeds`, and the change from the untouched encoder.

    `score`, the mean of a task's metrics, has rows where a task has several: of one it would repeat that metric."""
    ours = placed.of_paper(run)
    unit = ["task", "strategy", "metric"]
    scores = glue_scores(ours).rename(columns={"set": "task"})
    several = scores.groupby("task")["metric"].transform("nunique") > 2  # the score, and more than one metric
    grouped = scores[several | (scores["metric"] != "score")].groupby([*placed.KEY, *unit], as_index=False)["value"]
    low, high = (lambda values, end=end: t_interval(values)[end] for end in (0, 1))
    table = grouped.agg(mean=pd.Series.mean, low=low, high=high, seeds="size")
    return placed.finished(table, ours, "glue", unit, changes=["mean"]).astype({"seeds": "Int64"})


def gender_share(run: Run) -> pd.DataFrame:
    """By encoder and place, in the order of the layers: the mean gender_share over its heads, the lowest and highest,
    the head (from 0) that has the highest, and how many heads; a place without heads has only the one value."""
    ours = placed.of_paper(run)
    blocks = []
    for (encoder, _, _, place), block in gender_shares(ours).groupby(["encoder", "layer", "part", "place"]):
        row = {"encoder": encoder, "place": place, "gender_share": block["value"].mean()}
        if (block["head"] != "").all():
            highest = block.loc[block["value"].idxmax()]
            row |= {"lowest": block["value"].min(), "highest": highest["value"], "highest_head": highest["head"]}
        blocks.append(row | {"heads": int((block["head"] != "").sum())})
    columns = ["encoder", "place", "gender_share", "lowest", "highest", "highest_head", "heads"]
    table = pd.DataFrame(blocks, columns=columns)
    return placed.with_not_run(table, ours, "gender_share").astype({"heads": "Int64"})


def gender_shares(ours: placed.Rows) -> pd.DataFrame:
    """The gender shares of the untouched encoders: encoder, place, layer (its number), part ("" for its output), head
    ("" or its number), value."""
    rows = ours.inside[ours.inside["metric"] == "gender_share"]
    places = rows["part"].str.extract(_PLACE).fillna({"part": "", "head": ""}).astype({"layer": int})
    return rows[["encoder", "value"]].join(places).reset_index(drop=True)


OCCTMP = ["diff", "diff_variance", "signed_diff", "p_he", "p_she", "p_sum", "share_he", "share_pronoun"]
ASSOCIATION = ["effect_size", "p_value", "partitions", "exact"]
PROFESSIONS, PLANTED = "professions", "planted"
TEXTS = ["wikitext-2", "wikitext-2-whole-sentences"]  # what is printed is of the first, as released
_LEVEL = 0.05
# Where a run has several readings the first of these is shown.
_STAGES = [placed.FINETUNED, placed.PRETRAINED]
_STRATEGIES = [IN_TRAINING, AT_EVALUATION]


def readings(ours: placed.Rows) -> dict[str, str]:
    """Which set and reading figures show of a run, and the paper's layout: the paper's sets if the run has scores of
    them, otherwise its planted ones; of several stages and strategies the first of _STAGES and _STRATEGIES."""
    perplexity, glue = perplexity_rows(ours.inside), glue_scores(ours)
    text = _set(perplexity["set"], TEXTS)
    return {
        "occtmp_set": _set(placed.of_metrics(ours.inside, "occtmp")["set"], [PROFESSIONS]),
        "perplexity_text": text,
        "perplexity_stage": _first(_STAGES, perplexity.loc[perplexity["set"] == text, "stage"]),
        "glue_strategy": _first(_STRATEGIES, glue.loc[glue["method"] != NONE, "strategy"]),
    }


def occtmp(run: Run, source: str = placed.NOTEBOOKS) -> pd.DataFrame:
    """OCCTMP on every set, by encoder, set, method and placement: the metrics of `metrics.occtmp`, published values.

    Single layers are in a figure."""
    ours = placed.of_paper(run)
    table = placed.wide(placed.of_metrics(ours.inside, "occtmp"), [*placed.KEY, "set"], OCCTMP)
    printed = placed.of_metrics(placed.published_rows(ours, source), "occtmp")
    values = [metric for metric in OCCTMP if metric in set(printed["metric"])]
    printed = placed.wide(printed, [*placed.KEY, "set"], values)
    return placed.finished(table, ours, "occtmp", ["set"], printed=printed)


def chinese(run: Run) -> pd.DataFrame:
    """OCCTMP on the Chinese occupations by encoder, method and placement, with its change from the untouched encoder;
    set: the list, which is named after the user's own file if it comes from one.

    An encoder without Chinese scores has a row with the reason."""
    ours = placed.of_paper(run, chinese=True)
    rows = placed.of_metrics(ours.inside, "occtmp")
    rows = rows[rows["set"].str.startswith(placed.CHINESE)]
    table = placed.wide(rows, [*placed.KEY, "set"], OCCTMP)
    return placed.finished(table, ours, "chinese", ["set"], changes=["diff", "signed_diff"])


def association(run: Run, source: str = placed.NOTEBOOKS) -> pd.DataFrame:
    """Every association test by encoder, test, pooling, method and placement, with Holm's correction and a verdict.

    An exact p of 0 is given as its bound (see `with_bound`). p_holm corrects for the `tests` with a p-value of the same
    encoder, method and placement, on words and on sentences, all poolings together."""
    ours = placed.of_paper(run)
    unit, names = ["set", "variant"], {"set": "test", "variant": "pooling"}
    table = placed.wide(_association(ours.inside), [*placed.KEY, *unit], ASSOCIATION)
    table = with_bound(table, "p_value", table["partitions"])
    table["p_holm"] = table.groupby(placed.KEY)["p_value"].transform(holm).astype(float)
    table["tests"] = table.groupby(placed.KEY)["p_value"].transform("count")
    cases = [table["p_value"].isna(), table["p_value"] >= _LEVEL, table["p_holm"] < _LEVEL]
    verdicts = ["not testable", "not significant", "significant"]
    table["verdict"] = np.select(cases, verdicts, "significant only before correction")
    table["exact"] = np.where(table["partitions"] == 0, "", np.where(table["exact"] == 1, "exact", "sampled"))
    numbers = ["effect_size", "p_value", "p_value_bound", "p_holm", "verdict", "tests", "exact", "partitions"]
    printed = _association(placed.published_rows(ours, source))
    printed = placed.wide(printed, [*placed.KEY, *unit], ["effect_size", "p_value"])
    table, printed = (frame.rename(columns=names) for frame in (table[[*placed.KEY, *unit, *numbers]], printed))
    rows = placed.finished(table, ours, "association", [*names.values()], printed=printed)
    return rows.astype({"tests": "Int64", "partitions": "Int64"})


def _association(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([placed.of_metrics(rows, "weat"), placed.of_metrics(rows, "seat")])


def _set(present: pd.Series, paper: Sequence[str]) -> str:
    """The first of the paper's sets that has scores, else a planted one, else the paper's first."""
    planted = sorted(name for name in {*present} if PLANTED in name)
    return next(iter([name for name in paper if name in {*present}] or planted or paper))


def _first(order: Sequence[str], present: pd.Series) -> str:
    """The first of `order` that is present; the first of all where none is."""
    return next((name for name in order if name in set(present)), order[0])
