"""Cosines of words in randomly drawn contexts, which CEAT is computed from. Imports no torch.

Each draw picks one occurrence per word, independently and uniformly (Guo and Caliskan 2021)."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError

ROLES = ("X", "Y", "A", "B")
CHUNK_BYTES = 4 << 20  # vectors of the draws that are worked on together: what a processor's cache holds


def drawn_cosines(
    X: Sequence[ArrayLike],
    Y: Sequence[ArrayLike],
    A: Sequence[ArrayLike],
    B: Sequence[ArrayLike],
    *,
    draws: int,
    seed: int,
) -> np.ndarray:
    """Cosines of every word of X and Y with every word of A and B in each draw: float32 [draws, |X| + |Y|, |A| + |B|].

    X, Y, A, B: one array [occurrences, d] per word; occurrences may differ, vectors need not be of unit length. They
    are not copied: only those of some hundred draws, in single precision, are in memory beside them. NaN where a vector
    is zero, which has no cosine. Deterministic by `seed`.

    Raises BiasflowError for an empty set, a word without occurrences, unequal dimensions, or values that are not finite
    (naming set and word)."""
    sets = _checked(dict(zip(ROLES, (X, Y, A, B), strict=True)))
    words = [word for of_set in sets.values() for word in of_set]
    scales = [scale for name, of_set in sets.items() for scale in _scales(name, of_set)]
    targets, dimension = len(sets["X"]) + len(sets["Y"]), words[0].shape[1]
    chosen = np.random.default_rng(seed).integers(0, [len(word) for word in words], size=(draws, len(words)))
    chunk = max(1, CHUNK_BYTES // (4 * len(words) * dimension))
    cosines = np.empty((draws, targets, len(words) - targets), dtype=np.float32)
    vectors = np.empty((chunk, len(words), dimension), dtype=np.float32)
    for start in range(0, draws, chunk):
        rows = chosen[start : start + chunk]
        drawn = vectors[: len(rows)]
        for number, (word, scale) in enumerate(zip(words, scales, strict=True)):
            np.multiply(word[rows[:, number]], scale[rows[:, number], None], out=drawn[:, number], casting="same_kind")
        np.matmul(drawn[:, :targets], drawn[:, targets:].transpose(0, 2, 1), out=cosines[start : start + chunk])
    return cosines


def _checked(sets: Mapping[str, Sequence[ArrayLike]]) -> dict[str, list[np.ndarray]]:
    """The sets as lists of arrays [occurrences, d] with one d; BiasflowError names the set and the word (from 0)."""
    arrays = {name: [np.asarray(word) for word in words] for name, words in sets.items()}
    dimension = None
    for name, words in arrays.items():
        if not words:
            raise BiasflowError(f"CEAT: set {name} has no word; give one array of vectors for each word")
        for number, word in enumerate(words):
            if word.ndim != 2 or not word.size:
                raise BiasflowError(
                    f"CEAT: set {name}, word {number}: shape {word.shape}; give [occurrences, d] with at least one "
                    "occurrence, or leave the word out"
                )
            dimension = dimension or word.shape[1]
            if word.shape[1] != dimension:
                raise BiasflowError(
                    f"CEAT: set {name}, word {number}: {word.shape[1]} dimensions, others have {dimension}; embed all "
                    "words with one encoder"
                )
    return arrays


def _scales(name: str, words: Sequence[np.ndarray]) -> list[np.ndarray]:
    """1 / length of every vector, word by word, NaN for zero ones; BiasflowError for one that is not finite."""
    scales = []
    for number, word in enumerate(words):
        # Squares of very long or very short vectors leave the range of single precision.
        length = np.sqrt(np.einsum("nd,nd->n", word, word, dtype=np.float64))
        if not np.isfinite(length).all():
            raise BiasflowError(f"CEAT: set {name}, word {number}: NaN or infinite values; check the encoder")
        scales.append(np.divide(1, length, out=np.full(len(length), np.nan), where=length > 0))
    return scales
