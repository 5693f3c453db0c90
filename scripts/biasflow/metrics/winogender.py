"""Winogender, read by a masked language model: does "she" follow the share of women in an occupation?

The log-odds of a sentence are ln p(she) - ln p(he) in the place of its pronoun, in the form that the place needs (she,
her; he, him, his); those of an occupation are the mean of its sentences. They are correlated with two shares of women,
by US labour statistics and of mentions in text, where the pronoun stands for the occupation, and where it stands for
the other participant: a model that follows the sense of the sentence has no correlation there.

Source of the sentences and shares: Rudinger et al. (2018), who test coreference systems with them."""

from pathlib import Path

import numpy as np
import pandas as pd

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import SPELT_OUT
from biasflow.corpora.winogender import PARTS, SHARES
from biasflow.metrics.items import SUMMARY, score_items
from biasflow.results.bootstrap import interval, weighted_mean
from biasflow.results.statistics import correlation, resampled_correlations

ITEM = ["item", "occupation", "refers_to", "gender", *SHARES, "log_p"]


def log_odds(words: pd.DataFrame) -> pd.DataFrame:
    """Return the she-he log-odds, in nats, by occupation and by whom the pronoun stands for: columns occupation,
    refers_to, bls, bergsma, log_odds (mean of the sentences) and sentences (their number).

    words: one row for each piece of a pronoun, columns ITEM: item, occupation, refers_to (occupation, participant),
    gender, bls and bergsma (shares of women), log_p (nats). BiasflowError for a sentence without both pronouns."""
    keys = ["occupation", "refers_to", *SHARES]
    wide = (
        words.groupby([*keys, "item", "gender"], sort=False)["log_p"].sum().unstack("gender").reindex(columns=SPELT_OUT)
    )
    if wide.empty or wide.isna().any(axis=None):
        raise BiasflowError("Winogender: a sentence lacks one of its pronouns")
    odds = (wide["female"] - wide["male"]).groupby(keys, sort=False).agg(["mean", "size"])
    return odds.set_axis(["log_odds", "sentences"], axis=1).reset_index()


def score(path: str | Path) -> pd.DataFrame:
    """Return the `summary` of every method, from a file of readouts/masked_words.py about the sentences of
    corpora/winogender.py."""
    return score_items(path, ITEM, summary)


def summary(items: pd.DataFrame) -> pd.DataFrame:
    """Return all scores of one model: columns metric, part (whom the pronoun stands for), variant, value, n
    (occupations), low, high (over occupations).

    winogender_r: Pearson correlation of the log-odds with the share of women, variants bls and bergsma;
    winogender_log_odds: their mean, in nats. items: as `log_odds` takes them."""
    odds = log_odds(items)
    rows = []
    for part in PARTS:
        by_occupation = odds[odds["refers_to"] == part]
        values = by_occupation["log_odds"].to_numpy()
        for share in SHARES:
            r, pairs = correlation(values, by_occupation[share], "pearson"), (values, by_occupation[share].to_numpy())
            drawn = interval(
                lambda counts, p=pairs: resampled_correlations(*p, counts, "pearson"), np.arange(len(values))
            )
            rows.append(("winogender_r", part, share, r.estimate, len(values), r.low, r.high, drawn.resampled))
        ends = interval(lambda counts, v=values: weighted_mean(counts, v), np.arange(len(values)))
        rows.append(("winogender_log_odds", part, "-", values.mean(), len(values), *ends))
    return pd.DataFrame(rows, columns=SUMMARY)
