"""The linear layer on an encoder's first token, as a file beside the encoder's. Imports no transformers."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from biasflow.base.errors import BiasflowError
from biasflow.base.tensors import save_tensors

HEAD = "head.safetensors"


def save_head(weight: torch.Tensor, bias: torch.Tensor, folder: str | Path) -> None:
    """Write weight [labels, hidden] and bias [labels] of a linear layer into the folder of its encoder."""
    save_tensors({"weight": weight.cpu().contiguous(), "bias": bias.cpu().contiguous()}, Path(folder) / HEAD)


def load_head(folder: str | Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight [labels, hidden] and bias [labels] of the linear layer that was saved with the encoder in `folder`."""
    path = Path(folder) / HEAD
    try:
        tensors = load_file(path)
        return tensors["weight"], tensors["bias"]
    except (SafetensorError, OSError, KeyError) as error:
        raise BiasflowError(f"{path}: no linear layer can be read ({error}); fine-tune the encoder again.") from error
