"""Hard debiasing: the principal components of the differences within masculine-feminine pairs."""

import torch

from biasflow.base.errors import BiasflowError, check_choice
from biasflow.erasers.directions import check_components, each_head, is_rounding, without_principal
from biasflow.erasers.eraser import Eraser

CENTERS = ("pairs", "differences")


@each_head
def fit(
    X: torch.Tensor,
    z: torch.Tensor,
    *,
    pairs: torch.Tensor | None = None,
    components: int = 1,
    center: str = "pairs",
) -> Eraser:
    """Project out a gender subspace of paired vectors (Bolukbasi et al. 2016; Dawkins et al. 2024, sec. 4).

    X: [n, d] or [n, heads, d]; z: [n], 0 masculine, 1 feminine; pairs: [n_pairs, 2], the rows (masculine, feminine) of
    each pair. center="pairs" subtracts each pair's own mean, which is the PCA of the differences D about the origin:
    the eigenvectors of D'D. center="differences" subtracts the mean difference first and so loses the direction that
    all pairs share; it is kept as the second reading of the paper.
    explained_variance holds the ratios v_i = lambda_i / sum_j lambda_j. Computed in float64; each direction's largest
    coordinate is positive, so that a fit is the same bytes every time. BiasflowError: no pairs, NaN, an unknown
    center, more components than pairs or dimensions, or pairs whose members are all equal."""
    check_choice("pca: center", center, CENTERS)
    if pairs is None:
        raise BiasflowError("pca: there are no pairs; fit it to pairs of sentences, or take another eraser")
    check_components("pca", components, min(len(pairs), X.shape[1]))
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]
    if center == "differences":
        differences = differences - differences.mean(0)
    if is_rounding(differences, X):
        raise BiasflowError(f"pca: about their center ({center}) all differences are 0; nothing can be fitted to them")
    return without_principal(differences, components)
