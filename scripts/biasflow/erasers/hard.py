"""Hard debiasing as paper A has it: the principal components of all gendered vectors together."""

import torch

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.erasers.directions import check_components, join, leading
from scripts.biasflow.erasers.eraser import Eraser


def fit(masculine: torch.Tensor, feminine: torch.Tensor, *, components: int = 1) -> Eraser:
    """Fit the principal components of the vectors of both genders (the baseline of Liang et al. 2020, sec. 4.1).

    masculine [n_m, d], feminine [n_f, d]. The directions are the leading eigenvectors of the covariance of all
    n = n_m + n_f vectors about their common mean; the weights are 1. The labels play no part, so that the direction of
    largest variance need not be gender (unlike `pca`, which takes differences within pairs). Computed in float64; each
    direction's largest coordinate is positive. BiasflowError: no vectors of a gender, NaN, dimensions that differ, more
    components than min(n - 1, d), or vectors that are all equal."""
    X = join("hard", masculine, feminine)
    check_components("hard", components, min(len(X) - 1, X.shape[1]))
    X -= X.mean(0)
    scatter = X.T @ X
    if not scatter.any():
        raise BiasflowError("hard: all vectors are equal; nothing can be fitted to them")
    _, basis = leading(scatter, components)
    return Eraser(basis.float(), basis.new_ones(components).float())
