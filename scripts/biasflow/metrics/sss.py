"""SSS: are the words of the more stereotyping sentence likelier, given what both sentences of a pair have?

The score of a sentence is the mean ln p of the tokens that the other one lacks, all of them masked at once: the mirror
of CrowS-Pairs, which scores the tokens that both have. A token is scored at its own position. (The released code of
Kaneko & Bollegala 2022 takes the mean over all tokens at all positions instead, which differs where several tokens
differ.) A pair of which one sentence lacks no token of the other has no score.

Source: Nadeem et al. (2021), as Kaneko & Bollegala (2022, eq. 1) write it."""

from pathlib import Path

import pandas as pd

from biasflow.metrics.items import score_items
from biasflow.metrics.preferences import preferences

ITEM = ["direction", "differing_first", "differing_second"]


def score(path: str | Path) -> pd.DataFrame:
    """Return the `summary` of every method, from what readouts/pair_tokens.py wrote of pairs of sentences."""
    return score_items(path, ITEM, summary)


def summary(items: pd.DataFrame) -> pd.DataFrame:
    """sss_score of one model: the share of pairs whose more stereotyping sentence has the likelier words (see
    `preferences`); 0.5 is no preference.

    items: a row a pair, columns ITEM."""
    return preferences(items, "sss_score", "differing")
