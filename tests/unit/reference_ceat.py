"""CEAT draw by draw and word by word, as one writes it first: what the vectorised form must equal and beat.

Cosines from scikit-learn, one call per word and attribute set; effect size and variance as released."""

import numpy as np
import torch
from sklearn.metrics.pairwise import cosine_similarity

from biasflow.readouts.word_contexts import by_word, word_batches


@torch.inference_mode()
def word_vectors(model, tokenizer, contexts, *, batch_size=64):
    """The vectors of the occurrences by word: [n, d], rows as in `contexts`."""
    found = np.empty((len(contexts), model.config.hidden_size), dtype=np.float32)
    for rows, states in word_batches(lambda forward: forward(), model, tokenizer, contexts, batch_size=batch_size):
        found[rows] = states.numpy()
    return by_word(contexts, found)


def association(word, A, B):
    return cosine_similarity([word], A).mean() - cosine_similarity([word], B).mean()


def effect_size(X, Y, A, B, ddof=1):
    """ES and V of one draw; each set [words, d]."""
    in_x = [association(word, A, B) for word in X]
    in_y = [association(word, A, B) for word in Y]
    std = np.std(in_x + in_y, ddof=ddof)
    return (np.mean(in_x) - np.mean(in_y)) / std, std**2


def one_by_one(X, Y, A, B, *, draws, seed, ddof=1):
    """(effects [draws], variances [draws]), with the occurrences that `draw_effects` chooses for the same seed."""
    words = [*X, *Y, *A, *B]
    chosen = np.random.default_rng(seed).integers(0, [len(word) for word in words], size=(draws, len(words)))
    ends = np.cumsum([len(X), len(Y), len(A)])
    effects, variances = [], []
    for row in chosen:
        vectors = [word[i] for word, i in zip(words, row, strict=True)]
        sets = [vectors[start:end] for start, end in zip([0, *ends], [*ends, None], strict=True)]
        effect, variance = effect_size(*sets, ddof=ddof)
        effects.append(effect)
        variances.append(variance)
    return np.array(effects), np.array(variances)
