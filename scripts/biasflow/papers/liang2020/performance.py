"""The quality of models under Liang, Dufter & Schütze's erasers (2020): perplexity, GLUE, paper B's measures; and how
much gender each place of the untouched encoder holds."""

import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.papers.frames import NLI_SCORES, RUN, Run, nli_rows
from biasflow.papers.liang2020.blocks import AT_EVALUATION, IN_TRAINING, PLAIN, WITH
from biasflow.papers.liang2020.rows import (
    KEY,
    NOTEBOOKS,
    PLACEMENT,
    Rows,
    change_from_none,
    check_methods,
    first,
    not_run,
    of_paper,
    of_shared_seeds,
    ordered,
    published_rows,
    refuse_doubles,
    wide,
    with_not_run,
)
from biasflow.registry import METRICS
from biasflow.results.scores import NA, NONE
from biasflow.results.statistics import t_interval
from biasflow.results.tables import merge_published

_INTRINSIC = METRICS["strength"].measures  # column -> part and variant of its rows
_PLACE = r"^(?P<place>layer\[(?P<layer>\d+)\](?:\.(?P<part>[a-z_.]+))?)(?:\[(?P<head>\d+)\])?$"


def perplexity_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of perplexity and pseudo-perplexity; the released form of perplexity is `batch_perplexity`."""
    shown = rows[rows["metric"].isin(["perplexity", "pseudo_perplexity"])]
    return shown.assign(metric=shown["metric"].mask(shown["variant"] == "released", "batch_perplexity"))


def perplexities(ours: Rows) -> pd.DataFrame:
    """Perplexity by KEY, set (the text) and stage, over mask seeds: mean, `_sd` (unbiased; NaN for one seed), `_low`,
    `_high` and `_seeds`; the mean batch_perplexity and number of scored tokens; pseudo_perplexity (NaN where not run).

    Raises BiasflowError naming encoder and method for a gap."""
    rows = perplexity_rows(ours.inside)
    unit = [*KEY, "set", "stage"]
    masked = wide(rows[rows["readout_seed"] != NA], [*unit, "readout_seed"], ["perplexity", "batch_perplexity"])
    check_methods(masked, ours, "perplexity", ["set", "stage", "readout_seed"])
    tokens = rows.loc[rows["metric"] == "perplexity", [*unit, "readout_seed", "n"]]
    table = masked.merge(tokens, on=[*unit, "readout_seed"], validate="one_to_one")
    table = table.groupby(unit, as_index=False).agg(
        perplexity=("perplexity", "mean"),
        perplexity_sd=("perplexity", "std"),
        perplexity_low=("perplexity", "min"),
        perplexity_high=("perplexity", "max"),
        perplexity_seeds=("readout_seed", "nunique"),
        batch_perplexity=("batch_perplexity", "mean"),
        tokens=("n", "mean"),
    )
    pseudo = wide(rows, unit, ["pseudo_perplexity"])
    check_methods(pseudo, ours, "pseudo_perplexity", ["set", "stage"])
    return table.merge(pseudo, on=unit, how="outer", validate="one_to_one")


def perplexity(run: Run, source: str = NOTEBOOKS) -> pd.DataFrame:
    """Return `perplexities` by encoder, text, stage, method and placement, with the change from the untouched encoder.

    Published is the batch perplexity. `pseudo_status` is the status of the pseudo-perplexity. Raises BiasflowError
    naming encoder and method for a gap."""
    ours = of_paper(run)
    names, keys = {"set": "text"}, [*KEY, "text", "stage"]
    table = ordered(perplexities(ours).rename(columns=names), ["encoder", "text", "stage"], ours)
    table = change_from_none(table, ["text", "stage"], ["perplexity", "batch_perplexity", "pseudo_perplexity"])
    table = first(table, ["encoder", "text", "stage", "method", *PLACEMENT])
    printed = perplexity_rows(published_rows(ours, source)).rename(columns=names)
    printed = wide(printed, keys, ["batch_perplexity"])
    rows = with_not_run(table, ours, "perplexity", printed[keys])
    rows = merge_published(rows, printed, on=keys, values=["batch_perplexity"])
    lacking = rows["pseudo_perplexity"].isna() & (rows["status"] == RUN)
    reasons = rows["encoder"].map({name: not_run(ours, name, "pseudo_perplexity") for name in ours.encoders})
    return rows.assign(pseudo_status=rows["status"].where(~lacking, reasons)).astype({"perplexity_seeds": "Int64"})


def glue_scores(ours: Rows) -> pd.DataFrame:
    """GLUE scores by KEY, set (the task), strategy (when a method is active), metric and seed.

    Nothing is active in the untouched encoder, so that its one model serves every strategy; without any other method
    its strategy is "". Only seeds that all methods of a task and strategy share, so that their differences are paired.
    Raises BiasflowError naming encoder and method for a gap."""
    rows = ours.scores[ours.scores["task"].isin(ours.tasks("glue"))]
    rows = rows[(rows["head"] == "own") & (rows["dataset"] == "validation")]
    rows = rows[(rows["strategy"] == PLAIN) | rows["strategy"].str.startswith(WITH)]
    when = rows["strategy"].map(lambda strategy: AT_EVALUATION if strategy == PLAIN else IN_TRAINING)
    metric = rows["metric"].replace("glue_score", "score")
    rows = rows.assign(set=rows["task"], strategy=when.astype(object), metric=metric)
    keys = [*KEY, "set", "strategy", "metric", "seed"]
    refuse_doubles(rows, keys)
    edited = rows[rows["method"] != NONE]
    untouched = rows[rows["method"] == NONE].drop(columns="strategy")
    strategies = edited[["encoder", "set", "strategy"]].drop_duplicates()
    untouched = untouched.merge(strategies, on=["encoder", "set"], how="left").fillna({"strategy": ""})
    table = pd.concat([untouched, edited], ignore_index=True)[[*keys, "value"]]
    check_methods(table, ours, "glue", ["set", "strategy", "metric", "seed"])
    return of_shared_seeds(table, ["set", "strategy", "metric"])


def glue_average(ours: Rows, strategy: str) -> pd.DataFrame:
    """By KEY: glue_average, the mean over tasks of the mean over seeds of each task's score, and glue_tasks, how many.

    Planted tasks count only where there is no other, because they are no part of GLUE."""
    rows = glue_scores(ours)
    rows = rows[(rows["metric"] == "score") & (rows["strategy"].isin([strategy, ""]))]
    data = ours.run.attributes("task", "data")
    planted = rows["set"].map(lambda task: data.get(task, task)).str.startswith("planted").astype(bool)
    rows = rows if planted.all() else rows[~planted]
    tasks = rows.groupby([*KEY, "set"], as_index=False)["value"].mean()
    return tasks.groupby(KEY, as_index=False).agg(glue_average=("value", "mean"), glue_tasks=("set", "nunique"))


def glue(run: Run) -> pd.DataFrame:
    """By encoder, task, strategy, metric, method and placement: mean and 95 % t interval [low, high] over the seeds
    (NaN for fewer than three), `seeds`, and the change from the untouched encoder.

    `score`, the mean of a task's metrics, has rows where a task has several: of one it would repeat that metric."""
    ours = of_paper(run)
    unit = ["task", "strategy", "metric"]
    scores = glue_scores(ours).rename(columns={"set": "task"})
    several = scores.groupby("task")["metric"].transform("nunique") > 2  # the score, and more than one metric
    grouped = scores[several | (scores["metric"] != "score")].groupby([*KEY, *unit], as_index=False)["value"]
    table = grouped.agg(
        mean=pd.Series.mean,
        low=lambda values: t_interval(values)[0],
        high=lambda values: t_interval(values)[1],
        seeds="size",
    )
    table = ordered(first(table, ["encoder", *unit, "method", *PLACEMENT]), ["encoder", *unit], ours)
    return with_not_run(change_from_none(table, unit, ["mean"]), ours, "glue").astype({"seeds": "Int64"})


