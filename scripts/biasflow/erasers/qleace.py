"""QLEACE: what no quadratic probe can find, where the gender of a vector is known when it is erased.

An oracle and no method: it needs the label of whatever it is applied to."""

import numpy as np
from numpy.typing import ArrayLike

from biasflow.base.errors import BiasflowError

CLASSES = 2


def qleace(X: ArrayLike, z: ArrayLike, *, train: ArrayLike | None = None, shrinkage: bool = True) -> np.ndarray:
    """Return X [n, d] moved so that both genders z [n] (0 or 1) have one mean and one covariance.

    x' = T_z (x - m_z) + m: m is the mean of all, m_z that of the class, and T_z the optimal-transport map from the
    covariance of the class to the Wasserstein barycenter of both, weighted by the shares w of the classes: with
    T = S0^(-1/2) (S0^(1/2) S1 S0^(1/2))^(1/2) S0^(-1/2), the map from class 0 to class 1, T_0 = w0 I + w1 T and
    T_1 = w1 I + w0 T^(-1). Of all maps after which no quadratic probe can tell the classes apart it changes the vectors
    least in the mean square.

    Computed from the rows `train` alone (all by default), in float64. shrinkage: whether covariances are shrunk, as
    Ledoit & Wolf (2004) do (the authors' code shrinks in another way); without it those of `train` are equal
    afterwards, but they must have full rank. Source: Belrose et al. (2023) and their package concept-erasure
    (quadratic.py). BiasflowError: a class of fewer than two rows of `train`."""
    from sklearn.covariance import ledoit_wolf

    X, z = np.asarray(X, dtype=float), np.asarray(z)
    rows = np.arange(len(z)) if train is None else np.asarray(train)
    members = [X[rows[z[rows] == label]] for label in range(CLASSES)]
    if min(map(len, members)) < CLASSES:
        raise BiasflowError(f"qleace: {' and '.join(str(len(rows)) for rows in members)} vectors of the two genders")
    S0, S1 = (ledoit_wolf(own)[0] if shrinkage else np.atleast_2d(np.cov(own.T, bias=True)) for own in members)
    root, inverse = _powers(S0)
    T = inverse @ _powers(root @ S1 @ root)[0] @ inverse
    of_first, same = len(members[0]) / len(rows), np.eye(X.shape[1])
    maps = of_first * same + (1 - of_first) * T, (1 - of_first) * same + of_first * np.linalg.inv(T)
    moved = np.empty_like(X)
    for label, (own, by) in enumerate(zip(members, maps, strict=True)):
        moved[z == label] = (X[z == label] - own.mean(axis=0)) @ by.T + X[rows].mean(axis=0)
    return moved


def _powers(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The root and the inverse root of a positive definite matrix."""
    values, vectors = np.linalg.eigh(S)
    return vectors * np.sqrt(values) @ vectors.T, vectors / np.sqrt(values) @ vectors.T
