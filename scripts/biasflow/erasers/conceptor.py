"""Debiasing conceptor: shrink each direction in proportion to the variance that gendered vectors have along it."""

import math

import torch

from biasflow.base.errors import BiasflowError
from biasflow.erasers.directions import each_head, leading
from biasflow.erasers.eraser import Eraser


@each_head
def fit(X: torch.Tensor, z: torch.Tensor, *, pairs: torch.Tensor | None = None, aperture: float = 2.0) -> Eraser:
    """Fit h' = (I - C) h with C = R (R + aperture^-2 I)^-1 and R = X'X / n (Karve et al. 2019; Liang et al. 2020).

    X: [n, d] or [n, heads, d], the vectors of both genders, not centred; neither z nor pairs plays a part. R and C have
    the same eigenvectors, and an eigenvalue s of R becomes s / (s + aperture^-2), so that the eraser has all d
    eigenvectors as directions, the strongest first, and these as weights, in [0, 1]. Computed in float64.
    BiasflowError: no vectors of a gender, NaN, or an aperture that is not above 0."""
    if not (aperture > 0 and math.isfinite(aperture)):
        raise BiasflowError(f"conceptor: aperture is {aperture}; it must be above 0")
    eigenvalues, basis = leading(X.T @ X / len(X), X.shape[1])
    eigenvalues = eigenvalues.clamp_min(0)  # rounding makes zeros negative
    return Eraser.projection(basis.float(), (eigenvalues / (eigenvalues + aperture**-2)).float())
