"""Random directions: what taking out anything at all does, as a control for every method."""

from dataclasses import replace

import torch

from biasflow.erasers.directions import check_components, each_head
from biasflow.erasers.eraser import Eraser


@each_head
def fit(
    X: torch.Tensor, z: torch.Tensor, *, pairs: torch.Tensor | None = None, components: int = 1, seed: int = 0
) -> Eraser:
    """Project out `components` orthonormal directions whose span is uniform among all: Q of the QR of a normal matrix.

    X: [n, d] or [n, heads, d], of which the dimension alone counts; z: [n], 0 masculine, 1 feminine; neither z nor
    pairs plays a part. A draw depends on seed and d: it is the same at every place and head, and its first directions
    are those of fewer. Any vector loses components / d of its squared length on average. Computed in float64.
    BiasflowError: no vectors of a gender, NaN, or more components than dimensions."""
    check_components("random", components, X.shape[1])
    return Eraser.projection(_drawn(components, X.shape[1], seed).to(X.device))


def like(eraser: Eraser, seed: int) -> Eraser:
    """The control for a fitted eraser: as many random directions, orthonormal, about its centre and with its weights.

    So INLP's has the rank that INLP came to, a conceptor's damps as much, and LEACE's leaves the mean where it is."""
    drawn = _drawn(*eraser.left.shape[-2:], seed).to(eraser.left)
    basis = drawn.expand_as(eraser.left).contiguous()
    return replace(Eraser.projection(basis, eraser.weights), center=eraser.center)


def _drawn(components: int, d: int, seed: int) -> torch.Tensor:
    """Orthonormal rows [components, d], float32."""
    normal = torch.randn(d, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))[:components]
    return torch.linalg.qr(normal.T).Q.T.float()
