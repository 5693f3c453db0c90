"""Does less bias inside mean less bias outside? Dawkins et al. (2024, sec. 5): no (rho 0.040, p 0.73, 76 models)."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.papers.dawkins2024.rows import (
    AFTER,
    BLOCK,
    MEASURES,
    PRINTED,
    PRINTED_SCORES,
    SETTING,
    printed_inside,
    printed_nli,
    published_where,
)
from scripts.biasflow.papers.dawkins2024.table7 import table7, viable_settings
from scripts.biasflow.papers.frames import RUN, Run
from scripts.biasflow.results.statistics import correlation
from scripts.biasflow.results.tables import merge_published

METHODS = ["spearman", "pearson", "kendall"]
PARITY = {"majority": "fairness", "templates": "fairness_templates"}  # reading of parity -> column of table 7
ALL, VIABLE = "all", "viable"
_MODELS = [*BLOCK, "interventions"]
_KEYS = ["interventions", "models", "measure", "parity", "method"]


def with_printed(run: Run) -> pd.DataFrame:
    """The rows of table 7 that have both kinds of scores, then the printed table 7 as the encoder `printed`."""
    rows, published = table7(run), run.published("table7")
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


def correlations(run: Run, *, resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Spearman, Pearson and Kendall between each intrinsic measure and fairness, over the settings.

    Per encoder, stimuli, reading of the interventions, and `models`: all, a level of three settings or more, or the
    viable ones; with p, n and a seeded 95 % bootstrap interval of `resamples`. The rows of the encoder `printed` are
    those of the printed table 7. The rho and p of the paper's text stand beside what they are of: Spearman of Strength
    and fairness over all models. Where a correlation cannot be computed `note` says why."""
    found = []
    for keys, block in with_printed(run).groupby(_MODELS, sort=False):
        for (models, own), measure, (parity, fairness) in product(_groups(block), MEASURES, PARITY.items()):
            both = own[[measure, fairness]].dropna()
            if both.empty and keys[0] == PRINTED:  # the paper has one reading of parity
                continue
            named = {"models": models, "measure": measure, "parity": parity}
            for method in METHODS:
                one = correlation(both[measure], both[fairness], method, resamples=resamples, seed=seed)
                row = dict(zip(_MODELS, keys, strict=True)) | named | {"method": method}
                row |= {name: getattr(one, name) for name in ("estimate", "p", "low", "high", "n")}
                found.append(row | {"note": one.reason})
    table = merge_published(pd.DataFrame(found), _of_text(run.published("text")), on=_KEYS, values=["estimate", "p"])
    same = (table["encoder"] == PRINTED) | (printed_inside(run, table) & printed_nli(run, table))
    return published_where(same, table, ["estimate", "p"]).drop(columns="p_difference")


def _of_text(text: pd.DataFrame) -> pd.DataFrame:
    """The correlation of section 5, one row, with the keys of what it was computed on."""
    values = text.set_index("id")["value"]
    missing = [name for name in ("spearman-rho", "spearman-p") if name not in values]
    if missing:
        raise BiasflowError(f"the numbers of the paper's text have no row {missing[0]!r}; add it to text.csv")
    keys = dict(zip(_KEYS, (AFTER, ALL, "strength", "majority", "spearman"), strict=True))
    return pd.DataFrame([keys | {"estimate": values["spearman-rho"], "p": values["spearman-p"]}])


def _groups(block: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """All models, each level with enough of them for a correlation, and the viable ones."""
    yield ALL, block
    for level, own in block.groupby("level", sort=False):
        if len(own) > 2:
            yield level, own
    yield VIABLE, block[block["viable"] == "yes"]
