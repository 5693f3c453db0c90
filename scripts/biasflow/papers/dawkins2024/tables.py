"""Tables made from table 7 and from shares: the best of each level, whether ranks depend on a choice, the subspaces."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from biasflow.methods.grid import SENTENCE_DEBIAS
from biasflow.papers.dawkins2024.blocks import encoders_inside
from biasflow.papers.dawkins2024.rows import (
    AFTER,
    BLOCK,
    INSIDE,
    MEASURES,
    inside,
    key_of,
    not_run,
    printed_inside,
    printed_nli,
    printed_table,
    published_where,
    shares,
)
from biasflow.papers.dawkins2024.table7 import table7
from biasflow.papers.frames import RUN, Run
from biasflow.results.scores import NA
from biasflow.results.statistics import correlation
from biasflow.results.tables import merge_published

PLAIN = "plain"  # a subspace that was fitted with no other intervention active


def table5(run: Run) -> pd.DataFrame:
    """The best of each level beside the printed table 5, see `best_of_levels`."""
    table = best_of_levels(table7(run), printed_table(run.printed, 5))
    intrinsic = [name for measure in MEASURES for name in (measure, f"{measure}_settings")]
    table = published_where(printed_inside(run, table), table, intrinsic)
    return published_where(printed_nli(run, table), table, ["fairness", "fairness_settings", "snli_accuracy"])


def best_of_levels(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """The best of each level of `rows` (a table 7) beside the printed table 5 (`published`): the smallest Strength and
    Distance over all its settings, and the largest fairness among its viable models, with their SNLI accuracy.

    Of equal values the first in printed order counts. What was not run stays empty, and so does the fairness of a
    level without a viable model, with a `note`."""
    main = rows[rows["interventions"] == AFTER]  # further readings do not change what is measured before fine-tuning
    intrinsic = dict(list(main.groupby([*BLOCK, "level"], sort=False)))
    best = []
    for (*block_keys, interventions, level), block in rows.groupby([*BLOCK, "interventions", "level"], sort=False):
        row = dict(zip(BLOCK, block_keys, strict=True)) | {"interventions": interventions, "level": level}
        for measure in MEASURES:
            row |= _best(intrinsic[(*block_keys, level)], measure, ascending=True)
        viable = block[block["viable"] == "yes"]
        row |= _best(viable, "fairness", ascending=False, also=["snli_accuracy"])
        statuses = block[["status", "nli_status"]].iloc[0].to_dict()
        none_left = viable.empty and statuses["nli_status"] == RUN
        best.append(row | {"note": "no viable model" if none_left else ""} | statuses)
    values = [name for name in published if name != "level"]
    return merge_published(pd.DataFrame(best), published, on=["level"], values=values)


def rank_agreement(run: Run) -> pd.DataFrame:
    """Spearman's correlation over the settings between all shares, and between stimuli sets at the paper's share.

    Per encoder and for Strength and Distance; `comparison` is `share` or `stimuli`, `a` and `b` are what is compared,
    [low, high] is a 95 % interval, `verdict` counts the pairs of settings that change order."""
    wide, rows = inside(run), []

    def compare(values: pd.DataFrame, **keys: str) -> None:
        for a, b in combinations(values, 2):
            rows.append(keys | {"a": a, "b": b} | _agreement(values[a], values[b]))

    for (encoder, stimuli), block in wide.groupby(level=BLOCK):
        for measure in MEASURES:
            values = block[measure].xs(NA, axis=1, level="variant")[shares(run)]
            compare(values, encoder=encoder, stimuli=stimuli, metric=measure, comparison="share")
    for encoder, block in wide.groupby(level="encoder"):
        for measure in MEASURES:
            values = block[key_of(measure)].unstack("stimuli")
            compare(values, encoder=encoder, stimuli="", metric=measure, comparison="stimuli")
    columns = [*BLOCK, "metric", "comparison", "a", "b", "spearman", "p", "low", "high", "n", "verdict"]
    return pd.DataFrame(rows, columns=columns).sort_values(BLOCK, kind="stable", ignore_index=True)


def subspaces(run: Run) -> pd.DataFrame:
    """Explained variance by encoder, subspace and component on the plain model, with the sentence pairs behind it.

    Made of the files `explained_variance` (method, subspace, upstream, head, component, explained_variance) and
    `sentence_pairs` (set, kept) of each encoder; an encoder without has one row, with the reason as `status`."""
    blocks = []
    for encoder in encoders_inside(run.options):
        path = run.files.get("explained_variance", {}).get(encoder)
        if path is None:
            blocks.append(pd.DataFrame({"encoder": [encoder], "status": [not_run(run, encoder, INSIDE)]}))
            continue
        variance, pairs = pd.read_csv(path), pd.read_csv(run.files["sentence_pairs"][encoder])
        plain = variance[(variance["method"] == run.options["method"]) & (variance["upstream"] == PLAIN)]
        grouped = plain.groupby(["subspace", "component"], sort=False)["explained_variance"]
        block = grouped.agg(mean="mean", low="min", high="max", heads="size").reset_index()
        kept = pairs.groupby("set")["kept"].agg(["sum", "size"])
        source = block["subspace"].where(block["subspace"] == SENTENCE_DEBIAS, "interventions")
        used = {"pairs_used": source.map(kept["sum"]), "pairs": source.map(kept["size"])}
        blocks.append(block.assign(**used, status=RUN, encoder=encoder))
    order = ["encoder", "subspace", "component", "mean", "low", "high", "heads", "pairs_used", "pairs", "status"]
    return pd.concat(blocks, ignore_index=True).reindex(columns=order)


def _agreement(a: pd.Series, b: pd.Series) -> dict:
    result = correlation(a, b, "spearman")
    pairs = np.triu_indices(len(a), k=1)
    of_a, of_b = (np.sign(np.subtract(*side.to_numpy()[np.array(pairs)])) for side in (a, b))
    changed = int((of_a != of_b).sum())
    verdict = f"{changed} of {len(of_a)} pairs of settings change order" if changed else "ranks unchanged"
    numbers = {"p": result.p, "low": result.low, "high": result.high, "n": result.n}
    return {"spearman": result.estimate, **numbers, "verdict": result.reason or verdict}


def _best(block: pd.DataFrame, measure: str, *, ascending: bool, also: Sequence[str] = ()) -> dict:
    """The best value of a measure, its settings and other columns of that row; NaN and "" where there is none."""
    known, columns = block.dropna(subset=measure), [measure, "settings", *also]
    if known.empty:
        best = dict.fromkeys(columns, np.nan) | {"settings": ""}
    else:
        best = known.loc[known[measure].idxmin() if ascending else known[measure].idxmax(), columns].to_dict()
    return {f"{measure}_settings" if name == "settings" else name: value for name, value in best.items()}
