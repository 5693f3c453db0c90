"""What the erasers share: checked vectors of two genders, and the leading eigenvectors of a symmetric matrix."""

from collections.abc import Mapping

import torch

from scripts.biasflow.base.errors import BiasflowError


def check_vectors(eraser: str, vectors: Mapping[str, torch.Tensor]) -> None:
    """BiasflowError unless all of `vectors` (name -> [n, d]) are finite and non-empty and have the same d."""
    for name, X in vectors.items():
        if X.dim() != 2:
            raise BiasflowError(f"{eraser}: {name} vectors are {tuple(X.shape)}; they must be [n, d]")
        if len(X) == 0:
            raise BiasflowError(f"{eraser}: there are no {name} vectors; give at least one")
        if not torch.isfinite(X).all():
            raise BiasflowError(f"{eraser}: {name} vectors hold NaN or infinite values; check the encoder")
    if len({X.shape[1] for X in vectors.values()}) > 1:
        sizes = ", ".join(f"{name} {X.shape[1]}" for name, X in vectors.items())
        raise BiasflowError(f"{eraser}: vectors of different dimensions ({sizes}); take them from one place")


def join(eraser: str, masculine: torch.Tensor, feminine: torch.Tensor) -> torch.Tensor:
    """The checked vectors of both genders, masculine first, as [n_m + n_f, d] in float64."""
    check_vectors(eraser, {"masculine": masculine, "feminine": feminine})
    return torch.cat([masculine, feminine]).double()


def check_components(eraser: str, components: int, available: int) -> None:
    """BiasflowError unless there are `components` directions to be had."""
    if not 1 <= components <= available:
        raise BiasflowError(f"{eraser}: components is {components}; these vectors allow 1 to {available}")


def leading(matrix: torch.Tensor, components: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest eigenvalues [..., k], descending, and their eigenvectors as rows [..., k, d].

    matrix: [..., d, d], symmetric. Each row's largest coordinate is positive, so that a fit is the same every time."""
    eigenvalues, eigenvectors = torch.linalg.eigh(matrix)
    dimension = matrix.shape[-1]
    order = torch.arange(dimension - 1, dimension - 1 - components, -1, device=matrix.device)  # eigh sorts ascending
    rows = eigenvectors[..., order].transpose(-1, -2)
    largest = rows.abs().argmax(-1, keepdim=True)
    return eigenvalues[..., order], rows * rows.gather(-1, largest).sign()
