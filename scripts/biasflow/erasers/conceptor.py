"""Debiasing conceptor: damp every direction the more, the more of the gendered vectors lies in it."""

import math

import torch

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.erasers.directions import check_vectors, leading
from scripts.biasflow.erasers.eraser import Eraser


def fit(X: torch.Tensor, *, aperture: float = 2.0) -> Eraser:
    """Fit h' = (I - C) h with C = R (R + aperture^-2 I)^-1 and R = X'X / n (Karve et al. 2019; Liang et al. 2020).

    X: [n, d], the vectors of both genders, not centred. R and C have the same eigenvectors, and an eigenvalue s of R
    becomes s / (s + aperture^-2), so that the eraser has all d eigenvectors as basis, the strongest first, and these as
    weights, in [0, 1]. Computed in float64. BiasflowError: no vectors, NaN, or an aperture that is not above 0."""
    if not (aperture > 0 and math.isfinite(aperture)):
        raise BiasflowError(f"conceptor: aperture is {aperture}; it must be above 0")
    check_vectors("conceptor", {"gendered": X})
    X = X.double()
    eigenvalues, basis = leading(X.T @ X / len(X), X.shape[1])
    eigenvalues = eigenvalues.clamp_min(0)  # rounding makes zeros negative
    return Eraser(basis.float(), (eigenvalues / (eigenvalues + aperture**-2)).float())
