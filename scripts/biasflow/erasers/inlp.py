"""INLP: project out a linear classifier of gender, fit the next one to the rest, and so on."""

from dataclasses import replace

import torch

from biasflow.base.errors import BiasflowError, check_choice
from biasflow.erasers.directions import each_head, mean_difference, standardised
from biasflow.erasers.eraser import Eraser

TOLERANCE = 1e-3  # of the largest component of the gradient: the next classifier starts from the rest
CHANCE = 0.5  # balanced accuracy of whoever does not look at the vectors
BALANCED, MAJORITY = "balanced", "majority"
ITERATIONS = 10_000  # far more than a fit needs: it ends by its tolerance


@each_head
def fit(
    X: torch.Tensor,
    z: torch.Tensor,
    *,
    pairs: torch.Tensor | None = None,
    classifiers: int = 100,
    stop_at: str = BALANCED,
) -> Eraser:
    """Iterative null-space projection (Ravfogel et al. 2020): project out the weights of classifier after classifier.

    X: [n, d] or [n, heads, d]; z: [n], 0 masculine, 1 feminine; pairs plays no part. A logistic regression (with
    scikit-learn's C = 1, on X about its mean in units of its root mean square) is trained on X, its weight vector is
    one more direction, and the next one is trained on X projected on the null space of all directions so far. That is
    the intersection of the classifiers' null spaces: all directions are made orthonormal together, and X itself is
    projected, so that rounding does not add up as it does in a product of projections.

    Both genders have the same weight, however many vectors either has. The fit ends when a classifier's balanced
    accuracy (the mean of both genders' recalls) is 0.5 or less, which is chance, or after `classifiers` of them. The
    accuracy itself would stop too early where one gender is rare: a classifier that always says the other one is as
    accurate as the majority is large, while a linear classifier may still rank the two well. So the rank differs from
    place to place; `accuracy` is the balanced accuracy of a linear classifier after each direction, on the vectors it
    was fitted to. Where the last one lies above 0.5, there were too few: gender in words in context takes dozens, and
    a single direction leaves nearly all (of biographies 0.94).

    stop_at="majority" is the rule of the released code: every vector has the same weight, and the fit ends when a
    classifier is no more accurate than the share of the commoner gender. Computed in float64.
    BiasflowError: no vectors of a gender, NaN, vectors that are all equal, genders with the same mean (then no linear
    classifier tells them apart), fewer than one classifier, or another stop_at."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import balanced_accuracy_score

    if classifiers < 1:
        raise BiasflowError(f"inlp: classifiers is {classifiers}; it must be at least 1")
    check_choice("inlp: stop_at", stop_at, (BALANCED, MAJORITY))
    balanced = stop_at == BALANCED
    mean_difference("inlp", X, z)
    X, genders, most = standardised("inlp", X), z.cpu().numpy(), min(classifiers, X.shape[1])
    chance = CHANCE if balanced else max(genders.mean(), 1 - genders.mean())
    options = {"class_weight": "balanced" if balanced else None, "tol": TOLERANCE, "max_iter": ITERATIONS}
    basis, accuracy = X.new_empty(0, X.shape[1]), []
    while True:
        rest = (X - X @ basis.T @ basis).cpu().numpy()
        classifier = LogisticRegression(**options).fit(rest, genders)
        predicted = classifier.predict(rest)
        accuracy.append(balanced_accuracy_score(genders, predicted))
        reached = accuracy[-1] if balanced else (predicted == genders).mean()
        if reached <= chance or len(basis) == most:
            break
        # Each direction lies in the null space of those before it, up to rounding: QR keeps their order.
        directions = torch.cat([basis, torch.from_numpy(classifier.coef_).to(X)])
        basis = torch.linalg.qr(directions.T).Q.T
    if not len(basis):
        raise BiasflowError(
            "inlp: no linear classifier tells the genders of these vectors apart, so there is nothing to erase"
        )
    return replace(Eraser.projection(basis.float()), accuracy=X.new_tensor(accuracy[1:]).float())
