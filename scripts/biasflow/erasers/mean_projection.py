"""Mean projection: take out the direction from the masculine to the feminine mean."""

import torch

from biasflow.erasers.directions import Vectors, each_head, mean_difference
from biasflow.erasers.eraser import Eraser


@each_head
def fit(X: torch.Tensor, z: torch.Tensor, *, pairs: torch.Tensor | None = None, y: Vectors | None = None) -> Eraser:
    """Project out q = (mean(X, z=1) - mean(X, z=0)) / ||...||: h' = h - <h, q> q.

    X: [n, d] or [n, heads, d]; z: [n], 0 masculine, 1 feminine; pairs plays no part. Guarantee, on the vectors it was
    fitted to: the genders' means are equal afterwards, so that no linear classifier does better than a constant; unlike
    LEACE it is an orthogonal projection, and not the least change. With as many vectors of either gender it is DensRay
    without normalised differences, and for two genders it is SAL (Shao et al. 2023), the leading left singular vector
    of the covariance of X and z. y: [n], the classes of a task, or None: their means are taken off X first, so that
    what is left does not vary with z - P(z | y), a gender minus its share in the class. Computed in float64.
    BiasflowError: no vectors of a gender, NaN, or equal means."""
    difference = mean_difference("mean_projection", X, z, y)
    return Eraser.projection((difference / difference.norm())[None].float())
