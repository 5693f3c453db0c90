"""The targets made from a run for Liang, Dufter & Schütze (2020), whose captions paper.yaml has, and what the ledger
asks."""

from collections.abc import Iterator, Mapping

import pandas as pd

from biasflow.papers.frames import Run
from biasflow.papers.liang2020 import figures, tables
from biasflow.papers.liang2020.placed import NOTEBOOKS, PLACEMENT
from biasflow.papers.liang2020.placed import TABLES as OWN_TABLES
from biasflow.papers.printed import as_ours
from biasflow.results.scores import NA

TABLES = {
    "main": tables.main,
    "occtmp": tables.occtmp,
    "association": tables.association,
    "perplexity": tables.perplexity,
    "glue": tables.glue,
    "chinese": tables.chinese,
    "intrinsic": tables.intrinsic,
    "gender_share": tables.gender_share,
}
FIGURES = {
    "occtmp_by_layer": figures.occtmp_by_layer,
    "perplexity_by_layer": figures.perplexity_by_layer,
    "gender_shares": figures.gender_shares,
}
PAGES = {"sentences": figures.sentences}
_OCCTMP = ("diff", "diff_variance", "p_he", "p_she", "p_sum")


def ours(run: Run) -> pd.DataFrame:
    """Our values by the keys of the printed numbers."""
    table = pd.concat([block for source in (NOTEBOOKS, OWN_TABLES) for block in _ours(run, source)], ignore_index=True)
    return table.assign(stage=table["stage"].fillna(""))


def _ours(run: Run, source: str) -> Iterator[pd.DataFrame]:
    keys = {key: key for key in PLACEMENT}
    metrics = {name: f"occtmp_{name}" for name in _OCCTMP}
    yield as_ours(tables.occtmp(run, source), metrics, keys | {"dataset": "set"}, everywhere=True).assign(variant=NA)
    tests = tables.association(run, source)
    for test in ("weat", "seat"):
        metrics = {name: f"{test}_{name}" for name in ("effect_size", "p_value")}
        yield as_ours(tests, metrics, keys | {"dataset": "test", "variant": "pooling"}, everywhere=True)
    texts, keys = tables.perplexity(run, source), keys | {"dataset": "text", "stage": "stage"}
    rows = as_ours(texts, {"batch_perplexity": "perplexity"}, keys, n="perplexity_seeds", everywhere=True)
    yield rows.assign(variant="released")


def other_data(run: Run) -> Mapping[str, str]:
    """Why numbers are not comparable, which only those of GLUE may be: words, tests and texts go by their names, each
    of which is one file; others have no printed number."""
    return {"glue": "the paper does not say which metric of the task its table of GLUE has"}
