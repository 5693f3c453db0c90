"""The linear layer on an encoder's first token, as a file beside the encoder's. Imports no transformers."""

from pathlib import Path

import torch

from biasflow.base.tensors import open_tensors, save_tensors

HEAD = "head.safetensors"


def save_head(weight: torch.Tensor, bias: torch.Tensor, folder: str | Path) -> None:
    """Write weight [labels, hidden] and bias [labels] of a linear layer into the folder of its encoder."""
    save_tensors({"weight": weight.cpu().contiguous(), "bias": bias.cpu().contiguous()}, Path(folder) / HEAD)


def load_head(folder: str | Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight [labels, hidden] and bias [labels] of the linear layer that was saved with the encoder in `folder`."""
    advice = "fine-tune the encoder again"
    with open_tensors(Path(folder) / HEAD, "linear layer", framework="pt", advice=advice) as file:
        return file.get_tensor("weight"), file.get_tensor("bias")
