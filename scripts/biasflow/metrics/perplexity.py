"""Perplexity from the losses of a language model: pure functions on arrays.

A loss is -log p(token | what the model sees), in nats. What the model sees makes three measures that must not be mixed:
masked-LM perplexity (15 % of a text masked at once), its released form (a mean of batch means), and pseudo-perplexity
(each token masked by itself: `pseudo_perplexity`)."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError
from biasflow.metrics.items import SUMMARY, score_items
from biasflow.readouts.files import METHOD, load_table
from biasflow.results.bootstrap import RESAMPLED, Interval, interval

RELEASED_BATCH = 4  # blocks whose mean loss counts as one in the released form, whatever batch the model runs with


def perplexity(losses: ArrayLike) -> float:
    """Return exp(mean of the losses), at least 1: every scored token counts alike. losses [tokens], nats.

    Raises BiasflowError for no tokens, another shape, and a loss that is negative or not finite (a p of 0)."""
    return float(exp(checked_losses(losses).mean()))


def perplexity_of_batches(losses: ArrayLike, batch: ArrayLike) -> float:
    """Return exp(mean over batches of the mean loss of a batch): all batches count alike, whatever their size.

    losses [tokens], nats; batch [tokens], the whole number of each token's batch. The form of the script that Liang,
    Dufter & Schütze (2020) ran (transformers 2.8, run_language_modeling.py); it differs from `perplexity` where batches
    score different numbers of tokens. Errors as there."""
    losses, batch = checked_losses(losses), np.asarray(batch)
    return float(exp(_means(losses, batch)[0].mean()))


def pseudo_perplexity(log_likelihoods: ArrayLike, tokens: ArrayLike) -> float:
    """Return the pseudo-perplexity of a corpus, at least 1: PPPL = exp(-sum of PLL / sum of tokens).

    log_likelihoods [sentences], nats, at most 0: the sum over a sentence's tokens of log p(token | the others);
    tokens [sentences], how many each has. Raises BiasflowError for no sentence, and a likelihood that is positive or
    not finite."""
    losses = checked_losses(-np.asarray(log_likelihoods, dtype=float))
    tokens = np.asarray(tokens)
    return float(exp(losses.sum() / tokens.sum()))


def score(path: str | Path) -> pd.DataFrame:
    """Return both forms of perplexity under every method and mask seed, from a file of readouts/losses.py.

    Columns method, setting, readout_seed, metric (perplexity), variant ("-", or "released" for batches of
    RELEASED_BATCH blocks), value, n (scored tokens), low, high (bootstrap over blocks, of "released" over batches),
    resampled."""
    rows = []
    keys = [*METHOD, "readout_seed"]
    table = load_table(path, ["readout_seed", "block", "loss"])
    for key, part in table.groupby(keys, sort=False):
        losses, block = part["loss"].to_numpy(float), part["block"].to_numpy()
        batch, n = block // RELEASED_BATCH, len(losses)
        by_batch, sums = perplexity_of_batches(losses, batch), _sums(losses, block)
        rows += [
            (*key, "perplexity", "-", perplexity(losses), n, *ratio_interval(*sums)),
            (*key, "perplexity", "released", by_batch, n, *ratio_interval(*_means(losses, batch))),
        ]
    return pd.DataFrame(rows, columns=[*keys, "metric", "variant", "value", "n", "low", "high", RESAMPLED])


def score_pseudo_perplexity(path: str | Path, *, variant: str = "-") -> pd.DataFrame:
    """Pseudo-perplexity of sentences: every token is masked by itself, and the model sees all others.

    Returns `pseudo_perplexity` under every method, from a file of readouts/likelihoods.py: columns method, setting,
    metric (pseudo_perplexity), variant ("l2r" where the later tokens of a token's word are masked with it), value, n
    (sentences), low, high (bootstrap over these), resampled.

    Source: Salazar et al. (2020); of l2r Kauf and Ivanova (2023)."""

    def summary(items: pd.DataFrame) -> pd.DataFrame:
        pll, tokens = items["log_likelihood"].to_numpy(float), items["tokens"].to_numpy()
        value, ends = pseudo_perplexity(pll, tokens), ratio_interval(-pll, tokens)
        return pd.DataFrame([("pseudo_perplexity", "-", variant, value, len(items), *ends)], columns=SUMMARY)

    return score_items(path, ["log_likelihood", "tokens"], summary)


def ratio_interval(losses: np.ndarray, tokens: np.ndarray) -> Interval:
    """Return the 95 % bootstrap interval of exp(sum of losses / sum of tokens) over pieces of a text (blocks,
    sentences).

    losses [pieces]: summed over the tokens of each, nats; tokens [pieces]: how many these are. The tokens of a piece
    are not independent, so it is drawn whole."""
    means = interval(lambda counts: counts @ losses / (counts @ tokens), np.arange(len(losses)))
    return Interval(*map(exp, means))


def _sums(losses: np.ndarray, piece: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The summed loss and the number of tokens of each piece."""
    _, number = np.unique(piece, return_inverse=True)
    return np.bincount(number, weights=losses), np.bincount(number)


def _means(losses: np.ndarray, piece: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean loss of each piece, which counts as one token."""
    sums, tokens = _sums(losses, piece)
    return sums / tokens, np.ones(len(sums))


def checked_losses(losses: ArrayLike) -> np.ndarray:
    """Return the losses as float64 [tokens]; BiasflowError as in `perplexity`."""
    losses = np.asarray(losses, dtype=float)
    if losses.ndim != 1 or not losses.size:
        raise BiasflowError(f"losses of shape {losses.shape}: give one loss per scored token, at least one.")
    wrong = ~(np.isfinite(losses) & (losses >= 0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BiasflowError(f"losses: {losses[row]} at position {row} (from 0) is not -log p; mend the model's output.")
    return losses


def exp(loss: ArrayLike) -> np.ndarray:
    """Return exp(loss), [...], infinite where a float cannot hold it (a mean loss above 709 nats)."""
    with np.errstate(over="ignore"):
        return np.exp(loss)
