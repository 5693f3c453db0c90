"""A linear classifier on an encoder's first token: a layer in a file beside the encoder's. Imports no transformers."""

from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from biasflow.base.tensors import open_tensors, save_tensors
from biasflow.encoders.stored import HEAD
from biasflow.encoders.taps import last_state


class FirstTokenClassifier(nn.Module):
    """An encoder and a linear layer on the state of its first token in the last layer.

    No pooler and no dropout lie between the two (Orgad et al. 2022, section 4.1, as released)."""

    def __init__(self, encoder: nn.Module, head: nn.Linear):
        super().__init__()
        self.base_model, self.head, self.config = encoder, head, encoder.config
        self.config.num_labels = head.out_features

    @classmethod
    def load(cls, encoder: nn.Module, folder: str | Path) -> "FirstTokenClassifier":
        """An encoder with the linear layer that lies in its folder."""
        weight, bias = load_head(folder)
        head = nn.Linear(*reversed(weight.shape))
        head.load_state_dict({"weight": weight, "bias": bias})
        return cls(encoder, head)

    @property
    def device(self) -> torch.device:
        return self.head.weight.device

    @property
    def dtype(self) -> torch.dtype:
        return self.head.weight.dtype

    def states(self, input_ids, attention_mask, token_type_ids=None) -> torch.Tensor:
        """What the linear layer reads: [batch, hidden]."""
        segments = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        return last_state(self, input_ids=input_ids, attention_mask=attention_mask, **segments)[:, 0]

    def forward(self, input_ids, attention_mask, token_type_ids=None, labels=None) -> dict[str, torch.Tensor]:
        logits = self.head(self.states(input_ids, attention_mask, token_type_ids))
        return {"logits": logits} if labels is None else {"loss": cross_entropy(logits, labels), "logits": logits}

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the encoder as transformers does, and the linear layer beside it."""
        self.base_model.save_pretrained(folder)
        save_head(self.head.weight.detach(), self.head.bias.detach(), folder)


def save_head(weight: torch.Tensor, bias: torch.Tensor, folder: str | Path) -> None:
    """Write weight [labels, hidden] and bias [labels] of a linear layer into the folder of its encoder."""
    save_tensors({"weight": weight.cpu().contiguous(), "bias": bias.cpu().contiguous()}, Path(folder) / HEAD)


def load_head(folder: str | Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight [labels, hidden] and bias [labels] of the linear layer that was saved with the encoder in `folder`."""
    advice = "fine-tune the encoder again"
    with open_tensors(Path(folder) / HEAD, "linear layer", framework="pt", advice=advice) as file:
        return file.get_tensor("weight"), file.get_tensor("bias")
