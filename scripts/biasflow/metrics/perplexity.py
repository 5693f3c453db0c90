"""Perplexity from the losses of a language model, pure functions on arrays.

A loss is -log p(token | what the model sees), in nats. What the model sees makes three measures that must not be mixed:
masked-LM perplexity (15 % of a text masked at once), its released form (a mean of batch means), and pseudo-perplexity
(each token masked by itself)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scripts.biasflow.base.errors import BiasflowError


@dataclass(frozen=True)
class Spread:
    """The mean of n values, one per mask seed, and their unbiased standard deviation (NaN for one value)."""

    mean: float
    deviation: float
    n: int


def perplexity(losses: ArrayLike) -> float:
    """exp(mean of the losses): every scored token counts alike. losses [tokens], nats; the result is at least 1.

    Raises BiasflowError for no tokens, another shape, and a loss that is negative or not finite (a p of 0)."""
    return _exp(_checked(losses).mean())


def perplexity_of_batches(losses: ArrayLike, batch: ArrayLike) -> float:
    """exp(mean over batches of the mean loss of a batch): every batch counts alike, however many tokens it scores.

    losses [tokens], nats; batch [tokens], the whole number of each token's batch. The form of the script that Liang,
    Dufter & Schütze (2020) ran (transformers 2.8, run_language_modeling.py); it differs from `perplexity` where batches
    score different numbers of tokens. Errors as there, and for batch numbers that are not one per token."""
    losses, batch = _checked(losses), np.asarray(batch)
    if batch.shape != losses.shape or batch.dtype.kind not in "iu":
        raise BiasflowError(
            f"batch numbers of shape {batch.shape} and type {batch.dtype}: give one whole number for each of the "
            f"{len(losses)} losses."
        )
    _, number = np.unique(batch, return_inverse=True)
    return _exp((np.bincount(number, weights=losses) / np.bincount(number)).mean())


def pseudo_perplexity(pseudo_log_likelihoods: ArrayLike, tokens: ArrayLike) -> float:
    """PPPL = exp(-sum of PLL / sum of tokens) (Salazar et al. 2020, pseudo-perplexity of a corpus).

    pseudo_log_likelihoods [sentences], nats, at most 0: the sum over a sentence's tokens of log p(token | the others);
    tokens [sentences], how many each has. Raises BiasflowError for unequal shapes, no sentence, a likelihood that is
    positive or not finite, and a sentence of no tokens."""
    losses = _checked(-np.asarray(pseudo_log_likelihoods, dtype=float))
    tokens = np.asarray(tokens)
    if tokens.shape != losses.shape or not (tokens >= 1).all():
        raise BiasflowError(f"tokens: give a number of at least 1 for each of the {len(losses)} sentences.")
    return _exp(losses.sum() / tokens.sum())


def spread(values: ArrayLike) -> Spread:
    """Mean and unbiased standard deviation of one value per mask seed; BiasflowError for none or one not finite."""
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise BiasflowError(f"perplexities {values.tolist()}: give a list of finite numbers, at least one.")
    return Spread(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else float("nan"), len(values))


def _checked(losses: ArrayLike) -> np.ndarray:
    losses = np.asarray(losses, dtype=float)
    if losses.ndim != 1 or not losses.size:
        raise BiasflowError(f"losses of shape {losses.shape}: give one loss per scored token, at least one.")
    wrong = ~(np.isfinite(losses) & (losses >= 0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BiasflowError(f"losses: {losses[row]} at position {row} (from 0) is not -log p; mend the model's output.")
    return losses


def _exp(loss: float) -> float:
    """exp, infinite where a float cannot hold it (a mean loss above 709 nats)."""
    with np.errstate(over="ignore"):
        return float(np.exp(loss))
