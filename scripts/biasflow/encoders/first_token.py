"""Encoders read at the first token of the last layer ([CLS], <s>): a linear classifier on it, its vectors for texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase, set_seed

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.progress import progress
from scripts.biasflow.encoders.batches import encode, length_sorted, longest_input
from scripts.biasflow.encoders.linear_head import save_head
from scripts.biasflow.encoders.load import load_encoder

CHUNK = 16_384  # texts that are tokenised and sorted by length together


class FirstTokenClassifier(nn.Module):
    """An encoder and a linear layer on the state of its first token in the last layer.

    No pooler and no dropout lie between the two (Orgad et al. 2022, section 4.1, as released)."""

    def __init__(self, encoder: PreTrainedModel, n_labels: int):
        super().__init__()
        self.base_model = encoder
        self.head = nn.Linear(encoder.config.hidden_size, n_labels)
        self.config = encoder.config
        self.config.num_labels = n_labels

    @property
    def device(self) -> torch.device:
        return self.head.weight.device

    def forward(self, input_ids, attention_mask, token_type_ids=None, labels=None) -> dict[str, torch.Tensor]:
        segments = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        states = self.base_model(input_ids=input_ids, attention_mask=attention_mask, **segments).last_hidden_state
        logits = self.head(states[:, 0])
        return {"logits": logits} if labels is None else {"loss": cross_entropy(logits, labels), "logits": logits}

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the encoder as transformers does, and the linear layer beside it."""
        self.base_model.save_pretrained(folder)
        save_head(self.head.weight.detach(), self.head.bias.detach(), folder)


def new_first_token_classifier(
    folder: str | Path, labels: Sequence[str], *, seed: int, device: torch.device | str = "cpu"
) -> tuple[FirstTokenClassifier, PreTrainedTokenizerBase]:
    """The encoder in `folder` with a new linear layer for `labels`, and its tokenizer; the layer depends on `seed`."""
    encoder, tokenizer = load_encoder(folder, head="none", device=device)
    set_seed(seed)
    return FirstTokenClassifier(encoder, len(labels)).to(device).train(), tokenizer


@dataclass
class TextBatches:
    """Texts in batches of similar length, for a model: (row numbers, batch on its device), every row once.

    The texts are tokenised in runs of CHUNK and batched within a run; those longer than max_length tokens, or than the
    encoder takes, are cut, and counted in `truncated` when they come. BiasflowError for no texts."""

    model: nn.Module
    tokenizer: PreTrainedTokenizerBase
    texts: Sequence[str]
    max_length: int
    batch_size: int = 128
    truncated: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if not len(self.texts):
            raise BiasflowError("vectors of texts: there are no texts.")

    def __iter__(self) -> Iterator[tuple[np.ndarray, BatchEncoding]]:
        limit = min(self.max_length, longest_input(self.model, self.tokenizer))
        self.truncated = 0
        starts = range(0, len(self.texts), CHUNK)
        for start in progress(starts, total=len(starts), description="vectors of texts"):
            chunk = list(self.texts[start : start + CHUNK])
            encoded = encode(self.tokenizer, chunk, truncation=True, max_length=limit, return_overflowing_tokens=False)
            full = [row for row, ids in enumerate(encoded["input_ids"]) if len(ids) == limit]
            if full:  # only these can have been cut
                whole = encode(self.tokenizer, [chunk[row] for row in full], truncation=False, verbose=False)
                self.truncated += sum(len(ids) > limit for ids in whole["input_ids"])
            batches = length_sorted(encoded, self.tokenizer, batch_size=self.batch_size, device=self.model.device)
            for rows, batch in batches:
                yield np.asarray(rows) + start, batch


def dtype_on(device: torch.device) -> torch.dtype:
    """What the vectors of texts are kept in: half precision where they are computed in it, on a GPU."""
    return torch.float16 if device.type == "cuda" else torch.float32


def first_states(model: nn.Module, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The last layer's state of the first token, as `FirstTokenClassifier` reads it: [batch, hidden] of `dtype_on`."""
    with torch.autocast("cuda", dtype=torch.float16, enabled=model.device.type == "cuda"):
        return model.base_model(**batch).last_hidden_state[:, 0].to(dtype_on(model.device))


@torch.inference_mode()
def first_token_vectors(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    *,
    max_length: int,
    batch_size: int = 128,
) -> tuple[torch.Tensor, int]:
    """`first_states` of all texts, [n, hidden] on the CPU, and how many of them were cut (see `TextBatches`).

    BiasflowError for no texts, or for vectors that are not finite."""
    batches = TextBatches(model, tokenizer, texts, max_length, batch_size)
    kept = torch.empty(len(texts), model.config.hidden_size, dtype=dtype_on(model.device))
    for rows, batch in batches:
        kept[torch.from_numpy(rows)] = first_states(model, batch).cpu()
    check_finite(kept)
    return kept, batches.truncated


def check_finite(vectors: torch.Tensor) -> None:
    """BiasflowError unless all vectors of texts are finite."""
    if not torch.isfinite(vectors).all():
        raise BiasflowError("vectors of texts: the encoder's states are not finite; check its training.")
