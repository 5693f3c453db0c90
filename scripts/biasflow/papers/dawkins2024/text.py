"""The numbers that the text of Dawkins et al. (2024) prints, counted and computed in our run; and its question: does
less bias inside mean less bias outside (sec. 5)? No: rho 0.040, p 0.73, 76 models."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from biasflow.base.tabular import read_text_csv
from biasflow.methods.grid import ATTENTION as HEADS
from biasflow.methods.grid import all_settings
from biasflow.papers.dawkins2024 import grid
from biasflow.papers.dawkins2024.grid import nli
from biasflow.papers.dawkins2024.tables import settings_table, subspaces, viable, weighting_pairs
from biasflow.papers.frames import NOT_ASKED, RUN, Run, status
from biasflow.results.statistics import cluster_interval, correlation
from biasflow.results.tables import merge_published
from biasflow.text.occupation_pairs import load_pairs

# What a number is of (the column `of` of the printed numbers).
ON_STIMULI, ON_SNLI, ON_NLI, ON_BOTH, OF_ENCODER = "stimuli", "snli", "nli", "stimuli nli", "encoder"
UNWEIGHTED_PLANE = "0,1"  # n = 0, c = 1: two dimensions without information weighting


def text(run: Run) -> pd.DataFrame:
    """Return a row per number of the text, encoder and stimuli ("" for numbers of the data or the grid alone).

    Counts and shares; models are viable as in table 7, and the best layer-11 model is the
    viable one with the largest fairness. Empty where the run has nothing of it, with the reason as `status`."""
    published, rows = run.printed[run.printed["quantity"] != ""], []
    published = published.rename(columns={"metric": "id", "table": "where"})
    blocks = settings_table(run)
    heads = _heads(run)
    for key, block in blocks[blocks["interventions"] == grid.AFTER].groupby(grid.BLOCK, sort=False):
        values = _of_models(block) | heads.get(key[0], {})
        rows += [(*key, *value) for value in values.items()]
    rows += [("", "", *value) for value in (_of_data(run) | _of_grid(run)).items()]
    table = pd.DataFrame(rows, columns=[*grid.BLOCK, "id", "value"])
    about = published[["id", "where", "quantity", "of"]]
    table = about.merge(table, "left", on="id", validate="one_to_many").fillna(dict.fromkeys(grid.BLOCK, ""))
    missing = [_why(run, *row) for row in table[["encoder", "of"]].itertuples(index=False, name=None)]
    table["status"] = np.where(table["value"].isna(), missing, RUN)
    table = merge_published(table, published, on=["id"], values=["value"])
    inside, nli = grid.printed_inside(run, table), grid.printed_nli(run, table)
    same = {ON_STIMULI: inside, ON_SNLI: nli, ON_NLI: nli, ON_BOTH: inside & nli}
    same[OF_ENCODER] = grid.printed_inside(run, table.assign(stimuli=""))
    shown = pd.Series([data not in same or same[data][place] for place, data in table["of"].items()], index=table.index)
    return grid.published_where(shown, table, ["value"]).drop(columns="of")


def _why(run: Run, encoder: str, data: str) -> str:
    metric = grid.INSIDE if data in (ON_STIMULI, OF_ENCODER) else grid.NLI
    return grid.not_run(run, encoder, metric) if encoder else status(NOT_ASKED)


def _of_models(block: pd.DataFrame) -> dict[str, float]:
    """The numbers of one encoder's table 7."""
    indexed = block.set_index(grid.SETTING)
    eleven = indexed.loc[grid.LAYER_11]
    viable = eleven[eleven["viable"] == "yes"]
    models = {"base": indexed.loc[(grid.BASE, "")]}
    models["best"] = viable.loc[viable["fairness"].idxmax()] if len(viable) else pd.Series(dtype=float)
    values = {
        f"{column}-{name}": model.get(column, np.nan)
        for column in ("parity", "accuracy", "fairness")
        for name, model in models.items()
    }
    both = block[["strength", "fairness"]].dropna()
    rho = correlation(both["strength"], both["fairness"])
    values |= {"spearman-rho": rho.estimate, "spearman-p": rho.p}
    return values | _counts(indexed)


