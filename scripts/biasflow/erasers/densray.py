"""DensRay: the direction along which vectors of different genders differ most and those of one gender least."""

from collections.abc import Sequence

import torch

from biasflow.base.errors import BiasflowError
from biasflow.erasers.directions import SAME, check_components, checked_vectors, each_head, leading
from biasflow.erasers.eraser import Eraser

CHUNK = 256  # rows that are compared with all others at once


@each_head
def fit(
    X: torch.Tensor,
    z: torch.Tensor,
    *,
    pairs: torch.Tensor | None = None,
    components: int = 1,
    weights: Sequence[float] = (0.5, 0.5),
    normalize: bool = True,
) -> Eraser:
    """Project out DensRay (Dufter & Schuetze 2019; Liang et al. 2020, sec. 3): the leading directions of `spectrum`.

    X: [n, d] or [n, heads, d]; z: [n], 0 masculine, 1 feminine; pairs plays no part. The result has `components`
    directions (the paper removes one), turned so that the feminine mean lies above the masculine one. BiasflowError:
    see `spectrum`; also if d is smaller than `components`."""
    check_components("densray", components, X.shape[1])
    _, directions = spectrum(X, z, weights=weights, normalize=normalize)
    return Eraser.projection(directions[:components].float())


def spectrum(
    X: torch.Tensor, z: torch.Tensor, *, weights: Sequence[float] = (0.5, 0.5), normalize: bool = True
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return all DensRay eigenvalues [d], descending, and their directions as rows [d, d], in float64.

    X: [n, d]; z: [n], as in `fit`. The eigenvalues are those of
    A = a_b mean_{i, j of different gender} d_ij d_ij' - a_w mean_{i, j of one gender} d_ij d_ij',
    with d_ij = x_i - x_j, divided by its length if `normalize` (equal vectors give 0), and the means over ordered
    pairs, a vector with itself included. weights = (a_b, a_w): between and within the genders; the paper has 0.5 each.
    With `normalize`, an eigenvalue is therefore the weighted mean squared cosine of its direction with differences
    between the genders minus that with differences within them: between -a_w and a_b. Without, and with as many
    vectors of either gender and equal weights, A is a_b times the outer product of the difference of the two means.

    Vectors whose distance is at most SAME times the root mean square length of all count as equal: so small a
    difference is rounding of float32, and its direction is noise. Every direction is turned so that the
    feminine mean lies above the masculine one. BiasflowError: no vectors of a gender, NaN, weights that are negative or
    both 0, or vectors whose differences cancel up to rounding, so that no direction stands out."""
    between, within = weights
    if between < 0 or within < 0 or between + within == 0:
        raise BiasflowError(
            f"densray: weights are {between} and {within}; neither may be negative, one must be above 0"
        )
    X, z = checked_vectors("densray", X, z)
    n_m = int((~z).sum())
    X = torch.cat([X[~z], X[z]])
    smallest = SAME**2 * X.square().sum(1).mean()  # squared distance
    X -= X.mean(0)  # differences do not feel it, and distances lose fewer digits
    matrix = _normalized(X, n_m, between, within, smallest) if normalize else _plain(X, n_m, between, within)
    eigenvalues, directions = leading(matrix, X.shape[1])
    if not eigenvalues.abs().max() > (between + within) * (SAME if normalize else smallest):
        raise BiasflowError(
            "densray: the genders do not differ in these vectors by more than rounding, so that there is nothing to "
            "erase; fit it at another place, or to other words or texts"
        )
    difference = X[n_m:].mean(0) - X[:n_m].mean(0)
    rises = directions @ difference
    # Where both means are alike up to rounding, the sign of `leading` stays: it does not depend on noise.
    backwards = rises < -1e-9 * difference.norm()
    return eigenvalues, torch.where(backwards[:, None], -directions, directions)


def gender_share(X: torch.Tensor, z: torch.Tensor) -> float:
    """Return how strongly vectors separate by gender, in [0, 1] (0: not at all): B - W.

    B is the mean squared cosine of the DensRay direction with the differences between the genders, W that with the
    differences within them; with normalised differences and equal weights of 0.5, B - W is twice the largest
    eigenvalue. 0: no direction tells the genders apart; 1: they differ along one direction, and nothing else varies.
    It does not depend on the vectors' scale, but without gender it is about 1/n + noise, larger in few dimensions:
    compare a layer with a layer and a head with a head. (The largest eigenvalue's share of the positive ones, which
    also lies in [0, 1], says little: it is high for pure noise, and soon 1.) BiasflowError: see `spectrum`."""
    eigenvalues, _ = spectrum(X, z)
    return 2 * max(float(eigenvalues[0]), 0.0)


def scores(eraser: Eraser, h: torch.Tensor) -> torch.Tensor:
    """Return the bias score of every token: its coordinate <h, q_0> on the first direction; higher is more feminine.

    h: [..., d] (with heads: [..., heads, d]); the result is [...]. The vectors are not centred, so 0 is not the middle
    between the genders; differences of scores have a meaning, their sign has none."""
    return eraser.coordinates(h)[..., 0]


def _normalized(X: torch.Tensor, n_m: int, between: float, within: float, smallest: torch.Tensor) -> torch.Tensor:
    """A with unit differences: X is [n, d], centred, masculine rows first; smallest: squared, as in `spectrum`.

    With w_ij = a_ij / |x_i - x_j|^2 symmetric, sum_ij w_ij (x_i - x_j)(x_i - x_j)' = 2 X'(diag(W 1) - W) X, the
    Laplacian of a graph: n^2 d operations instead of n^2 d^2. W is made CHUNK rows at a time and from the diagonal on,
    because it is symmetric: at most three arrays of CHUNK x n numbers at once, beside X and a scaled copy of it."""
    n_f = len(X) - n_m
    same, different = -within / (n_m**2 + n_f**2), between / (2 * n_m * n_f)
    factors = X.new_tensor([[same, different], [different, same]])
    gender = (torch.arange(len(X), device=X.device) >= n_m).long()
    squares = X.square().sum(1)
    degrees, product = torch.zeros_like(squares), X.new_zeros(X.shape[1], X.shape[1])
    for start in range(0, len(X), CHUNK):
        rows, rest = X[start : start + CHUNK], X[start:]
        stop = start + len(rows)
        distances = torch.addmm(squares[start:], rows, rest.T, alpha=-2).add_(squares[start:stop, None])
        equal = distances <= smallest
        W = distances.reciprocal_().masked_fill_(equal, 0)
        W *= factors[gender[start:stop]][:, gender[start:]]
        W[:, : len(rows)] /= 2  # this block holds each pair twice, the others hold it once
        product += rows.T @ (W @ rest)
        degrees[start:stop] += W.sum(1)
        degrees[start:] += W.sum(0)
    return 2 * ((X * degrees[:, None]).T @ X - product - product.T)


def _plain(X: torch.Tensor, n_m: int, between: float, within: float) -> torch.Tensor:
    """A with differences as they are: with the genders' covariances C (divided by n) and the difference of means m,

    A = (a_b - 2 a_w n_m^2 / (n_m^2 + n_f^2)) C_m + (a_b - 2 a_w n_f^2 / (n_m^2 + n_f^2)) C_f + a_b m m'."""
    groups = X[:n_m], X[n_m:]
    m = groups[1].mean(0) - groups[0].mean(0)
    matrix = between * torch.outer(m, m)
    for group in groups:
        share = len(group) ** 2 / (n_m**2 + (len(X) - n_m) ** 2)
        matrix += (between - 2 * within * share) * torch.cov(group.T, correction=0).reshape(matrix.shape)
    return matrix
