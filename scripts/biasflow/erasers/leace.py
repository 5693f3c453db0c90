"""LEACE: the smallest change of the vectors after which no linear classifier can tell the genders apart."""

import torch

from biasflow.base.errors import BiasflowError
from biasflow.erasers.directions import Vectors, each_head, mean_difference, oblique, warn_of_few
from biasflow.erasers.eraser import Eraser


@each_head
def fit(
    X: torch.Tensor,
    z: torch.Tensor,
    *,
    pairs: torch.Tensor | None = None,
    y: Vectors | None = None,
    shrinkage: bool = False,
) -> Eraser:
    """Fit least-squares concept erasure in closed form (Belrose et al. 2023): h' = h - W+ P W (h - c).

    X: [n, d] or [n, heads, d]; z: [n], 0 masculine, 1 feminine; pairs plays no part. c is the mean of X, W = S^(-1/2)
    whitens by its covariance S, and P projects on W s, with s the covariance of X and z. For a z of two values s is a
    vector, so that the map has rank 1 and needs no root: h' = h - (<h - c, S+ s> / s'S+ s) s. It is oblique: what is
    taken out lies along s, the difference of the genders' means; how much is measured along S+ s, the direction of
    linear discriminant analysis.

    Guarantee, on the vectors it was fitted to: the genders' means are equal afterwards, so no linear classifier with
    any convex loss does better than a constant; of all affine maps of which that is true it changes the vectors least
    in the mean square. On other vectors it holds as far as S and s are the same: take n well above d.

    y: [n], the classes of a task, or None. With y, z stands for z - P(z | y), a gender minus its share in the class:
    where genders go with classes, what tells classes apart stays, and the guarantees hold for this z.

    shrinkage=False (default) takes S as it is, since the guarantee of least change is for that S; its pseudo-inverse
    leaves out eigenvalues below d times the precision of float64, relative to the largest, so that directions without
    variance (LayerNorm makes one) do no harm. shrinkage=True shrinks S towards a multiple of the identity (Ledoit &
    Wolf 2004), for n near or below d, where S says little of other vectors; the means are still equal afterwards, but
    the change is larger. (The authors' code shrinks by default, another way, and leaves a gender alone whose whitened
    covariance is shorter than 0.01; here all of it goes.) Computed in float64.
    BiasflowError: no vectors of a gender, NaN, or genders whose means are equal already."""
    if not shrinkage:
        warn_of_few("leace", X)
    c = X.mean(0)
    s = mean_difference("leace", X, z, y) * z.double().mean() * (~z).double().mean()
    S = _shrunk(X) if shrinkage else torch.cov(X.T, correction=0).reshape(len(c), len(c))
    measured = torch.linalg.pinv(S, hermitian=True) @ s
    size = s @ measured
    if not size > 0:
        raise BiasflowError(
            "leace: compared with the variance of these vectors, both genders have the same mean; there is nothing "
            "to erase"
        )
    return oblique(measured / size, s, c)


def _shrunk(X: torch.Tensor) -> torch.Tensor:
    from sklearn.covariance import ledoit_wolf

    return torch.from_numpy(ledoit_wolf(X.cpu().numpy())[0]).to(X)
