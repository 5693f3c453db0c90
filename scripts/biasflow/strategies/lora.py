"""Low-rank adapters: of the encoder's matrices only an update of low rank is trained, and nothing else of the encoder.

A matrix W becomes W + alpha / rank * B A, with A [rank, inputs] random and B [outputs, rank] zero at first. What is new
for the task is trained as ever: its head, and the pooler between the two. When the training has ended, the updates are
added to the matrices.

Source: Hu et al. (2022), for all linear maps of the encoder rather than two of them."""

import math

import torch
from torch import nn
from torch.nn.utils.parametrize import is_parametrized, register_parametrization, remove_parametrizations

POOLER = "pooler"  # in the names of its parts, where an encoder has one


class LowRankUpdate(nn.Module):
    """Adds an update of low rank to a matrix (a parametrisation of torch)."""

    def __init__(self, matrix: torch.Tensor, *, rank: int, alpha: float):
        super().__init__()
        outputs, inputs = matrix.shape
        down = torch.empty(rank, inputs)
        nn.init.kaiming_uniform_(down, a=math.sqrt(5))  # as the weights of any new linear layer
        self.down, self.up = nn.Parameter(down.to(matrix)), nn.Parameter(matrix.new_zeros(outputs, rank))
        self.scale = alpha / rank

    def forward(self, matrix: torch.Tensor) -> torch.Tensor:
        return matrix + self.scale * self.up @ self.down


def adapt(model: nn.Module, *, rank: int = 8, alpha: float = 16.0) -> nn.Module:
    """Return the model, which computes what it did, with updates of `rank` to be trained in place of its encoder."""
    for name, weights in model.base_model.named_parameters():
        weights.requires_grad_(POOLER in name)
    for name, module in list(model.base_model.named_modules()):
        if isinstance(module, nn.Linear) and POOLER not in name:
            register_parametrization(module, "weight", LowRankUpdate(module.weight.detach(), rank=rank, alpha=alpha))
    return model


def finish(model: nn.Module) -> None:
    """Add the updates to the matrices, in place."""
    for module in model.base_model.modules():
        if is_parametrized(module, "weight"):
            remove_parametrizations(module, "weight")
    model.requires_grad_(True)