def intrinsic(run: Run) -> pd.DataFrame:
    """Paper B's measures by encoder, stimuli, method and placement, NLI scores repeated for each stimuli set.

    NLI columns are means over the fine-tuning seeds (`nli_seeds`), of the methods that a run has NLI scores of;
    `nli_status` is their status. Raises BiasflowError naming encoder and method for a gap."""
    ours = of_paper(run)
    rows = ours.inside
    parts = {(name, measure.part, measure.variant) for name, measure in _INTRINSIC.items()}
    shown = pd.MultiIndex.from_frame(rows[["metric", "part", "variant"]]).isin(parts)
    table = wide(rows[shown], [*KEY, "set"], list(_INTRINSIC))
    check_methods(table, ours, "intrinsic", ["set"])
    nli = _nli(ours)
    table = table.rename(columns={"set": "stimuli"}).merge(nli, on=KEY, how="outer").fillna({"stimuli": ""})
    table = ordered(table, ["encoder", "stimuli"], ours)
    table = change_from_none(table, ["stimuli"], ["strength", "distance", "fairness", "snli_accuracy"])
    rows = with_not_run(first(table, ["encoder", "stimuli", "method", *PLACEMENT]), ours, "intrinsic")

    def states(column: str, measure: str) -> list[str]:
        absent = zip(rows["encoder"], rows["method"], rows[column].isna(), strict=True)
        return [not_run(ours, encoder, measure, method or None) if lacks else RUN for encoder, method, lacks in absent]

    status = rows["status"].where(rows["status"] != RUN, states("strength", "intrinsic"))
    return rows.assign(status=status, nli_status=states("nli_seeds", "nli")).astype({"nli_seeds": "Int64"})


