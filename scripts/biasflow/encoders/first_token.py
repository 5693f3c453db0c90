"""Encoders read at the first token of the last layer ([CLS], <s>): a linear classifier on it, its vectors for texts."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, PreTrainedTokenizerBase, set_seed

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.progress import progress
from scripts.biasflow.encoders.batches import encode, length_sorted, longest_input
from scripts.biasflow.encoders.load import load_encoder
from scripts.biasflow.readouts.vectors import Vectors, save_head

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


@torch.inference_mode()
def first_token_vectors(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    *,
    max_length: int,
    batch_size: int = 128,
) -> Vectors:
    """The last layer's state of the first token of every text, as `FirstTokenClassifier` reads it.

    The texts are tokenised in runs of CHUNK and, within a run, pass the encoder in batches of similar length; those
    longer than max_length tokens, or than the encoder takes, are cut and counted. On a GPU in half precision.
    BiasflowError for no texts, or for vectors that are not finite."""
    if not len(texts):
        raise BiasflowError("representations: there are no texts.")
    limit = min(max_length, longest_input(model, tokenizer))
    on_gpu = model.device.type == "cuda"
    kept = torch.empty(len(texts), model.config.hidden_size, dtype=torch.float16 if on_gpu else torch.float32)
    truncated = 0
    starts = range(0, len(texts), CHUNK)
    for start in progress(starts, total=len(starts), description="representations"):
        chunk = list(texts[start : start + CHUNK])
        encoded = encode(tokenizer, chunk, truncation=True, max_length=limit, return_overflowing_tokens=False)
        full = [row for row, ids in enumerate(encoded["input_ids"]) if len(ids) == limit]
        if full:  # only these can have been cut
            whole = encode(tokenizer, [chunk[row] for row in full], truncation=False, verbose=False)
            truncated += sum(len(ids) > limit for ids in whole["input_ids"])
        for rows, batch in length_sorted(encoded, tokenizer, batch_size=batch_size, device=model.device):
            with torch.autocast("cuda", dtype=torch.float16, enabled=on_gpu):
                states = model.base_model(**batch).last_hidden_state[:, 0]
            kept[torch.tensor(rows) + start] = states.to(kept)
    if not torch.isfinite(kept).all():
        raise BiasflowError("representations: the encoder's states are not finite; check its training.")
    return Vectors(kept, truncated)
