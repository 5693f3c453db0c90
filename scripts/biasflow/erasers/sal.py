"""SAL: take out the directions in which vectors and gender vary together."""

import torch
from torch.nn.functional import one_hot

from biasflow.erasers.directions import each_head, mean_difference
from biasflow.erasers.eraser import Eraser


@each_head
def fit(X: torch.Tensor, z: torch.Tensor, *, pairs: torch.Tensor | None = None) -> Eraser:
    """Spectral attribute removal (Shao et al. 2023): project out left singular vectors of the covariance of X and z.

    X: [n, d] or [n, heads, d]; z: [n], 0 masculine, 1 feminine, as a column for each gender; pairs plays no part. The
    covariance [d, 2] of the vectors and these columns has one singular value that is not 0, since the columns sum to 1:
    of two genders there is one direction to remove, and it is that of `mean_projection`. Guarantee, on the vectors it
    was fitted to: the covariance of what is left with z is 0. Computed in float64.
    BiasflowError: no vectors of a gender, NaN, or genders with the same mean."""
    mean_difference("sal", X, z)  # times the shares of both genders it is the covariance
    columns = one_hot(z.long(), 2).double()
    covariance = (X - X.mean(0)).T @ (columns - columns.mean(0)) / len(X)
    directions = torch.linalg.svd(covariance, full_matrices=False).U
    return Eraser.projection(directions.T[:1].float())
