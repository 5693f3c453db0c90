"""Functions that erasers share: checked vectors of two genders, heads fitted one by one, scaling, leading
eigenvectors."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral, Real

import torch
from torch.nn.functional import one_hot

from biasflow.base.errors import BiasflowError, nearest
from biasflow.base.genders import FEMININE, MASCULINE
from biasflow.erasers.eraser import Eraser, Vectors, numbers_of

log = logging.getLogger(__name__)
SAME = 1e-6  # of the vectors' length: a shorter one is rounding of float32, and its direction is noise


def each_head(fit: Callable[..., Eraser]) -> Callable[..., Eraser]:
    """Extend a `fit` for vectors [n, d] to vectors [n, heads, d], for which every head is fitted separately.

    The fit inside gets checked arguments: X [n, d] finite, in float64; z [n], true for feminine, both genders there;
    pairs [n_pairs, 2], whole numbers, or None; options that it has, of the type of their default. What is wrong with
    them is a BiasflowError in the name of the eraser."""
    eraser = fit.__module__.rpartition(".")[2]
    options_of = {name: option.default for name, option in signature(fit).parameters.items()}
    defaults = {name: default for name, default in options_of.items() if default is not Parameter.empty}

    @wraps(fit)
    def fit_each(X: Vectors, z: Vectors, *, pairs: Vectors | None = None, **options) -> Eraser:
        for name, value in options.items():
            _check_option(eraser, name, value, defaults)
        X, z = checked_vectors(eraser, X, z)
        pairs = None if pairs is None else checked_pairs(eraser, pairs, z)
        if X.dim() == 2:
            return fit(X, z, pairs=pairs, **options)
        return Eraser.stack([fit(head, z, pairs=pairs, **options) for head in X.unbind(1)])

    return fit_each


def _check_option(eraser: str, name: str, value: object, defaults: Mapping[str, object]) -> None:
    """BiasflowError for an option that the eraser does not have, or of another type than its default."""
    if name not in defaults:
        raise BiasflowError(f"{eraser}: it has no option {name!r}; {nearest(name, defaults)}")
    default = defaults[name]
    kind, is_right = {
        bool: ("true or false", isinstance(value, bool)),
        int: ("a whole number", isinstance(value, Integral) and not isinstance(value, bool)),
        float: ("a finite number", _is_finite(value)),
        str: ("a name", isinstance(value, str)),
        tuple: ("two finite numbers", isinstance(value, Sequence) and len(value) == 2 and all(map(_is_finite, value))),
    }.get(type(default), ("", True))
    if not is_right:
        raise BiasflowError(f"{eraser}: {name} is {value!r}; it must be {kind}, such as {default!r}")


def _is_finite(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def checked_vectors(eraser: str, X: Vectors, z: Vectors) -> tuple[torch.Tensor, torch.Tensor]:
    """Return X [n, d] or [n, heads, d] in float64, and z [n] as booleans (true: feminine), or raise BiasflowError."""
    X = numbers_of(f"{eraser}: X (the vectors)", X).detach()
    z = numbers_of(f"{eraser}: z (the genders, 0 masculine, 1 feminine)", z).detach()
    if X.dim() not in (2, 3) or not X.shape[-1] or z.shape != X.shape[:1]:
        raise BiasflowError(
            f"{eraser}: X (the vectors) is {tuple(X.shape)}, z (the genders) {tuple(z.shape)}; they must be [n, d] or "
            "[n, heads, d], and [n]"
        )
    if not ((z == 0) | (z == 1)).all():
        raise BiasflowError(f"{eraser}: z (the genders) must be 0 (masculine) or 1 (feminine)")
    z = z == 1
    for gender, members in ((MASCULINE, ~z), (FEMININE, z)):
        if not members.any():
            raise BiasflowError(f"{eraser}: there are no {gender} vectors; give at least one")
    if not torch.isfinite(X).all():
        raise BiasflowError(f"{eraser}: the vectors hold NaN or infinite values; check the encoder")
    return X.double(), z.to(X.device)


def checked_pairs(eraser: str, pairs: Vectors, z: torch.Tensor) -> torch.Tensor:
    """Return pairs [n_pairs, 2] of row numbers (masculine, feminine); BiasflowError for anything else."""
    pairs = numbers_of(f"{eraser}: pairs (row numbers)", pairs).to(z.device)
    is_whole = not pairs.is_floating_point() and pairs.dtype != torch.bool
    if pairs.dim() != 2 or pairs.shape[1] != 2 or not len(pairs) or not is_whole:
        raise BiasflowError(f"{eraser}: pairs are {tuple(pairs.shape)}; they must be row numbers [n_pairs, 2]")
    if pairs.min() < 0 or pairs.max() >= len(z) or z[pairs[:, 0]].any() or not z[pairs[:, 1]].all():
        raise BiasflowError(f"{eraser}: pairs must name a masculine row, then a feminine one, of {len(z)} rows")
    return pairs


def warn_of_few(eraser: str, X: torch.Tensor) -> None:
    """Say, where vectors X [n, d] are too few for a covariance of full rank, that other vectors are erased badly."""
    n, d = X.shape
    if n <= d:
        log.warning("%s: X has %d rows of %d numbers; give well above %d, or other vectors keep much", eraser, n, d, d)


def is_rounding(differences: torch.Tensor, X: torch.Tensor) -> bool:
    """Return whether differences [..., d] of vectors X [n, d] are so short (SAME) that they are only rounding."""
    length, of_vectors = ((rows.square().sum(-1)).mean().sqrt() for rows in (differences, X))
    return not length > SAME * of_vectors


def class_columns(eraser: str, y: Vectors, X: torch.Tensor) -> torch.Tensor:
    """The classes y [n] of the rows of X as columns of 0 and 1, [n, classes] in float64, or BiasflowError."""
    y = numbers_of(f"{eraser}: y (the numbers of the classes)", y).to(X.device)
    if y.shape != X.shape[:1] or y.is_floating_point():
        raise BiasflowError(f"{eraser}: y is {tuple(y.shape)} of {y.dtype}; it must hold {len(X)} whole numbers")
    return one_hot(y.unique(return_inverse=True)[1]).double()


def mean_difference(eraser: str, X: torch.Tensor, z: torch.Tensor, y: Vectors | None = None) -> torch.Tensor:
    """Return the feminine minus the masculine mean of X [n, d]: [d]; BiasflowError if it is only rounding.

    y: classes [n], whose means are taken off first (None: nothing is). Times the shares of both genders the result is
    the covariance of X with z, or with y that of X with z - P(z | y), a gender minus its share in the class."""
    if y is not None:
        classes = class_columns(eraser, y, X)
        X = X - classes @ (classes.T @ X / classes.sum(0)[:, None])
    difference = X[z].mean(0) - X[~z].mean(0)
    if is_rounding(difference, X):
        raise BiasflowError(
            f"{eraser}: both genders have the same mean in these vectors, so that there is nothing to erase; fit it at "
            "another place, or to other words or texts"
        )
    return difference


def check_components(eraser: str, components: int, available: int) -> None:
    """Raise BiasflowError if more directions (`components`) are asked for than are available."""
    if not 1 <= components <= available:
        raise BiasflowError(f"{eraser}: components is {components}; these vectors allow 1 to {available}")


def centred(eraser: str, X: torch.Tensor) -> torch.Tensor:
    """Return X [n, d] about its mean; BiasflowError if all rows are equal."""
    rows = X - X.mean(0)
    if is_rounding(rows, X):
        raise BiasflowError(f"{eraser}: all vectors are equal; nothing can be fitted to them")
    return rows


def standardised(eraser: str, X: torch.Tensor) -> torch.Tensor:
    """Return X [n, d] centred and divided by its root mean square coordinate, as `centred`.

    Classifiers with a penalty find the same directions in vectors of any scale then."""
    rows = centred(eraser, X)
    return rows / rows.square().mean().sqrt()


def leading(matrix: torch.Tensor, components: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest eigenvalues [k], descending, and their eigenvectors as rows [k, d].

    matrix: [d, d], symmetric. Each row's largest coordinate is positive, so that a fit is the same every time."""
    eigenvalues, eigenvectors = torch.linalg.eigh(matrix)  # ascending
    rows = eigenvectors.T.flip(0)[:components]
    largest = rows.abs().argmax(-1, keepdim=True)
    return eigenvalues.flip(0)[:components], rows * rows.gather(-1, largest).sign()


def without_principal(rows: torch.Tensor, components: int) -> Eraser:
    """Return the projection that takes out the leading principal components of rows [n, d] about the origin, each with
    its share of their variance."""
    scatter = rows.T @ rows
    eigenvalues, basis = leading(scatter, components)
    shares = eigenvalues.clamp_min(0) / scatter.trace()  # rounding makes zeros negative
    return Eraser.projection(basis.float(), explained_variance=shares.float())


def oblique(measured: torch.Tensor, taken_out: torch.Tensor, center: torch.Tensor) -> Eraser:
    """Return the eraser h' = h - <h - c, measured> taken_out, all of them [d].

    One of many ways to share the length between the two: both get the same, so that neither loses digits."""
    scale = (taken_out.norm() / measured.norm()).sqrt()
    right, left = scale * measured, taken_out / scale
    return Eraser(right[:, None].float(), left[None].float(), right.new_ones(1).float(), center.float())
