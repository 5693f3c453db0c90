"""Pseudo-perplexity of sentences: every token is masked by itself, and the model sees all others.

Source: Salazar et al. (2020)."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError
from biasflow.metrics.perplexity import checked_losses, exp, paired_change, ratio_interval
from biasflow.readouts.files import METHOD, load_table
from biasflow.results.scores import NONE


def pseudo_perplexity(log_likelihoods: ArrayLike, tokens: ArrayLike) -> float:
    """Return the pseudo-perplexity of a corpus, at least 1: PPPL = exp(-sum of PLL / sum of tokens).

    log_likelihoods [sentences], nats, at most 0: the sum over a sentence's tokens of log p(token | the others);
    tokens [sentences], how many each has. Raises BiasflowError for unequal shapes, no sentence, a likelihood that is
    positive or not finite, and a sentence of no tokens."""
    losses = checked_losses(-np.asarray(log_likelihoods, dtype=float))
    tokens = np.asarray(tokens)
    if tokens.shape != losses.shape or not (tokens >= 1).all():
        raise BiasflowError(f"tokens: give a number of at least 1 for each of the {len(losses)} sentences.")
    return exp(losses.sum() / tokens.sum())


def score(path: str | Path) -> pd.DataFrame:
    """Return `pseudo_perplexity` under every method, from a file of readouts/likelihoods.py.

    Columns method, setting, metric (pseudo_perplexity), value, n (sentences), low, high (bootstrap over these). If the
    file has the untouched model, methods also have rows of the metric pseudo_perplexity_change (`paired_change`)."""
    rows = []
    table = load_table(path, ["log_likelihood", "tokens"])
    untouched = table[table["method"] == NONE]
    for method, part in table.groupby(METHOD, sort=False):
        likelihoods, tokens = part["log_likelihood"].to_numpy(float), part["tokens"].to_numpy()
        ends = ratio_interval(-likelihoods, tokens)
        rows.append((*method, "pseudo_perplexity", pseudo_perplexity(likelihoods, tokens), len(part), *ends))
        if method[0] != NONE and np.array_equal(tokens, untouched["tokens"]):
            value, *ends = paired_change(-likelihoods, tokens, -untouched["log_likelihood"].to_numpy(float))
            rows.append((*method, "pseudo_perplexity_change", value, len(part), *ends))
    return pd.DataFrame(rows, columns=[*METHOD, "metric", "value", "n", "low", "high"])
