"""R-LACE: the projection of a chosen rank after which a linear classifier of gender does worst."""

import math

import torch

from biasflow.base.errors import BiasflowError
from biasflow.erasers.directions import check_components, each_head, leading, standardised
from biasflow.erasers.eraser import Eraser

PENALTY = 1.0  # of half the squared length of the classifier's weights, beside its mean loss
STEPS, FIRST, LAST = 200, 1.0, 1e-6  # most steps of the game, and the lengths of the first and of a last one
TOLERANCE = 1e-5  # of the classifier's gradient, and of its best loss as a share of the entropy of z


@each_head
def fit(X: torch.Tensor, z: torch.Tensor, *, pairs: torch.Tensor | None = None, components: int = 1) -> Eraser:
    """Relaxed linear adversarial concept erasure (Ravfogel et al. 2022): max over P, min over w, b of the loss of z.

    X: [n, d] or [n, heads, d]; z: [n], 0 masculine, 1 feminine; pairs plays no part. The game's value at P is
    L(P) = min_{w, b} mean_i log-loss(z_i, <w, (I - P) x_i> + b) + PENALTY / 2 ||w||^2, in nats, with X about its mean
    in units of its root mean square, and P an orthogonal projection of rank `components`. As in the paper, P moves in
    the convex hull of such projections (symmetric, eigenvalues in [0, 1] that sum to at most `components`: a Fantope),
    by the gradient of L and back onto the hull; the result projects out its leading eigenvectors. Unlike there, the
    classifier is trained to its optimum for every P, and a step that does not raise L is taken again at half its
    length: so the last P is the best one of the game, and a fit is the same every time. (The authors take stochastic
    steps on both sides, and keep the P with which a fresh classifier does worst.)

    L is at most the entropy of z, the loss of a constant, and reaches it where the projected means of the genders are
    equal. So two genders need no more than one direction, that of `mean_projection`, and it is what the game finds: the
    two differ by how far the game was played. (Printed of biographies, with one direction, mean of five seeds: the
    accuracy of a probe on held-out vectors falls from 0.969 to 0.546.) Computed in float64.
    BiasflowError: no vectors of a gender, NaN, vectors that are all equal, equal means, or more components than
    dimensions or than the game has any use for."""
    check_components("rlace", components, X.shape[1])
    answer = _Adversary(standardised("rlace", X), z)
    share = float(z.double().mean())
    entropy = -(share * math.log(share) + (1 - share) * math.log(1 - share))
    P, length = (X.new_empty(0, X.shape[1]), X.new_empty(0)), FIRST
    loss, *gradient = answer(*P)
    for _ in range(STEPS):
        if length < LAST or loss > entropy * (1 - TOLERANCE):
            break
        candidate = _moved(*P, *gradient, length, components)
        value, *of_candidate = answer(*candidate)
        if value > loss:
            P, loss, gradient, length = candidate, value, of_candidate, 1.2 * length
        else:
            length /= 2
    basis, _ = P
    if not len(basis):
        raise BiasflowError(
            "rlace: no linear classifier tells the genders of these vectors apart, so there is nothing to erase"
        )
    if len(basis) < components:
        raise BiasflowError(f"rlace: nothing linear is left beyond {len(basis)} direction(s); set components to that")
    return Eraser.projection(basis[:components].float())


class _Adversary:
    """The classifier that answers to P, given by its eigenvectors (rows) and eigenvalues: X is [n, d], standardised."""

    def __init__(self, X: torch.Tensor, z: torch.Tensor):
        from sklearn.linear_model import LogisticRegression

        self.X, self.z = X, z.cpu().numpy()
        options = {"tol": TOLERANCE, "max_iter": 10_000, "warm_start": True}  # it starts from its last answer
        self.classifier = LogisticRegression(C=1 / (PENALTY * len(X)), **options)

    def __call__(self, basis: torch.Tensor, values: torch.Tensor) -> tuple[float, torch.Tensor, torch.Tensor]:
        """L(P), and the vectors w and g [d] of its gradient -(w g' + g w') / 2."""
        from sklearn.metrics import log_loss

        rest = (self.X - (self.X @ basis.T * values) @ basis).cpu().numpy()
        self.classifier.fit(rest, self.z)
        feminine = self.classifier.predict_proba(rest)[:, 1]
        w = torch.from_numpy(self.classifier.coef_[0]).to(self.X)
        g = self.X.T @ torch.from_numpy(feminine - self.z).to(self.X) / len(self.X)
        return log_loss(self.z, feminine) + PENALTY / 2 * float(w @ w), w, g


def _moved(
    basis: torch.Tensor, values: torch.Tensor, w: torch.Tensor, g: torch.Tensor, length: float, components: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """P a step of `length` along its gradient, and back on the hull: eigenvectors and eigenvalues that are not 0.

    All lies in the span of P, w and g, so that the eigenvectors are those of a small matrix."""
    span = torch.linalg.qr(torch.cat([basis, w[None], g[None]]).T).Q
    old, outer = basis @ span, torch.outer(w @ span, g @ span)
    gradient = -(outer + outer.T) / 2
    eigenvalues, vectors = leading(old.T @ (values[:, None] * old) + length * gradient / gradient.norm(), span.shape[1])
    eigenvalues = fantope(eigenvalues, components)
    kept = eigenvalues > 0
    return vectors[kept] @ span.T, eigenvalues[kept]


def fantope(eigenvalues: torch.Tensor, trace: float) -> torch.Tensor:
    """Return the nearest eigenvalues in [0, 1] that sum to at most `trace`: clip(e - t, 0, 1) with the least t >= 0."""
    if eigenvalues.clamp(0, 1).sum() <= trace:
        return eigenvalues.clamp(0, 1)
    # The sum falls with t, along straight lines between these corners.
    corners = torch.cat([eigenvalues, eigenvalues - 1]).sort().values
    sums = (eigenvalues[:, None] - corners).clamp(0, 1).sum(0)
    after = int((sums > trace).sum())
    low, high = corners[after - 1], corners[after]
    t = low + (high - low) * (sums[after - 1] - trace) / (sums[after - 1] - sums[after])
    return (eigenvalues - t).clamp(0, 1)
