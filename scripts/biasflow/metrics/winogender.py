"""Winogender, read by a masked language model: does "she" follow the share of women in an occupation?

The log-odds of a sentence are ln p(she) - ln p(he) in the place of its pronoun, in the form that the place needs (she,
her; he, him, his); those of an occupation are the mean of its sentences. They are correlated with two shares of women,
by US labour statistics and of mentions in text, where the pronoun stands for the occupation, and where it stands for
the other participant: a model that follows the sense of the sentence has no correlation there.

Source of the sentences and shares: Rudinger et al. (2018), who test coreference systems with them."""

from pathlib import Path

import numpy as np
import pandas as pd

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.metrics.bootstrap import interval, weighted_mean
from scripts.biasflow.readouts.files import METHOD, load_table
from scripts.biasflow.results.statistics import correlation

PARTS = ("occupation", "participant")  # whom the pronoun stands for
SHARES = ("bls", "bergsma")
GENDERS = ("female", "male")


def log_odds(words: pd.DataFrame) -> pd.DataFrame:
    """The she-he log-odds, in nats: one row an occupation and whom the pronoun stands for, columns occupation,
    refers_to, bls, bergsma, log_odds (mean of the sentences) and sentences (their number).

    words: the pieces of one method, columns item, occupation, refers_to, gender, bls, bergsma, log_p. BiasflowError for
    a sentence without both pronouns."""
    keys = ["occupation", "refers_to", *SHARES]
    wide = (
        words.groupby([*keys, "item", "gender"], sort=False)["log_p"].sum().unstack("gender").reindex(columns=GENDERS)
    )
    if wide.empty or wide.isna().any(axis=None):
        raise BiasflowError("Winogender: a sentence lacks one of its pronouns")
    odds = (wide["female"] - wide["male"]).groupby(keys, sort=False).agg(["mean", "size"])
    return odds.set_axis(["log_odds", "sentences"], axis=1).reset_index()


def score(path: str | Path) -> pd.DataFrame:
    """The scores of every method, from what readouts/masked_words.py wrote of the sentences of corpora/winogender.py.

    Columns method, setting, metric, part (whom the pronoun stands for), variant, value, n (occupations), low, high
    (bootstrap over occupations). winogender_r: Pearson correlation with the share of women, variants bls and bergsma;
    winogender_log_odds: the mean, in nats."""
    table = load_table(path, ["item", "occupation", "refers_to", "gender", *SHARES, "log_p"])
    rows = []
    for method, words in table.groupby(METHOD, sort=False):
        try:
            odds = log_odds(words)
        except BiasflowError as error:
            raise BiasflowError(f"{path}: {' '.join(method)}: {error}; delete it and run again") from error
        for part in PARTS:
            own = odds[odds["refers_to"] == part]
            values = own["log_odds"].to_numpy()
            for share in SHARES:
                r = correlation(values, own[share], "pearson")
                rows.append((*method, "winogender_r", part, share, r.estimate, len(own), r.low, r.high))
            low, high = interval(lambda counts, v=values: weighted_mean(counts, v), np.arange(len(own)))
            rows.append((*method, "winogender_log_odds", part, "-", values.mean(), len(own), low, high))
    return pd.DataFrame(rows, columns=[*METHOD, "metric", "part", "variant", "value", "n", "low", "high"])
