"""Does less bias inside mean less bias outside? Dawkins et al. (2024, sec. 5): no (rho 0.040, p 0.73, 76 models)."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from biasflow.papers.dawkins2024.rows import (
    AFTER,
    BLOCK,
    MEASURES,
    PRINTED,
    PRINTED_SCORES,
    READING,
    SETTING,
    nli,
    printed_inside,
    printed_nli,
    printed_settings,
    published_where,
)
from biasflow.papers.dawkins2024.table7 import table7, viable_settings
from biasflow.papers.frames import RUN, Run
from biasflow.results.statistics import cluster_interval, correlation
from biasflow.results.tables import merge_published

METHODS = ["spearman", "pearson", "kendall"]
PARITY = {"majority": "fairness", "templates": "fairness_templates"}  # reading of parity -> column of table 7
ALL, VIABLE = "all", "viable"
LEAST = 3  # models of which a correlation is asked
_MODELS = [*BLOCK, "interventions"]
_KEYS = ["interventions", "models", "level", "measure", "parity", "method"]


def with_printed(run: Run) -> pd.DataFrame:
    """The rows of table 7 that have both kinds of scores, then the printed table 7 as the encoder `printed`."""
    rows, published = table7(run), printed_settings(run)
    complete = rows[(rows["status"] == RUN) & (rows["nli_status"] == RUN)]
    printed = published[[*SETTING, *MEASURES, *PRINTED_SCORES]].assign(
        encoder=PRINTED,
        stimuli="",
        interventions=AFTER,
        viable=np.where(viable_settings(published, **run.options["viability"]), "yes", "no"),
        fairness_templates=np.nan,
        status=RUN,
        nli_status=RUN,
    )
    if complete.empty:
        return printed
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
        by_seed = tuned[(tuned[READING] == pd.Series(about)[READING]).all(axis=1)]
        for (models, level, group), measure, (parity, fairness) in product(_groups(block), MEASURES, PARITY.items()):
            both = group[[*SETTING, measure, fairness]].dropna()
            if both.empty and about["encoder"] == PRINTED:  # the paper has one reading of parity
                continue
            seeds = by_seed.pivot(index=SETTING, columns="seed", values=fairness)
            seeds = seeds.reindex(pd.MultiIndex.from_frame(both[SETTING]))
            named = {"models": models, "level": level, "measure": measure, "parity": parity}
            for method in METHODS:
                numbers = _numbers(both[measure], both[fairness], both["level"], seeds, method)
                rows.append(about | named | {"method": method} | numbers)
    table = merge_published(pd.DataFrame(rows), _of_text(run.printed), on=_KEYS, values=["estimate", "p"])
    same = (table["encoder"] == PRINTED) | (printed_inside(run, table) & printed_nli(run, table))
    return published_where(same, table, ["estimate", "p"]).drop(columns="p_difference")


def _numbers(x: pd.Series, y: pd.Series, levels: pd.Series, seeds: pd.DataFrame, rank: str) -> dict[str, object]:
    """One correlation with its intervals; `seeds`: y of every single seed, a column each."""
    result = correlation(x, y, rank)
    low, high = (np.nan, np.nan) if result.reason else cluster_interval(x, y, levels, rank)
    several = seeds.shape[1] > 1 and not result.reason
    single = [correlation(x, values, rank).estimate for _, values in seeds.items() if several]
    return {
        "estimate": result.estimate,
        "p": result.p,
        "n": result.n,
        "low": result.low,
        "high": result.high,
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
    keys = dict(zip(_KEYS, (AFTER, ALL, ALL, "strength", "majority", "spearman"), strict=True))
    return pd.DataFrame([keys | {"estimate": values["spearman-rho"], "p": values["spearman-p"]}])


def _groups(block: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """All models and the viable ones, each of all levels and of one with enough of them for a correlation."""
    for models, chosen in ((ALL, block), (VIABLE, block[block["viable"] == "yes"])):
        yield models, ALL, chosen
        for level, of_level in chosen.groupby("level", sort=False):
            if len(of_level) >= LEAST:
                yield models, level, of_level
