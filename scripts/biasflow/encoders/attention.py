"""The attention weights of a model: how much attention every token of a text receives."""

import contextlib
from collections.abc import Iterator, Sequence

import torch
from transformers import PreTrainedModel

PROBED = 7  # tokens, the last of them padding


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
    """Whether the model gives attention weights of every token to every token, which sum to 1 over a text: one of an
    unknown architecture may return none, those of a window, or scores."""
    ids = torch.arange(5, 5 + PROBED)[None] % model.get_input_embeddings().num_embeddings
    mask = (torch.arange(PROBED) < PROBED - 1).long()[None]
    batch = {"input_ids": ids.to(model.device), "attention_mask": mask.to(model.device)}
    try:
        with by_hand(model):
            layers = model(**batch, output_attentions=True).get("attentions") or ()
    except (ValueError, RuntimeError, IndexError, TypeError):
        return False
    if not layers or any(layer is None or layer.dim() != 4 or layer.shape[-2:] != (PROBED, PROBED) for layer in layers):
        return False
    real = torch.stack([layer[0, :, :-1].float().mean(0) for layer in layers])  # by the tokens that are no padding
    return torch.allclose(real[..., :-1].sum(-1), torch.ones(()).to(real), atol=1e-3)


def attention_received(layers: Sequence[torch.Tensor], attention_mask: torch.Tensor) -> torch.Tensor:
    """The attention that each token receives: the mean over layers, heads and the tokens that attend: [batch, tokens].

    layers: the weights of each layer, [batch, heads, tokens that attend, tokens], whose rows sum to 1.
    attention_mask [batch, tokens]: 0 where padding stands, which attends to nothing. Over a text they sum to 1."""
    attending = attention_mask / attention_mask.sum(-1, keepdim=True)
    return torch.stack([torch.einsum("bhqk,bq->bk", layer, attending) / layer.shape[1] for layer in layers]).mean(0)