def _counts(indexed: pd.DataFrame) -> dict[str, float]:
    """How many models have what the text says of them; NaN for scores that the encoder lacks."""
    inside, outside = (1 if indexed[name].notna().any() else np.nan for name in ("strength", "snli_accuracy"))
    improved = indexed.loc[grid.ATTENTION, "strength"] < indexed.loc[grid.LAYER_11, "strength"]
    pairs, twelve = weighting_pairs(indexed["snli_accuracy"]), indexed.loc[grid.LAYER_12, "viable"]
    weighted = twelve.index.str.endswith(",1")
    return {
        "attention-improved": inside * improved.sum(),
        "attention-not-improved": inside * (~improved).sum(),
        "weighting-improved": outside * (pairs["np1"] > pairs["np0"]).sum(),
        "layer-12-weighted-viable": outside * (weighted & (twelve == "yes")).sum(),
        "layer-12-unweighted-unviable": outside * (~weighted & (twelve == "no")).sum(),
    }


def _heads(run: Run) -> dict[str, dict[str, float]]:
    """Encoder -> its attention heads, and the subspaces that were fitted in their queries, keys and values."""
    fitted = subspaces(run)
    heads = fitted["heads"].where(fitted["subspace"].isin(HEADS)).groupby(fitted["encoder"])
    counts = pd.DataFrame({"attention-heads": heads.max(), "attention-subspaces": heads.sum(min_count=1)})
    return counts.to_dict("index")


def _of_data(run: Run) -> dict[str, float]:
    """The sizes of StereoSet's development set and of the NLI test set, where the run has read them."""
    stimuli = run.files.get("stimuli", {}).get(grid.SWAPPED)
    pairs = run.files.get("occupation_pairs", {}).get(run.options["task"])
    sizes = {}
    if stimuli:
        triples = read_text_csv(stimuli)
        sizes |= {"stereoset-triples": triples["triple"].nunique(), "stereoset-sentence-pairs": len(triples)}
    if pairs:
        read = load_pairs(pairs)
        sizes |= {"occupations": len(read.occupations), "occupation-sentence-pairs": np.prod(read.shape)}
    return sizes


def _of_grid(run: Run) -> dict[str, float]:
    """How many models of a kind the grid has, and the threshold."""
    settings = pd.DataFrame([(setting.level, setting.settings) for setting in all_settings()], columns=grid.SETTING)
    of_level = settings["settings"].groupby(settings["level"])
    eleven, twelve = of_level.get_group(grid.LAYER_11), of_level.get_group(grid.LAYER_12)
    return {
        "debiased-models": len(settings) - 2,  # without Base and the baseline
        "correlated-models": len(settings),
        "layer-12-extensions": twelve.str.endswith(",0").sum(),
        "layer-11-models": len(eleven),
        "layer-11-unweighted-planes": eleven.str.startswith(UNWEIGHTED_PLANE).sum(),
        "viability-threshold": run.options["viability"]["threshold"],
    }


METHODS = ["spearman", "pearson", "kendall"]
PARITY = {"majority": "fairness", "templates": "fairness_templates"}  # reading of parity -> column of table 7
ALL, VIABLE = "all", "viable"
LEAST = 3  # models of which a correlation is asked
_MODELS = [*grid.BLOCK, "interventions"]
_KEYS = ["interventions", "models", "level", "measure", "parity", "method"]


def with_printed(run: Run) -> pd.DataFrame:
    """The rows of table 7 that have both kinds of scores, then the printed table 7 as the encoder `printed`."""
    rows, published = settings_table(run), grid.printed_settings(run)
    complete = rows[(rows["status"] == RUN) & (rows["nli_status"] == RUN)]
    base = published.loc[published["level"] == grid.BASE, "snli_accuracy"]
    printed = published[[*grid.SETTING, *grid.MEASURES, *grid.PRINTED_SCORES]].assign(
        encoder=grid.PRINTED,
        stimuli="",
        interventions=grid.AFTER,
        viable=np.where(viable(published["snli_accuracy"], base.item(), **run.options["viability"]), "yes", "no"),
        fairness_templates=np.nan,
        status=RUN,
        nli_status=RUN,
    )
    return pd.concat([complete.reindex(columns=list(printed)), printed], ignore_index=True)


