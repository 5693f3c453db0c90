"""The numbers that the text of Dawkins et al. (2024) prints, counted and computed in our run."""

import numpy as np
import pandas as pd

from biasflow.base.tabular import read_text_csv
from biasflow.methods.grid import ATTENTION as HEADS
from biasflow.methods.grid import all_settings
from biasflow.papers.dawkins2024.downstream import weighting_pairs
from biasflow.papers.dawkins2024.examples import SWAPPED
from biasflow.papers.dawkins2024.rows import (
    AFTER,
    ATTENTION,
    BASE,
    BLOCK,
    INSIDE,
    LAYER_11,
    LAYER_12,
    NLI,
    SETTING,
    not_run,
    printed_inside,
    printed_nli,
    published_where,
)
from biasflow.papers.dawkins2024.table7 import table7
from biasflow.papers.dawkins2024.tables import subspaces
from biasflow.papers.frames import NOT_ASKED, RUN, Run, status
from biasflow.results.statistics import correlation
from biasflow.results.tables import merge_published
from biasflow.text.occupation_pairs import load_pairs

# What a number is of (the column `of` of the printed numbers).
ON_STIMULI, ON_SNLI, ON_NLI, ON_BOTH, OF_ENCODER = "stimuli", "snli", "nli", "stimuli nli", "encoder"
UNWEIGHTED_PLANE = "0,1"  # n = 0, c = 1: two dimensions without information weighting
_UNITS = {"percent": 100}


def text(run: Run) -> pd.DataFrame:
    """Return a row per number of the text, encoder and stimuli ("" for numbers of the data or the grid alone).

    Counts, shares or percents, as printed (`unit`); models are viable as in table 7, and the best layer-11 model is the
    viable one with the largest fairness. Empty where the run has nothing of it, with the reason as `status`."""
    published, rows = run.printed[run.printed["quantity"] != ""], []
    published = published.rename(columns={"metric": "id", "table": "where"})
    units = published.set_index("id")["unit"].map(_UNITS).fillna(1)
    blocks = table7(run)
    heads = _heads(run)
    for key, block in blocks[blocks["interventions"] == AFTER].groupby(BLOCK, sort=False):
        values = _of_models(block) | heads.get(key[0], {})
        rows += [(*key, *value) for value in values.items()]
    rows += [("", "", *value) for value in (_of_data(run) | _of_grid(run)).items()]
    table = pd.DataFrame(rows, columns=[*BLOCK, "id", "value"])
    about = published[["id", "where", "quantity", "unit", "of"]]
    table = about.merge(table.assign(value=table["value"] * table["id"].map(units)), on="id", validate="one_to_many")
    missing = [_why(run, *row) for row in table[["encoder", "of"]].itertuples(index=False, name=None)]
    table["status"] = np.where(table["value"].isna(), missing, RUN)
    table = merge_published(table, published, on=["id"], values=["value"])
    inside, nli = printed_inside(run, table), printed_nli(run, table)
    same = {ON_STIMULI: inside, ON_SNLI: nli, ON_NLI: nli, ON_BOTH: inside & nli}
    same[OF_ENCODER] = printed_inside(run, table.assign(stimuli=""))
    shown = pd.Series([data not in same or same[data][place] for place, data in table["of"].items()], index=table.index)
    return published_where(shown, table, ["value"]).drop(columns="of")


def _why(run: Run, encoder: str, data: str) -> str:
    return not_run(run, encoder, INSIDE if data in (ON_STIMULI, OF_ENCODER) else NLI) if encoder else status(NOT_ASKED)


def _of_models(block: pd.DataFrame) -> dict[str, float]:
    """The numbers of one encoder's table 7."""
    indexed = block.set_index(SETTING)
    eleven = indexed.loc[LAYER_11]
    viable = eleven[eleven["viable"] == "yes"]
    models = {"base": indexed.loc[(BASE, "")]}
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
    counts = dict.fromkeys(("attention-improved", "attention-not-improved", "weighting-improved"), np.nan)
    counts |= dict.fromkeys(("layer-12-weighted-viable", "layer-12-unweighted-unviable"), np.nan)
    if indexed["strength"].notna().any():
        improved = indexed.loc[ATTENTION, "strength"] < indexed.loc[LAYER_11, "strength"]
        counts |= {"attention-improved": improved.sum(), "attention-not-improved": (~improved).sum()}
    if indexed["snli_accuracy"].notna().any():
        pairs, twelve = weighting_pairs(indexed["snli_accuracy"]), indexed.loc[LAYER_12, "viable"]
        weighted = twelve.index.str.endswith(",1")
        counts["weighting-improved"] = (pairs["np1"] > pairs["np0"]).sum()
        counts["layer-12-weighted-viable"] = (weighted & (twelve == "yes")).sum()
        counts["layer-12-unweighted-unviable"] = (~weighted & (twelve == "no")).sum()
    return counts


def _heads(run: Run) -> dict[str, dict[str, float]]:
    """Encoder -> its attention heads, and the subspaces that were fitted in their queries, keys and values."""
    fitted = subspaces(run)
    heads = fitted["heads"].where(fitted["subspace"].isin(HEADS)).groupby(fitted["encoder"])
    counts = pd.DataFrame({"attention-heads": heads.max(), "attention-subspaces": heads.sum(min_count=1)})
    return counts.to_dict("index")


def _of_data(run: Run) -> dict[str, float]:
    """The sizes of StereoSet's development set and of the NLI test set, where the run has read them."""
    stimuli = run.files.get("stimuli", {}).get(SWAPPED)
    pairs = run.files.get("occupation_pairs", {}).get(run.options["task"])
    triples, occupations = stimuli and read_text_csv(stimuli), pairs and load_pairs(pairs)
    sizes = (
        triples["triple"].nunique() if stimuli else np.nan,
        len(triples) if stimuli else np.nan,
        len(occupations.occupations) if pairs else np.nan,
        np.prod(occupations.shape) if pairs else np.nan,
    )
    names = ("stereoset-triples", "stereoset-sentence-pairs", "occupations", "occupation-sentence-pairs")
    return dict(zip(names, sizes, strict=True))


def _of_grid(run: Run) -> dict[str, float]:
    """How many models of a kind the grid has, and the threshold."""
    settings = pd.DataFrame([(setting.level, setting.settings) for setting in all_settings()], columns=SETTING)
    of_level = settings["settings"].groupby(settings["level"])
    eleven, twelve = of_level.get_group(LAYER_11), of_level.get_group(LAYER_12)
    return {
        "debiased-models": len(settings) - 2,  # without Base and the baseline
        "correlated-models": len(settings),
        "layer-12-extensions": twelve.str.endswith(",0").sum(),
        "layer-11-models": len(eleven),
        "layer-11-unweighted-planes": eleven.str.startswith(UNWEIGHTED_PLANE).sum(),
        "viability-threshold": run.options["viability"]["threshold"],
    }
