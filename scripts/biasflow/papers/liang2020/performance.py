"""What is left of the model under Liang, Dufter & Schütze's erasers (2020): perplexity, GLUE, paper B's measures; and
how much gender is where in the untouched encoder."""

from collections.abc import Mapping

import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics.stereoset import variant_of
from scripts.biasflow.papers.dawkins2024.downstream import NOT_ASKED, RUN, SCORES, TASK, t_interval
from scripts.biasflow.papers.liang2020.rows import (
    KEY,
    NONE,
    change_from_none,
    check_methods,
    is_layer,
    of_measure,
    of_paper,
    ordered,
    refuse_doubles,
    wide,
    with_not_run,
)
from scripts.biasflow.results.tables import merge_published

_MASKED = ["perplexity", "batch_perplexity", "tokens"]
_INTRINSIC = {  # column -> variant in scores.csv
    "strength": variant_of(0.10),
    "distance": variant_of(0.10),
    "stereotype_score": "original",
    "language_model_score": "both",
}
_PLACE = r"layer\[(?P<layer>\d+)\](?P<part>.*)"


def perplexities(ours: pd.DataFrame) -> pd.DataFrame:
    """Perplexity by KEY, set (the text) and stage, over mask seeds: mean, `_sd` (unbiased; NaN for one seed), `_low`,
    `_high` and `_seeds`; the mean batch_perplexity and number of scored tokens; pseudo_perplexity (NaN where not run).

    `ours`: the paper's tidy scores. Raises BiasflowError naming encoder and method for a gap."""
    rows = of_measure(ours, "perplexity")
    unit = [*KEY, "set", "stage"]
    masked = wide(rows[rows["seed"] != ""], [*unit, "seed"], _MASKED)
    check_methods(masked, ours, ["set", "stage", "seed"])
    table = masked.groupby(unit, as_index=False).agg(
        perplexity=("perplexity", "mean"),
        perplexity_sd=("perplexity", "std"),
        perplexity_low=("perplexity", "min"),
        perplexity_high=("perplexity", "max"),
        perplexity_seeds=("seed", "nunique"),
        batch_perplexity=("batch_perplexity", "mean"),
        tokens=("tokens", "mean"),
    )
    pseudo = wide(rows, unit, ["pseudo_perplexity"])
    check_methods(pseudo, ours, ["set", "stage"])
    return table.merge(pseudo, on=unit, how="outer", validate="one_to_one")