def gender_share(run: Run) -> pd.DataFrame:
    """By encoder and place, in the order of the layers: the mean gender_share over its heads, the lowest and highest,
    the head (from 0) that has the highest, and how many heads; a place without heads has only the one value.

    Raises BiasflowError for a place that is not in a layer."""
    ours = of_paper(run)
    blocks = []
    for (encoder, _, _, place), block in gender_shares(ours).groupby(["encoder", "layer", "part", "place"]):
        row = {"encoder": encoder, "place": place, "gender_share": block["value"].mean()}
        if (block["head"] != "").all():
            highest = block.loc[block["value"].idxmax()]
            row |= {"lowest": block["value"].min(), "highest": highest["value"], "highest_head": highest["head"]}
        blocks.append(row | {"heads": int((block["head"] != "").sum())})
    columns = ["encoder", "place", "gender_share", "lowest", "highest", "highest_head", "heads"]
    table = pd.DataFrame(blocks, columns=columns)
    return with_not_run(table, ours, "gender_share").astype({"heads": "Int64"})


def gender_shares(ours: Rows) -> pd.DataFrame:
    """The gender shares of the untouched encoders: encoder, place, layer (its number), part ("" for its output), head
    ("" or its number), value. Raises BiasflowError naming the encoder and a place that is not in a layer."""
    rows = ours.inside[ours.inside["metric"] == "gender_share"].reset_index(drop=True)
    refuse_doubles(rows, [*KEY, "part"])
    places = rows["part"].str.extract(_PLACE)
    for row in rows[places["layer"].isna()].head(1).itertuples():
        raise BiasflowError(f"encoder {row.encoder}, gender share: {row.part!r} is no place in a layer")
    places = places.fillna({"part": "", "head": ""}).astype({"layer": int})
    return places.assign(encoder=rows["encoder"], value=rows["value"])[
        ["encoder", "place", "layer", "part", "head", "value"]
    ]


def _nli(ours: Rows) -> pd.DataFrame:
    """NLI scores by KEY: means over the seeds that the methods share, and `nli_seeds`, of the first NLI task."""
    rows = ours.scores[(ours.scores["strategy"] == PLAIN) & (ours.scores["head"] == "own")]
    task = next((name for name in ours.tasks("nli") if name in set(rows["task"])), None)
    seeds = wide(nli_rows(rows[rows["task"] == task]), [*KEY, "seed"], list(NLI_SCORES))
    check_methods(seeds.assign(set=task), ours, "nli", ["set", "seed"])
    means = {column: (column, "mean") for column in NLI_SCORES}
    return of_shared_seeds(seeds, []).groupby(KEY, as_index=False).agg(**means, nli_seeds=("seed", "nunique"))
