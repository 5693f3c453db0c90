"""Vectors of texts, and the linear layers that read them, as files. Imports no transformers: probes start quickly."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from scripts.biasflow.base.errors import BiasflowError

HEAD = "head.safetensors"  # the linear layer, beside the files of its encoder


@dataclass(frozen=True)
class Vectors:
    """The first token's vectors, [n, hidden], float16 from a GPU and float32 otherwise; how many texts were cut."""

    vectors: torch.Tensor
    truncated: int


def save_vectors(found: Mapping[str, Vectors], path: str | Path) -> None:
    """Write the vectors of each set of texts under its name as safetensors."""
    save_file({name: each.vectors.contiguous() for name, each in found.items()}, path)


def load_vectors(path: str | Path) -> dict[str, torch.Tensor]:
    """Name of a set of texts -> its vectors, from `save_vectors`; BiasflowError naming the file if it is damaged."""
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise BiasflowError(f"{path}: no whole file of vectors ({error}); delete it and run again.") from error


def save_head(weight: torch.Tensor, bias: torch.Tensor, folder: str | Path) -> None:
    """Write weight [labels, hidden] and bias [labels] of a linear layer into the folder of its encoder."""
    save_file({"weight": weight.cpu().contiguous(), "bias": bias.cpu().contiguous()}, Path(folder) / HEAD)


def load_head(folder: str | Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight [labels, hidden] and bias [labels] of the linear layer that was saved with the encoder in `folder`."""
    path = Path(folder) / HEAD
    try:
        tensors = load_file(path)
        return tensors["weight"], tensors["bias"]
    except (SafetensorError, OSError, KeyError) as error:
        raise BiasflowError(f"{path}: no linear layer can be read ({error}); fine-tune the encoder again.") from error
