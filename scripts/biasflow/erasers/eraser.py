"""What every eraser is once it is fitted: orthonormal directions, and how much of each to remove."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from scripts.biasflow.base.errors import BiasflowError


@dataclass(frozen=True)
class Eraser:
    """A projection h' = h - sum_i w_i <h, g_i> g_i (Dawkins et al. 2024, eq. 5).

    basis:   [..., k, d], orthonormal rows g_i; leading dimensions (attention heads) each have a subspace of their own.
    weights: [..., k], w_i in [0, 1]; 1 removes direction i, 0 leaves it.
    A fitted eraser carries the share of variance that each direction explains as its weight; `with_setting` turns
    these into the weights of one intervention."""

    basis: torch.Tensor
    weights: torch.Tensor

    def __post_init__(self):
        if self.basis.shape[:-1] != self.weights.shape:
            raise ValueError(f"basis {tuple(self.basis.shape)} and weights {tuple(self.weights.shape)} do not fit")

    @property
    def components(self) -> int:
        return self.basis.shape[-2]

    def coordinates(self, h: torch.Tensor) -> torch.Tensor:
        """<h, g_i>: h is [..., d] (with heads: [..., heads, d]); the result is [..., k]."""
        if self.basis.dim() == 2:
            return h @ self.basis.T
        return torch.einsum("...hd,hkd->...hk", h, self.basis)

    def apply(self, h: torch.Tensor) -> torch.Tensor:
        """h' of the same shape as h: [..., d], or [..., heads, d] for an eraser with a subspace per head."""
        weighted = self.coordinates(h) * self.weights
        if self.basis.dim() == 2:
            return h - weighted @ self.basis
        return h - torch.einsum("...hk,hkd->...hd", weighted, self.basis)

    def with_setting(self, *, weighted: bool, components: int) -> "Eraser":
        """The eraser of one intervention: its first `components` directions, with weights v_i^n (n = weighted)."""
        if components > self.components:
            raise BiasflowError(f"the subspace has {self.components} direction(s), the intervention needs {components}")
        weights = self.weights[..., :components]
        return Eraser(self.basis[..., :components, :], weights if weighted else torch.ones_like(weights))

    def to(self, like: torch.Tensor) -> "Eraser":
        """The same eraser on the device and in the precision of `like`."""
        return replace(self, basis=self.basis.to(like), weights=self.weights.to(like))

    def state(self, name: str) -> dict[str, torch.Tensor]:
        """Named tensors for a safetensors file; `from_state` is the inverse."""
        return {f"{name}/basis": self.basis.contiguous(), f"{name}/weights": self.weights.contiguous()}

    @classmethod
    def from_state(cls, tensors: Mapping[str, torch.Tensor], name: str) -> "Eraser":
        return cls(tensors[f"{name}/basis"], tensors[f"{name}/weights"])


def save_erasers(erasers: Mapping[str, Eraser], path: str | Path) -> None:
    """Write erasers by name (a place in an encoder, say) as one safetensors file."""
    tensors = {}
    for name, eraser in erasers.items():
        tensors.update(eraser.state(name))
    save_file(tensors, path)


def load_erasers(path: str | Path) -> dict[str, Eraser]:
    """The erasers that `save_erasers` wrote, sorted by name; BiasflowError names a file that is no such thing."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
        names = sorted(key.removesuffix("/basis") for key in tensors if key.endswith("/basis"))
        return {name: Eraser.from_state(tensors, name) for name in names}
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise BiasflowError(f"{path}: not a whole file of erasers ({error}); delete it and run again") from error
