"""A fitted eraser: an affine map of low rank that takes something out of a vector."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from numbers import Real
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import pad

from biasflow.base.errors import BiasflowError
from biasflow.base.tensors import open_tensors, save_tensors

Vectors = torch.Tensor | np.ndarray | Sequence  # and data frames: what `numbers_of` takes


def numbers_of(name: str, values: Vectors) -> torch.Tensor:
    """The numbers of a tensor, an array, a frame or lists, as a tensor of their type; BiasflowError, which begins with
    the name, for anything else."""
    try:
        if isinstance(values, list | tuple) and values and all(map(torch.is_tensor, values)):
            values = torch.stack(list(values))
        if not torch.is_tensor(values):
            array = np.asarray(values)
            if array.dtype.kind == "O" and array.size and all(isinstance(value, Real) for value in array.flat):
                array = np.array(array.tolist())  # columns of a frame that hold numbers of several types
            if array.dtype.kind not in "buif":
                raise TypeError
            # torch takes neither a view backwards nor another byte order, and pandas gives arrays that are read-only.
            values = torch.as_tensor(np.require(array, array.dtype.newbyteorder("="), requirements=["C", "W"]))
        if values.is_complex():
            raise TypeError
    except (TypeError, ValueError, RuntimeError) as error:
        kind = f"a {type(values).__name__}" if values is not None else "None"
        raise BiasflowError(
            f"{name} is {kind}, not numbers in rows of one length; give an array or a tensor"
        ) from error
    return values


@dataclass(frozen=True, eq=False)
class Eraser:
    """A fitted eraser: h' = h - (h - c) R diag(w) L for rows h; every attention head (leading dimension) has its map.

    right R:  [..., d, k]; the coordinates (h - c) R say how much there is to take out.
    left L:   [..., k, d]; row i is the direction along which coordinate i is taken out.
    weights:  [..., k]; 1 takes all of coordinate i out, 0 nothing.
    center c: [..., d], or None: the origin.
    explained_variance: [..., k], the share of variance that each direction explains, or None where the directions are
    not ordered by it; `with_setting` needs it.
    accuracy: [..., k], balanced, of a linear classifier on what is left after each direction is taken out, or None
    where the directions do not come from one (INLP has it).
    An orthogonal projection has R = L' (Dawkins et al. 2024, eq. 5: see `projection`); where L R = I, but R is not L',
    the projection is oblique (LEACE)."""

    right: torch.Tensor
    left: torch.Tensor
    weights: torch.Tensor
    center: torch.Tensor | None = None
    explained_variance: torch.Tensor | None = None
    accuracy: torch.Tensor | None = None

    def __post_init__(self):
        *heads, d, k = self.right.shape
        of_direction = dict.fromkeys(("weights", "explained_variance", "accuracy"), (*heads, k))
        for name, shape in {"left": (*heads, k, d), "center": (*heads, d), **of_direction}.items():
            part = getattr(self, name)
            if part is not None and tuple(part.shape) != shape:
                raise ValueError(f"{name} is {tuple(part.shape)}; with right {tuple(self.right.shape)} it is {shape}")

    @classmethod
    def projection(
        cls,
        basis: torch.Tensor,
        weights: torch.Tensor | None = None,
        explained_variance: torch.Tensor | None = None,
    ) -> "Eraser":
        """Project out the orthonormal rows g_i of basis [..., k, d]: h' = h - sum_i w_i <h, g_i> g_i; w_i = 1 by
        default."""
        weights = basis.new_ones(basis.shape[:-1]) if weights is None else weights
        return cls(basis.mT.contiguous(), basis, weights, explained_variance=explained_variance)

    @classmethod
    def stack(cls, erasers: Sequence["Eraser"]) -> "Eraser":
        """Combine `erasers` into one with a head for each; fewer directions than the others' are filled up with weight
        0."""
        most = max(eraser.components for eraser in erasers)
        parts = zip(*(eraser._filled_up(most)._parts().values() for eraser in erasers), strict=True)
        return cls(*(None if part[0] is None else torch.stack(part) for part in parts))

    @property
    def components(self) -> int:
        """The number of directions that are removed."""
        return self.right.shape[-1]

    @property
    def heads(self) -> bool:
        """Whether every attention head has its own map."""
        return self.right.dim() > 2

    def coordinates(self, h: Vectors) -> torch.Tensor:
        """Return (h - c) R: h is [..., d] (with heads: [..., heads, d]), the result [..., k], in float32 or better.

        h: a tensor, or what `numbers_of` takes. BiasflowError for vectors of another length."""
        h = self._checked(h)
        with torch.autocast(h.device.type, enabled=False):
            precise = h.to(torch.promote_types(h.dtype, torch.float32))
            eraser = self.to(precise)
            centred = precise if eraser.center is None else precise - eraser.center
            return torch.einsum("...hd,hdk->...hk", centred, eraser.right) if self.heads else centred @ eraser.right

    def apply(self, h: Vectors) -> torch.Tensor:
        """Return the erased h' as a tensor, in the shape, type and device of h: [..., d], or [..., heads, d] for an
        eraser with heads; whole numbers become float32. h: a tensor, or what `numbers_of` takes.

        Computed in float32 or better, also under autocast: half precision would leave a part of what is taken out.
        BiasflowError for vectors of another length."""
        h = self._checked(h)
        with torch.autocast(h.device.type, enabled=False):
            taken = self.coordinates(h)
            eraser = self.to(taken)
            taken = taken * eraser.weights
            taken = torch.einsum("...hk,hkd->...hd", taken, eraser.left) if self.heads else taken @ eraser.left
            return (h.to(taken) - taken).to(h.dtype)

    def _checked(self, h: Vectors) -> torch.Tensor:
        """The vectors as a tensor of floating-point numbers."""
        h = numbers_of("eraser: h (the vectors)", h)
        ends = (*self.right.shape[:-2], self.right.shape[-2])
        if tuple(h.shape[-len(ends) :]) != ends:
            end = ", ".join(map(str, ends))
            raise BiasflowError(f"eraser: h (the vectors) is {tuple(h.shape)}; this eraser was fitted to [..., {end}]")
        return h if h.is_floating_point() else h.float()

    def with_setting(self, *, weighted: bool, components: int) -> "Eraser":
        """Return the eraser for one setting of paper B: its first `components` directions, with weights v_i (the
        explained variance) if `weighted`, and 1 otherwise."""
        if components > self.components:
            raise BiasflowError(f"the eraser has {self.components} direction(s), the setting needs {components}")
        if self.explained_variance is None:
            raise BiasflowError("the eraser's directions are not ordered by variance; take one whose are, such as pca")
        shares = self.explained_variance[..., :components]
        weights = shares if weighted else torch.ones_like(shares)
        return Eraser(self.right[..., :components], self.left[..., :components, :], weights, self.center, shares)

    def to(self, where: torch.Tensor | torch.device | torch.dtype) -> "Eraser":
        """Return the same eraser on a device, or in a precision; for a tensor, in both of the tensor."""
        return Eraser(*(None if part is None else part.to(where) for part in self._parts().values()))

    def _filled_up(self, components: int) -> "Eraser":
        """The same map with directions of weight 0 at the end; what is said of them is NaN."""
        more = components - self.components
        about = {name: getattr(self, name) for name in ("explained_variance", "accuracy")}
        return replace(
            self,
            right=pad(self.right, (0, more)),
            left=pad(self.left, (0, 0, 0, more)),
            weights=pad(self.weights, (0, more)),
            **{name: None if part is None else pad(part, (0, more), value=math.nan) for name, part in about.items()},
        )

    def _parts(self) -> dict[str, torch.Tensor | None]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def state(self, name: str) -> dict[str, torch.Tensor]:
        """Named tensors for a safetensors file; `load_erasers` reads them."""
        # Cloned, because the parts of a projection may share memory, which safetensors refuses.
        return {f"{name}/{key}": part.contiguous().clone() for key, part in self._parts().items() if part is not None}


def save_erasers(erasers: Mapping[str, Eraser], path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write erasers by name (a place in an encoder, say) as one safetensors file, whole or not at all."""
    tensors = {}
    for name, eraser in erasers.items():
        tensors |= eraser.state(name)
    save_tensors(tensors, path, metadata=metadata)


def load_erasers(path: str | Path, names: Iterable[str]) -> dict[str, Eraser]:
    """Read these erasers from a file that `save_erasers` wrote; BiasflowError names one of another kind, or without
    them."""
    with open_tensors(path, "file of erasers", framework="pt") as file:
        stored = {*file.keys()}
        return {
            name: Eraser(
                **{
                    part.name: file.get_tensor(f"{name}/{part.name}")
                    for part in fields(Eraser)
                    if part.default is MISSING or f"{name}/{part.name}" in stored
                }
            )
            for name in names
        }


def load_metadata(path: str | Path) -> dict[str, str]:
    """Read the metadata that `save_erasers` wrote."""
    with open_tensors(path, "file of erasers") as file:
        return file.metadata() or {}
