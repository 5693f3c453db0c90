"""INLP: linear classifiers of gender, one after another, each on what the ones before it left."""

from dataclasses import replace

import torch

from biasflow.base.errors import BiasflowError
from biasflow.erasers.directions import each_head, standardised
from biasflow.erasers.eraser import Eraser

TOLERANCE = 1e-3  # of the largest component of the gradient: the next classifier takes what this one leaves
ITERATIONS = 10_000  # far more than a fit needs: it ends by its tolerance


@each_head
def fit(X: torch.Tensor, z: torch.Tensor, *, pairs: torch.Tensor | None = None, classifiers: int = 100) -> Eraser:
    """Iterative null-space projection (Ravfogel et al. 2020): project out the weights of classifier after classifier.

    X: [n, d] or [n, heads, d]; z: [n], 0 masculine, 1 feminine; pairs plays no part. A logistic regression (with
    scikit-learn's C = 1, on X about its mean in units of its root mean square) is trained on X, its weight vector is
    one more direction, and the next one is trained on X projected on the null space of all directions so far. That is
    the intersection of the classifiers' null spaces: all directions are made orthonormal together, and X itself is
    projected, so that rounding does not add up as it does in a product of projections.

    It ends when a classifier does no better than the majority, or after `classifiers` of them. So the rank differs
    from place to place; `accuracy` says what a linear classifier still reads after each direction, on the vectors it
    was fitted to. Where the last one lies above the majority, there were too few: gender in words in context takes
    dozens, and a single direction leaves nearly all (of biographies 0.94). Computed in float64.
    BiasflowError: no vectors of a gender, NaN, vectors that are all equal, fewer than one classifier, or genders that
    no linear classifier can tell apart."""
    from sklearn.linear_model import LogisticRegression

    if classifiers < 1:
        raise BiasflowError(f"inlp: classifiers is {classifiers}; it must be at least 1")
    X = standardised("inlp", X)
    majority, most = int(max(z.sum(), (~z).sum())) / len(z), min(classifiers, X.shape[1])
    basis, accuracy = X.new_empty(0, X.shape[1]), []
    while True:
        rest = (X - X @ basis.T @ basis).cpu().numpy()
        classifier = LogisticRegression(tol=TOLERANCE, max_iter=ITERATIONS).fit(rest, z.cpu().numpy())
        accuracy.append(classifier.score(rest, z.cpu().numpy()))
        if accuracy[-1] <= majority or len(basis) == most:
            break
        # Each direction lies in the null space of those before it, up to rounding: QR keeps their order.
        directions = torch.cat([basis, torch.from_numpy(classifier.coef_).to(X)])
        basis = torch.linalg.qr(directions.T).Q.T
    if not len(basis):
        raise BiasflowError("inlp: no linear classifier tells the genders of these vectors apart; nothing to erase")
    return replace(Eraser.projection(basis.float()), accuracy=X.new_tensor(accuracy[1:]).float())
