"""StereoSet's inter-sentence test: does the stereotype, the anti-stereotype or an unrelated sentence follow a context?
The scores are those of metrics/intrasentence.py, of whole sentences in place of words.

Variants: "terms", the mean over target terms, as released, and "items", the plain share of triples.

Source: Nadeem et al. (2021) and their released code, which ranks by a next-sentence head of its own where a model has
none."""

from pathlib import Path

import pandas as pd

from biasflow.metrics import intrasentence
from biasflow.metrics.items import score_items

ITEM = ["item", "target", "label", "p"]
VARIANTS = {"given-terms": "terms", "given-items": "items"}


def score(path: str | Path) -> pd.DataFrame:
    """Return the `summary` of every method, from a file of readouts/next_sentence.py about StereoSet's own triples."""
    return score_items(path, ITEM, summary)


def summary(items: pd.DataFrame) -> pd.DataFrame:
    """Return intersentence_stereotype_score, _language_model_score and _icat of one model in both VARIANTS: columns
    metric, part, variant, value, n (triples), low, high (bootstrap over triples).

    items: a row for each sentence, columns ITEM: item, target (its term), label, p (on any scale on which likelier is
    more). BiasflowError: an item without its three sentences, or a value that is not finite."""
    table = intrasentence.summary(items.rename(columns={"p": "log_p"}).assign(filling="given"))
    names = table["metric"].str.replace("intrasentence", "intersentence")
    return table.assign(metric=names, variant=table["variant"].map(VARIANTS))