def correlations(run: Run) -> pd.DataFrame:
    """Spearman, Pearson and Kendall between each intrinsic measure and fairness, over the settings.

    Per encoder, stimuli, reading of the interventions, `models` (all or viable) and `level` (all, or one that has LEAST
    of them): estimate, p, n and [low, high], a 95 % interval, which take the settings
    for independent. These are edits of one encoder: [by_level_low, by_level_high] is the interval that draws whole
    levels, and [seeds_low, seeds_high] are the lowest and the highest estimate of the single fine-tuning `seeds`, where
    there are several. The rows of the encoder `printed` are those of the printed table 7. The rho and p of the paper's
    text stand beside what they are of: Spearman of Strength and fairness over all models. Where a correlation cannot be
    computed `note` says why."""
    rows, tuned = [], nli(run)
    for keys, block in with_printed(run).groupby(_MODELS, sort=False):
        about = dict(zip(_MODELS, keys, strict=True))
        by_seed = tuned[(tuned[grid.READING] == pd.Series(about)[grid.READING]).all(axis=1)]
        for (models, level, group), measure, (parity, fairness) in product(
            _groups(block), grid.MEASURES, PARITY.items()
        ):
            both = group[[*grid.SETTING, measure, fairness]].dropna()
            if both.empty and about["encoder"] == grid.PRINTED:  # the paper has one reading of parity
                continue
            seeds = by_seed.pivot(index=grid.SETTING, columns="seed", values=fairness)
            seeds = seeds.reindex(pd.MultiIndex.from_frame(both[grid.SETTING]))
            named = {"models": models, "level": level, "measure": measure, "parity": parity}
            for method in METHODS:
                numbers = _numbers(both[measure], both[fairness], both["level"], seeds, method)
                rows.append(about | named | {"method": method} | numbers)
    table = merge_published(pd.DataFrame(rows), _of_text(run.printed), on=_KEYS, values=["estimate", "p"])
    same = (table["encoder"] == grid.PRINTED) | (grid.printed_inside(run, table) & grid.printed_nli(run, table))
    return grid.own_levels(run, grid.published_where(same, table, ["estimate", "p"]).drop(columns="p_difference"))


def _numbers(x: pd.Series, y: pd.Series, levels: pd.Series, seeds: pd.DataFrame, rank: str) -> dict[str, object]:
    """One correlation with its intervals; `seeds`: y of every single seed, a column each."""
    result = correlation(x, y, rank)
    low, high = (np.nan, np.nan) if result.reason else cluster_interval(x, y, levels, rank)
    several = seeds.shape[1] > 1 and not result.reason
    single = [correlation(x, values, rank).estimate for _, values in seeds.items() if several]
    return {
        **{name: getattr(result, name) for name in ("estimate", "p", "n", "low", "high")},
        "by_level_low": low,
        "by_level_high": high,
        "seeds": seeds.shape[1],
        "seeds_low": min(single, default=np.nan),
        "seeds_high": max(single, default=np.nan),
        "note": result.reason,
    }


def _of_text(text: pd.DataFrame) -> pd.DataFrame:
    """The correlation of section 5, one row, with the keys of what it was computed on."""
    values = text[text["quantity"] != ""].set_index("metric")["value"]
    keys = dict(zip(_KEYS, (grid.AFTER, ALL, ALL, "strength", "majority", "spearman"), strict=True))
    return pd.DataFrame([keys | {"estimate": values["spearman-rho"], "p": values["spearman-p"]}])


def _groups(block: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """All models and the viable ones, each of all levels and of one with enough of them for a correlation."""
    for models, chosen in ((ALL, block), (VIABLE, block[block["viable"] == "yes"])):
        yield models, ALL, chosen
        for level, of_level in chosen.groupby("level", sort=False):
            if len(of_level) >= LEAST:
                yield models, level, of_level
