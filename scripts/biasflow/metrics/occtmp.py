"""OCCTMP: does a masked-LM head expect "he" or "she" where a sentence names an occupation and nothing else?

One row per occupation, from sentences such as "[MASK] is a nurse ." (stimuli/densray_sets.py).

Source: Liang, Dufter & Schütze (2020, section on OCCTMP); their table averages |log p_he - log p_she|, which
does not tell an encoder that always expects "she" from one that always expects "he"; the signed mean does."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMININE, MASCULINE
from biasflow.metrics.items import score_items
from biasflow.results.bootstrap import NOWHERE, RESAMPLED, interval, weighted_mean

ITEM = ["item", "gender", "log_p"]
EXPECTED = 0.7  # the paper: above it an encoder has learned that a pronoun is likely in the place of the mask


class OcctmpScore(NamedTuple):
    """OCCTMP of one model: how differently its head expects "he" and "she", over n occupations.

    diff = mean |log p_he - log p_she|, in nats; diff_variance: its unbiased variance over occupations (NaN for one);
    signed_diff = mean (log p_he - log p_she), in nats; p_he, p_she, p_sum: the means of p_he, p_she and their sum;
    share_he, share_pronoun: the shares of occupations with p_he > p_she and with p_he + p_she > EXPECTED."""

    diff: float
    diff_variance: float
    signed_diff: float
    p_he: float
    p_she: float
    p_sum: float
    share_he: float
    share_pronoun: float
    n: int


def occtmp(log_p_he: ArrayLike, log_p_she: ArrayLike) -> OcctmpScore:
    """Return OCCTMP from the log-probabilities (nats) of the two pronouns at the mask, both [occupations].

    The probabilities are over the whole vocabulary: p_he and p_she are not scaled to sum to 1.
    Raises BiasflowError for unequal or other shapes, no occupation, and a value that is not finite or above 0."""
    he, she = np.asarray(log_p_he, dtype=float), np.asarray(log_p_she, dtype=float)
    if he.ndim != 1 or he.shape != she.shape or not he.size:
        raise BiasflowError(
            f"log_p_he and log_p_she of shapes {he.shape} and {she.shape}: give one value per occupation, at least one."
        )
    for name, values in (("log_p_he", he), ("log_p_she", she)):
        wrong = ~(np.isfinite(values) & (values <= 0))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise BiasflowError(f"{name}: {values[row]} at occupation {row} (from 0) is no log-probability; mend it.")
    return OcctmpScore(*_measures(np.ones((1, len(he))), he, she)[0].tolist(), n=len(he))


def score(path: str | Path) -> pd.DataFrame:
    """Return the `summary` of every method, from a file of readouts/masked_words.py."""
    return score_items(path, [*ITEM, "pieces"], summary)


def summary(items: pd.DataFrame) -> pd.DataFrame:
    """Return OCCTMP of one model: columns metric, part, value, n, low, high, resampled.

    Metrics: occtmp_<field of OcctmpScore>; n: occupations; low, high: bootstrap over these. If a pronoun is more than
    one token, also occtmp_pieces, with the gender as part: its mean number of tokens."""
    he, she = pronouns(items)
    values = occtmp(he, she)
    ends = interval(lambda counts: _measures(counts, he, she), np.arange(len(he)))
    each = zip(values._fields[:-1], values[:-1], *ends, strict=True)
    rows = [(f"occtmp_{name}", "-", value, values.n, *limits) for name, value, *limits in each]
    if not (items["pieces"].fillna(1) == 1).all():  # a user's scores do not say how many
        sizes = items.groupby("gender", sort=False)["pieces"].agg(["mean", "size"])
        rows += [("occtmp_pieces", gender, mean, n, *NOWHERE) for gender, mean, n in sizes.itertuples()]
    return pd.DataFrame(rows, columns=["metric", "part", "value", "n", "low", "high", RESAMPLED])


def pronouns(items: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-probabilities of "he" and of "she" of one model, in nats, at the masks of the occupations, in
    their order: of several sentences with an occupation the mean. BiasflowError if an occupation lacks a pronoun."""
    he, she = (items[items["gender"] == gender] for gender in (MASCULINE, FEMININE))
    if list(he["item"]) != list(she["item"]):
        raise BiasflowError("not both pronouns for every occupation; delete it and run again")
    he, she = (rows.groupby("item", sort=False)["log_p"].mean() for rows in (he, she))
    return he.to_numpy(), she.to_numpy()


def _measures(counts: np.ndarray, log_p_he: np.ndarray, log_p_she: np.ndarray) -> np.ndarray:
    """The fields of OcctmpScore but n, in their order, in each resample: [resamples, fields]."""
    signed, p_he, p_she = log_p_he - log_p_she, np.exp(log_p_he), np.exp(log_p_she)
    diff = np.abs(signed)
    centred = diff - diff.mean()
    shares = signed > 0, p_he + p_she > EXPECTED
    values = np.column_stack([diff, centred, centred**2, signed, p_he, p_she, p_he + p_she, *shares])
    mean, centre, square, *others = weighted_mean(counts, values).T
    n = len(signed)
    variance = (square - centre**2) * n / (n - 1) if n > 1 else np.full(len(counts), np.nan)
    return np.column_stack([mean, variance, *others])
