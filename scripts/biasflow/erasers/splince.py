"""SPLINCE: take out gender as LEACE does, and keep how the vectors vary with the classes of a task."""

import torch

from biasflow.base.errors import BiasflowError
from biasflow.erasers.directions import SAME, Vectors, class_columns, each_head, mean_difference, oblique, warn_of_few
from biasflow.erasers.eraser import Eraser


@each_head
def fit(X: torch.Tensor, z: torch.Tensor, *, pairs: torch.Tensor | None = None, y: Vectors | None = None) -> Eraser:
    """Fit the oblique projection h' = h - W+ (I - P) W (h - c) that does not change Cov(h, y) (Holstege et al. 2025).

    X: [n, d] or [n, heads, d]; z: [n], 0 masculine, 1 feminine; y: [n], the numbers of the task's classes, two or more;
    pairs plays no part. c is the mean of X and W = S^(-1/2) whitens by its covariance S. With s = Cov(x, z) and
    T = Cov(x, one-hot y), P projects along the kernel K = span(W s) onto the range
    colspace(W T) + (K + colspace(W T))^perp. With two genders K is a line, so that I - P has rank 1 and no root is
    inverted: h' = h - (<W (h - c), q> / |q|^2) s, where q is the part of W s that is orthogonal to colspace(W T). Like
    LEACE it takes out s, the difference of the genders' means; it measures how much in a way that ignores y.

    Guarantee, on the vectors it was fitted to: afterwards Cov(h', z) = 0, so that no linear classifier with a convex
    loss tells the genders apart better than a constant, and Cov(h', y) = Cov(h, y). Of all affine maps of which this is
    true it changes the vectors least in the mean square. If no class has anything to do with the vectors, it is LEACE.
    Computed in float64. BiasflowError: no vectors of a gender, NaN, equal means, y that is missing, of another length,
    or of one class, or a W s that lies in colspace(W T): then gender is a linear function of the classes, as far as the
    vectors tell, and cannot go while they stay."""
    classes = _one_hot(y, X)
    warn_of_few("splince", X)
    centred = X - X.mean(0)
    s = mean_difference("splince", X, z) * z.double().mean() * (~z).double().mean()
    T = centred.T @ classes / len(X)
    eigenvalues, vectors = torch.linalg.eigh(centred.T @ centred / len(X))
    kept = eigenvalues > len(s) * torch.finfo(eigenvalues.dtype).eps * eigenvalues[-1]  # as LEACE leaves out the rest
    W = vectors[:, kept] * eigenvalues[kept].rsqrt()  # its transpose whitens, to as many numbers as there is variance
    white = W.T @ s
    left_singular, sizes, _ = torch.linalg.svd(W.T @ T, full_matrices=False)
    of_classes = left_singular[:, sizes > SAME * sizes[0].clamp_min(SAME)]
    q = white - of_classes @ (of_classes.T @ white)
    if not q.norm() > SAME * white.norm():
        raise BiasflowError(
            "splince: in these vectors gender follows from the classes y (its kernel lies in the range that it must "
            "keep), so that it cannot be taken out while they stay; take leace, or classes that both genders have"
        )
    return oblique(W @ q / q.square().sum(), s, X.mean(0))


def _one_hot(y: Vectors | None, X: torch.Tensor) -> torch.Tensor:
    """The classes y [n] as centred columns [n, classes] in float64; BiasflowError if they are none of X's rows."""
    if y is None:
        raise BiasflowError(
            "splince: it needs y, the class of each vector; give y= (in a configuration: fitted_to: task)"
        )
    columns = class_columns("splince", y, X)
    if columns.shape[1] < 2:
        raise BiasflowError("splince: y has a single class, so that there is nothing to keep; take leace")
    return columns - columns.mean(0)
