"""Hard debiasing: the principal components of the differences within masculine-feminine pairs."""

import torch

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.erasers.directions import leading
from scripts.biasflow.erasers.eraser import Eraser

CENTERS = ("pairs", "differences")


def fit(pairs: torch.Tensor, *, components: int = 2, center: str = "pairs") -> Eraser:
    """Fit a gender subspace to paired vectors (Bolukbasi et al. 2016; Liang et al. 2020; Dawkins et al. 2024, sec. 4).

    pairs: [n, 2, d], or [n, 2, heads, d] for one subspace per head; index 0 of axis 1 is the masculine member.
    center="pairs" subtracts each pair's own mean, which is the PCA of the differences D about the origin: the
    eigenvectors of D'D. center="differences" subtracts the mean difference first and so loses the direction that all
    pairs share; it is kept as the second reading of the paper.
    The weights are the explained-variance ratios v_i = lambda_i / sum_j lambda_j. Computed in float64; each
    direction's largest coordinate is positive, so that a fit is the same bytes every time."""
    if center not in CENTERS:
        raise BiasflowError(f"pca: center is {center!r}; it can be {' or '.join(CENTERS)}")
    if pairs.dim() not in (3, 4) or pairs.shape[1] != 2:
        raise ValueError(f"pairs must be [n, 2, d] or [n, 2, heads, d], not {tuple(pairs.shape)}")
    n, dimension = pairs.shape[0], pairs.shape[-1]
    if min(n, dimension) < components:
        raise BiasflowError(f"pca: {components} component(s) asked of {n} pair(s) of {dimension} dimensions; give more")
    if not torch.isfinite(pairs).all():
        raise BiasflowError(
            "pca: the hidden states of the sentence pairs hold NaN or infinite values; check the encoder"
        )

    differences = (pairs[:, 0] - pairs[:, 1]).double()
    if center == "differences":
        differences = differences - differences.mean(0)
    scatter = torch.einsum("n...i,n...j->...ij", differences, differences)
    # The trace is the sum of all eigenvalues: of those that are not asked for, too.
    total = scatter.diagonal(dim1=-2, dim2=-1).sum(-1, keepdim=True)
    if (total <= 0).any():
        raise BiasflowError("pca: the members of all pairs have equal hidden states; nothing can be fitted to them")
    eigenvalues, basis = leading(scatter, components)
    return Eraser(basis.float(), (eigenvalues.clamp_min(0) / total).float())
