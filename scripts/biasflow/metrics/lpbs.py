"""LPBS: how much more does a profession raise the probability of feminine person words than of masculine ones?

The log-probability bias score of a profession is the mean of ln p(word | its place masked) - ln p(word | the profession
masked, too) over its sentences with feminine person words, minus the same over those with masculine ones. What a model
prefers without the profession, its prior, is taken out.

Source: Kurita et al. (2019), on the sentences of BEC-Pro (Bartl et al. 2020), which has the same association."""

from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.corpora.bec_pro import FEMALE, MALE
from biasflow.metrics.bec_pro import ITEM, associations
from biasflow.metrics.items import SUMMARY, score_items
from biasflow.results.bootstrap import interval


def score(path: str | Path) -> pd.DataFrame:
    """The `summary` of every method, from what readouts/masked_words.py wrote of the sentences of
    corpora/bec_pro.py."""
    return score_items(path, ITEM, summary)


def summary(items: pd.DataFrame) -> pd.DataFrame:
    """Return both scores of one model: columns metric, part, variant, value, n (professions), low, high (bootstrap over
    professions).

    lpbs, the mean of the professions' scores in nats: above 0 if professions raise feminine words more; lpbs_absolute,
    the mean of their absolute values. items: as `bec_pro.associations` takes them, which says what it refuses."""
    pairs = associations(items)
    of_profession = (pairs[FEMALE] - pairs[MALE]).groupby(pairs["profession"]).mean().to_numpy()
    rows = []
    for name, values in (("lpbs", of_profession), ("lpbs_absolute", np.abs(of_profession))):
        ends = interval(lambda counts, v=values: counts @ v / counts.sum(axis=1), np.arange(len(values)))
        rows.append((name, "-", "-", values.mean(), len(values), *ends))
    return pd.DataFrame(rows, columns=SUMMARY)
