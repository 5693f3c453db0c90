"""The attention weights of a model: how much attention every token of a text receives."""

import contextlib
from collections.abc import Iterator, Sequence

import torch
from transformers import PreTrainedModel


@contextlib.contextmanager
def by_hand(model: PreTrainedModel) -> Iterator[None]:
    """While the context is open, the model computes its attention weights step by step: the fused kernels, which it
    uses otherwise, return none. ValueError for an architecture that has no such code."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(before)


@torch.inference_mode()
def returns_attention(model: PreTrainedModel) -> bool:
    """Whether the model can say its attention weights: one of an unknown architecture may return none."""
    try:
        with by_hand(model):
            found = model(input_ids=torch.zeros(1, 1, dtype=torch.long, device=model.device), output_attentions=True)
    except ValueError:
        return False
    layers = found.get("attentions")
    return bool(layers) and all(each is not None and each.dim() == 4 for each in layers)


def attention_received(layers: Sequence[torch.Tensor], attention_mask: torch.Tensor) -> torch.Tensor:
    """The attention that each token receives: the mean over layers, heads and the tokens that attend: [batch, tokens].

    layers: the weights of each layer, [batch, heads, tokens that attend, tokens], whose rows sum to 1.
    attention_mask [batch, tokens]: 0 where padding stands, which attends to nothing. Over a text they sum to 1."""
    attending = attention_mask / attention_mask.sum(-1, keepdim=True)
    return torch.stack([torch.einsum("bhqk,bq->bk", each, attending) / each.shape[1] for each in layers]).mean(0)