def perplexity_table(
    scores: pd.DataFrame,
    published: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """`perplexities` by encoder, text, stage, method and setting, with the change from the untouched encoder.

    Published is the batch perplexity. `measures_not_run`: "perplexity" and "pseudo_perplexity" -> reason, for
    `status` and `pseudo_status`. Raises BiasflowError naming encoder and method for a gap."""
    ours = of_paper(scores)
    names, keys = {"set": "text"}, [*KEY, "text", "stage"]
    table = ordered(perplexities(ours).rename(columns=names), ["encoder", "text", "stage"])
    table = change_from_none(table, ["text", "stage"], ["perplexity", "batch_perplexity", "pseudo_perplexity"])
    order = ["encoder", "text", "stage", "method", "setting"]
    table = table[[*order, *(column for column in table if column not in order)]]
    printed = wide(of_measure(published, "perplexity").rename(columns=names), keys, ["batch_perplexity"])
    rows = with_not_run(
        table, scores, "perplexity", not_run=not_run, measures_not_run=measures_not_run, printed=printed[keys]
    )
    rows = merge_published(rows, printed, on=keys, values=["batch_perplexity"])
    lacking = rows["pseudo_perplexity"].isna() & (rows["status"] == RUN)
    reason = f"not run: {(measures_not_run or {}).get('pseudo_perplexity', NOT_ASKED)}"
    return rows.assign(pseudo_status=rows["status"].where(~lacking, reason)).astype({"perplexity_seeds": "Int64"})


def glue_scores(ours: pd.DataFrame) -> pd.DataFrame:
    """GLUE scores by KEY, set (the task), strategy, metric and seed, the untouched encoder under every strategy.

    Nothing is active in the untouched encoder, so that it serves for strategies that it has no rows of its own for.
    `ours`: the paper's tidy scores. Raises BiasflowError naming encoder and method for a gap: all methods of a task
    and strategy have the same seeds, and so their differences are paired."""
    rows = of_measure(ours, "glue")
    keys = [*KEY, "set", "strategy", "metric", "seed"]
    refuse_doubles(rows, keys)
    untouched, edited = rows[rows["method"] == NONE], rows[rows["method"] != NONE]
    strategies = edited[["encoder", "set", "strategy"]].drop_duplicates()
    own = untouched.merge(strategies, on=["encoder", "set", "strategy"])
    plain = untouched.drop_duplicates([*KEY, "set", "metric", "seed"]).drop(columns="strategy")
    copies = plain.merge(strategies, on=["encoder", "set"])
    alone = untouched[~untouched["encoder"].isin(edited["encoder"])]
    table = pd.concat([own, copies]).drop_duplicates(keys)
    table = pd.concat([table, alone, edited], ignore_index=True)[[*keys, "value"]]
    check_methods(table, ours, ["set", "strategy", "metric", "seed"])
    return table


def glue_average(ours: pd.DataFrame, strategy: str) -> pd.DataFrame:
    """By KEY: glue_average, the mean over tasks of the mean over seeds of each task's score, and glue_tasks, how many.

    Planted tasks count only where there is no other, because they are no part of GLUE."""
    rows = glue_scores(ours)
    rows = rows[(rows["metric"] == "score") & (rows["strategy"].isin([strategy, ""]))]
    planted = rows["set"].str.startswith("planted")
    rows = rows if planted.all() else rows[~planted]
    tasks = rows.groupby([*KEY, "set"], as_index=False)["value"].mean()
    return tasks.groupby(KEY, as_index=False).agg(glue_average=("value", "mean"), glue_tasks=("set", "nunique"))


def glue_table(
    scores: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """By encoder, task, strategy, metric, method and setting: mean and 95 % t interval [low, high] over the seeds (NaN
    for one), `seeds`, and the change from the untouched encoder. `measures_not_run`: "glue" -> reason."""
    ours = of_paper(scores)
    unit = ["task", "strategy", "metric"]
    grouped = glue_scores(ours).rename(columns={"set": "task"}).groupby([*KEY, *unit])["value"]
    rows = []
    for key, values in grouped:
        low, high = t_interval(values.to_numpy())
        row = dict(zip([*KEY, *unit], key, strict=True))
        rows.append(row | {"mean": values.mean(), "low": low, "high": high, "seeds": len(values)})
    columns = ["encoder", *unit, "method", "setting", "mean", "low", "high", "seeds"]
    table = ordered(pd.DataFrame(rows, columns=columns), ["encoder", *unit])
    table = change_from_none(table, unit, ["mean"])
    return with_not_run(table, scores, "glue", not_run=not_run, measures_not_run=measures_not_run).astype(
        {"seeds": "Int64"}
    )


def intrinsic_table(
    scores: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Paper B's measures by encoder, stimuli, method and setting, NLI scores repeated for each stimuli set.

    NLI columns are means over the fine-tuning seeds (`nli_seeds`). `measures_not_run`: "intrinsic" and "nli" ->
    reason, for `status` and `nli_status`. Raises BiasflowError naming encoder and method for a gap."""
    ours = of_paper(scores)
    ours = ours[~is_layer(ours["setting"])]
    rows = ours[(ours["metric"].map(_INTRINSIC) == ours["variant"]) & (ours["task"] != TASK)]
    table = wide(rows.rename(columns={"task": "stimuli"}), [*KEY, "stimuli"], list(_INTRINSIC))
    check_methods(table, ours, ["stimuli"])
    nli = _nli(ours)
    table = ordered(table.merge(nli, on=KEY, how="outer").fillna({"stimuli": ""}), ["encoder", "stimuli"])
    changes = ["strength", "distance", "fairness", "snli_accuracy"]
    table = change_from_none(table, ["stimuli"], changes)
    order = ["encoder", "stimuli", "method", "setting"]
    table = table[[*order, *(column for column in table if column not in order)]]
    rows = with_not_run(table, scores, "intrinsic", not_run=not_run, measures_not_run=measures_not_run)
    reasons = measures_not_run or {}
    without = rows["strength"].isna() & (rows["status"] == RUN)
    status = rows["status"].where(~without, f"not run: {reasons.get('intrinsic', NOT_ASKED)}")
    nli_status = rows["status"].where(
        rows["encoder"].isin({*nli["encoder"], *(not_run or {})}), f"not run: {reasons.get('nli', NOT_ASKED)}"
    )
    return rows.assign(status=status, nli_status=nli_status).astype({"nli_seeds": "Int64"})


def gender_share_table(
    scores: pd.DataFrame,
    *,
    not_run: Mapping[str, str] | None = None,
    measures_not_run: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """By encoder and place, in the order of the layers: the mean gender_share over its heads, the lowest and highest,
    the head (from 0) that has the highest, and how many heads; a place without heads has only the one value.

    `measures_not_run`: "gender_share" -> reason. Raises BiasflowError for a place that is not in a layer."""
    shares = gender_shares(scores)
    blocks = []
    for (encoder, _, _, place), block in shares.groupby(["encoder", "layer", "part", "place"]):
        row = {"encoder": encoder, "place": place, "gender_share": block["value"].mean()}
        if (block["head"] != "").all():
            highest = block.loc[block["value"].idxmax()]
            row |= {"lowest": block["value"].min(), "highest": highest["value"], "highest_head": highest["head"]}
        blocks.append(row | {"heads": int((block["head"] != "").sum())})
    columns = ["encoder", "place", "gender_share", "lowest", "highest", "highest_head", "heads"]
    table = pd.DataFrame(blocks, columns=columns)
    return with_not_run(table, scores, "gender_share", not_run=not_run, measures_not_run=measures_not_run).astype(
        {"heads": "Int64"}
    )


def gender_shares(scores: pd.DataFrame) -> pd.DataFrame:
    """The gender shares of the untouched encoders: encoder, place, layer (its number), part ("" for its output), head
    ("" or its number), value. Raises BiasflowError naming the encoder and a place that is not in a layer."""
    rows = of_paper(scores)
    rows = rows[(rows["task"] == "gender_share") & (rows["metric"] == "gender_share")]
    refuse_doubles(rows, [*KEY, "variant"])
    parts = rows["setting"].str.extract(_PLACE)
    for row in rows[parts["layer"].isna()].head(1).itertuples():
        raise BiasflowError(f"encoder {row.encoder}, gender share: {row.setting!r} is no place in a layer")
    rows = rows.rename(columns={"setting": "place", "variant": "head"})
    rows = rows.assign(layer=parts["layer"].astype(int), part=parts["part"].str.removeprefix("."))
    return rows[["encoder", "place", "layer", "part", "head", "value"]].reset_index(drop=True)


def _nli(ours: pd.DataFrame) -> pd.DataFrame:
    """NLI scores by KEY: means over the seeds of every entry of SCORES, and `nli_seeds`."""
    names = {score: column for column, score in SCORES.items()}
    rows = ours[ours["task"] == TASK]
    rows = rows.assign(metric=[names.get(key, "") for key in zip(rows["metric"], rows["variant"], strict=True)])
    seeds = wide(rows, [*KEY, "seed"], list(SCORES))
    check_methods(seeds, ours, ["seed"])
    means = {column: (column, "mean") for column in SCORES}
    return seeds.groupby(KEY, as_index=False).agg(**means, nli_seeds=("seed", "nunique"))
