"""Ranked lists of anybody's search engine: which gender they show first, and how neutral the first documents are.

Sources: Singh and Joachims (2018; exposure), Rekabsaz et al. (2021; NFaiRR)."""

from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.metrics.items import SUMMARY, score_items
from biasflow.metrics.rankings import exposure_gap, exposures, in_first, neutrality, nfairr, ranks, top_share
from biasflow.metrics.retrieval import mean_row

DEPTHS = {"all": None, "10": 10, "50": 50}
COLUMNS = ["query", "document", "score", "gender", "masculine", "feminine"]


def score(path: str | Path) -> pd.DataFrame:
    """Return the `summary` of the lists in a file of readouts/external_rankings.py."""
    return score_items(path, COLUMNS, summary)


def summary(items: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of lists, means over queries with a bootstrap over them: columns SUMMARY; n: queries.

    Among all documents, the first 10 or 50 (part), variant "lists":
    exposure_gap     `rankings.exposure_gap` of the documents with a gender
    list_share       `rankings.top_share` of them, less the share of women among all of the list (neutral 0)
    nfairr           `rankings.nfairr`, of the documents with a text; 1: no fairer order of the same documents

    items: a row a document of a list, columns COLUMNS. A query without documents of both genders has no gap."""
    values: dict[tuple[str, str], list[float]] = {}
    for _, table in items.groupby("query", sort=False):
        places, known = ranks(table["score"].to_numpy()), (table["gender"] != "").to_numpy()
        is_woman = (table["gender"] == "F").to_numpy()[known]
        of_women = is_woman.mean() if len(is_woman) else np.nan
        neutral, has_text = neutrality(table["masculine"], table["feminine"]), table["masculine"].notna().to_numpy()
        of_texts = ranks(table["score"].to_numpy()[has_text]) if has_text.any() else None
        for part, k in DEPTHS.items():
            scores = {"exposure_gap": exposure_gap(exposures(places, k)[known], is_woman)}
            if k:
                scores["list_share"] = top_share(in_first(places, k)[known], is_woman) - of_women
            scores["nfairr"] = nfairr(exposures(of_texts, k), neutral[has_text], k) if of_texts else np.nan
            for name, value in scores.items():
                values.setdefault((name, part), []).append(float(value))
    rows = [mean_row(name, part, "lists", np.array(of_queries)) for (name, part), of_queries in values.items()]
    return pd.DataFrame([row for row in rows if row[4]], columns=SUMMARY)
