"""Vectors of two genders as an eraser's fit takes them, and a probe of what is left of gender."""

import torch
from sklearn.linear_model import LogisticRegression


def labelled(masculine: torch.Tensor, feminine: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """X and z of the vectors of both genders, in turns as far as both have any: a fit must not need an order."""
    X, z = torch.cat([masculine, feminine]), torch.arange(len(masculine) + len(feminine)) >= len(masculine)
    order = torch.argsort(torch.cat([torch.arange(len(masculine)), torch.arange(len(feminine))]), stable=True)
    return X[order], z[order]


def of_pairs(pairs: torch.Tensor) -> dict[str, torch.Tensor]:
    """The arguments of a fit for pairs [n, 2, ...], the masculine member first."""
    rows = torch.arange(2 * len(pairs))
    return {"X": pairs.flatten(0, 1), "z": rows % 2, "pairs": rows.reshape(-1, 2)}


def two_genders(
    n: int = 60, d: int = 8, *, heads: tuple[int, ...] = (), seed: int = 0, share: float = 0.4
) -> tuple[torch.Tensor, torch.Tensor]:
    """Correlated vectors off the origin whose genders differ along a random direction, `share` of them feminine."""
    generator = torch.Generator().manual_seed(seed)
    mix = torch.eye(d) + torch.randn(*heads, d, d, generator=generator) / d**0.5
    z = torch.arange(n) < share * n
    X = torch.randn(n, *heads, d, generator=generator)
    X = torch.einsum("n...d,...de->n...e", X, mix) + 3 * torch.randn(*heads, d, generator=generator)
    X[z] += 2 * torch.nn.functional.normalize(torch.randn(*heads, d, generator=generator), dim=-1)
    return X, z.long()


def probe(X: torch.Tensor, z: torch.Tensor) -> float:
    """Accuracy of a fresh linear probe on the vectors it was trained on."""
    return LogisticRegression(C=1e4, max_iter=2000).fit(X.numpy(), z.numpy()).score(X.numpy(), z.numpy())
