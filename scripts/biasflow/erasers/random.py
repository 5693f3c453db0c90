"""Random directions, as a control for every method: the effect of removing any direction at all."""

from collections.abc import Callable
from dataclasses import replace

import torch
from scipy.optimize import brentq

from biasflow.base.errors import BiasflowError
from biasflow.erasers.directions import check_components, each_head, leading
from biasflow.erasers.eraser import Eraser

FLOOR = 1e-6  # of the largest eigenvalue: vectors hardly vary along smaller ones, which all count as equal
STEEPEST = 40.0  # most that t ln(eigenvalues) of k directions may span: QR sees rounding beyond
CLOSE = 1e-5  # t is found to this; the weights are scaled by what is left


@each_head
def fit(
    X: torch.Tensor, z: torch.Tensor, *, pairs: torch.Tensor | None = None, components: int = 1, seed: int = 0
) -> Eraser:
    """Project out `components` orthonormal directions whose span is uniform among all: Q of the QR of a normal matrix.

    X: [n, d] or [n, heads, d], of which the dimension alone counts; z: [n], 0 masculine, 1 feminine; neither z nor
    pairs plays a part. A draw depends on seed and d: it is the same at every place and head, and its first directions
    are those of fewer. Any vector loses components / d of its squared length on average. Computed in float64.
    BiasflowError: no vectors of a gender, NaN, more components than dimensions, or a seed below 0."""
    check_components("random", components, X.shape[1])
    if not 0 <= seed < 2**63:
        raise BiasflowError(f"random: seed is {seed}; it must be from 0 to 2**63 - 1")
    return Eraser.projection(_drawn(components, X.shape[1], seed).to(X.device))


def like(eraser: Eraser, seed: int) -> Eraser:
    """Return the control for a fitted eraser: equally many random orthonormal directions, with its centre and weights.

    So INLP's has the rank that INLP came to, a conceptor's damps as much, and LEACE's leaves the mean where it is."""
    drawn = _drawn(*eraser.left.shape[-2:], seed).to(eraser.left)
    basis = drawn.expand_as(eraser.left).contiguous()
    return replace(Eraser.projection(basis, eraser.weights), center=eraser.center)


def matched(eraser: Eraser, X: torch.Tensor) -> Callable[[int], Eraser]:
    """Return the controls of equal force, as a function of the seed: random directions that move the vectors X as far
    as `eraser` does (mean square), and are orthogonal to its own.

    X: [n, d] or [n, heads, d], the vectors that the eraser was fitted to. The directions are as many as the eraser's,
    orthonormal, about its centre, and orthogonal to all that the eraser reads and changes: if gender is what vectors
    vary along most, directions that move them as far would otherwise be those of gender. (An eraser of more than about
    half of the dimensions leaves too few others; then all are allowed.) They are the QR of M^(t/2) N, where M is the
    second moment of X about that centre and N normal: a larger t favours directions along which the vectors vary much.
    t is at most 1, so that draws differ: at a large t all are the one along which the vectors vary most. t is chosen so
    that the mean squared change, sum_i w_i^2 q_i' M q_i, is the eraser's; where no t reaches it, the weights are
    scaled, and are then above 1. Computed in float64."""
    if eraser.heads:
        by_head = (part.unbind() for part in (eraser.right, eraser.left, eraser.weights))
        centers = [None] * len(eraser.right) if eraser.center is None else eraser.center.unbind()
        heads = zip(*by_head, centers, X.unbind(1), strict=True)
        draws = [matched(Eraser(*parts), vectors) for *parts, vectors in heads]
        return lambda seed: Eraser.stack([draw(seed) for draw in draws])
    X = X.double()
    target = float((eraser.apply(X) - X).square().sum(1).mean())
    centred = X if eraser.center is None else X - eraser.center
    k, d = eraser.components, X.shape[1]
    others = _orthogonal(torch.cat([eraser.left, eraser.right.T]).double())
    others = others if len(others) >= k else torch.eye(d).to(others)
    moment, within = leading(others @ (centred.T @ centred / len(X)) @ others.T, len(others))
    basis = within @ others
    basis *= basis.gather(-1, basis.abs().argmax(-1, keepdim=True)).sign()  # the same draws on every machine
    if not moment[0] > 0:
        raise BiasflowError(
            "random-matched: vectors vary only along the directions of the method; leave its control out."
        )
    logarithms = moment.clamp_min(FLOOR * moment[0]).log()
    weights = eraser.weights.double()
    spans = float(logarithms[-k] - logarithms[-1]), float(logarithms[0] - logarithms[k - 1])
    low, high = (end / max(span, 0.1) for end, span in zip((-STEEPEST, STEEPEST), spans, strict=True))
    high = min(high, 1.0)

    def draw(seed: int) -> Eraser:
        """The control of this seed."""
        normal = basis @ _normal(d, seed)[:, :k].to(basis)  # in the coordinates of M's eigenvectors

        def directions(t: float) -> torch.Tensor:
            sizes = t / 2 * logarithms
            return torch.linalg.qr((sizes - sizes.max()).exp()[:, None] * normal).Q.T

        def change(rows: torch.Tensor) -> float:
            return float((weights.square() * (rows.square() @ moment)).sum())

        def too_far(t: float) -> float:
            return change(directions(t)) - target

        if too_far(low) >= 0:
            t = low
        elif too_far(high) <= 0:
            t = high
        else:
            t = brentq(too_far, low, high, xtol=CLOSE)
        rows = directions(t)
        force = (target / change(rows)) ** 0.5 if target else 0.0
        return replace(Eraser.projection((rows @ basis).float(), (weights * force).float()), center=eraser.center)

    return draw


def _orthogonal(rows: torch.Tensor) -> torch.Tensor:
    """Orthonormal rows that span all that is orthogonal to these rows [n, d]: [d - rank, d]."""
    _, sizes, basis = torch.linalg.svd(rows)
    return basis[int((sizes > FLOOR * sizes.max()).sum()) :]


def _drawn(components: int, d: int, seed: int) -> torch.Tensor:
    """Orthonormal rows [components, d], float32."""
    return torch.linalg.qr(_normal(d, seed)[:, :components]).Q.T.float()


def _normal(d: int, seed: int) -> torch.Tensor:
    """Columns of normal numbers [d, d] in float64, the first ones the same however many are used."""
    return torch.randn(d, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).T
