"""OCCTMP: does a masked-LM head expect "he" or "she" where a sentence names an occupation and nothing else?

One row per occupation, from sentences such as "[MASK] is a nurse ." (stimuli/densray_sets.py).

Source: Liang, Dufter & Schütze (2020, section on OCCTMP); their table averages |log p_he - log p_she|, which
does not tell an encoder that always expects "she" from one that always expects "he"; the signed mean does."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError
from biasflow.base.genders import FEMININE, MASCULINE
from biasflow.readouts.files import METHOD, load_table
from biasflow.results.bootstrap import RESAMPLED, Interval, interval, weighted_mean

EXPECTED = 0.7  # the paper: above it an encoder has learned that a pronoun is likely in the place of the mask


@dataclass(frozen=True)
class OcctmpScore:
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
    """Return OCCTMP under every method, from a file of readouts/masked_words.py.

    Columns method, setting, metric, part, value, n, low, high, resampled. Metrics: occtmp_<field of OcctmpScore>; n:
    occupations; low, high: bootstrap over these. If a pronoun is more than one token, also occtmp_pieces, with the
    gender as part: its mean number of tokens."""
    rows = []
    for read in pronouns(path):
        log_p = read.log_p_he, read.log_p_she
        values, limits = asdict(occtmp(*log_p)), intervals(*log_p)
        n = values.pop("n")
        rows += [(*read.method, f"occtmp_{name}", "-", value, n, *limits[name]) for name, value in values.items()]
    columns = [*METHOD, "metric", "part", "value", "n", "low", "high", RESAMPLED]
    return pd.concat([pd.DataFrame(rows, columns=columns), _pieces(path)], ignore_index=True)


def _pieces(path: str | Path) -> pd.DataFrame:
    """Rows of `score` with the mean number of tokens of the pronouns; no row if all are one token."""
    table = load_table(path, ["gender", "pieces"])
    if (table["pieces"].fillna(1) == 1).all():  # a user's scores do not say how many
        return pd.DataFrame()
    sizes = table.groupby([*METHOD, "gender"], sort=False)["pieces"].agg(["mean", "size"]).reset_index()
    return sizes.set_axis([*METHOD, "part", "value", "n"], axis=1).assign(metric="occtmp_pieces")


def intervals(log_p_he: np.ndarray, log_p_she: np.ndarray) -> dict[str, Interval]:
    """Return field of OcctmpScore -> its 95 % bootstrap interval over occupations; arguments as of `occtmp`."""
    ends = interval(lambda counts: _measures(counts, log_p_he, log_p_she), np.arange(len(log_p_he)))
    names = [one.name for one in fields(OcctmpScore)][:-1]
    return dict(zip(names, map(Interval, *ends), strict=True))


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


class Pronouns(NamedTuple):
    """The log-probabilities of both pronouns, in nats, at the masks of the occupations, under (method, setting)."""

    method: tuple[str, str]
    occupations: list[str]
    log_p_he: np.ndarray
    log_p_she: np.ndarray


def pronouns(path: str | Path) -> Iterator[Pronouns]:
    """Yield the log-probabilities of "he" and "she" for each method and setting in a file of readouts/masked_words.py.

    BiasflowError names file, method and setting if an occupation lacks a pronoun."""
    table = load_table(path, ["item", "gender", "log_p"])
    for method, rows in table.groupby(METHOD, sort=False):
        he, she = (rows[rows["gender"] == gender] for gender in (MASCULINE, FEMININE))
        if list(he["item"]) != list(she["item"]):
            raise BiasflowError(
                f"{path}: {' '.join(method)}: not both pronouns for every occupation; delete it and run again"
            )
        yield Pronouns(method, list(he["item"]), he["log_p"].to_numpy(), she["log_p"].to_numpy())
