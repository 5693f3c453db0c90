"""Hard debiasing as paper A has it: the principal components of all gendered vectors together."""

import torch

from biasflow.erasers.directions import centred, check_components, each_head, without_principal
from biasflow.erasers.eraser import Eraser


@each_head
def fit(X: torch.Tensor, z: torch.Tensor, *, pairs: torch.Tensor | None = None, components: int = 1) -> Eraser:
    """Project out the principal components of the vectors of both genders (baseline of Liang et al. 2020, sec. 4.1).

    X: [n, d] or [n, heads, d]; z: [n], 0 masculine, 1 feminine. The directions are the leading eigenvectors of the
    covariance of all n vectors about their common mean. Neither z nor pairs plays a part, so that the direction of
    largest variance need not be gender (unlike `pca`, which takes differences within pairs). Computed in float64; each
    direction's largest coordinate is positive. BiasflowError: no vectors of a gender, NaN, more components than
    min(n - 1, d), or vectors that are all equal."""
    check_components("hard", components, min(len(X) - 1, X.shape[1]))
    return without_principal(centred("hard", X), components)
