"""Encoders read at the first token of the last layer ([CLS], <s>): a new classifier on it, its vectors for texts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn
from transformers import BatchEncoding, PreTrainedTokenizerBase, set_seed

from biasflow.base.errors import BiasflowError
from biasflow.base.progress import Progress
from biasflow.encoders.batches import Result, over_batches, shortened
from biasflow.encoders.device import half, on_gpu
from biasflow.encoders.linear_head import FirstTokenClassifier
from biasflow.encoders.load import load_encoder
from biasflow.encoders.taps import last_state
from biasflow.encoders.tokens import Tokens, tokenise

CHUNK, TOGETHER = 16_384, 128  # texts that are sorted by length together; that are read at once


def new_first_token_classifier(
    folder: str | Path, labels: Sequence[str], *, seed: int, device: torch.device | str = "cpu"
) -> tuple[FirstTokenClassifier, PreTrainedTokenizerBase]:
    """The encoder in `folder` with a new linear layer for `labels`, and its tokenizer; the layer depends on `seed`."""
    encoder, tokenizer = load_encoder(folder, head="none", device=device)
    encoder.config.id2label = dict(enumerate(labels))
    encoder.config.label2id = {label: number for number, label in enumerate(labels)}
    set_seed(seed)
    head = nn.Linear(encoder.config.hidden_size, len(labels))
    return FirstTokenClassifier(encoder, head).to(device).train(), tokenizer


def text_batches(
    read: Callable[[BatchEncoding], Result], model: nn.Module, tokenizer: PreTrainedTokenizerBase, tokens: Tokens
) -> Iterator[tuple[np.ndarray, Result]]:
    """Texts in batches of similar length, for a model: (row numbers, read(batch on its device)), every row once.

    They are batched within runs of CHUNK texts."""
    counted = Progress(len(tokens), "vectors of texts")
    for start in range(0, len(tokens), CHUNK):
        some = tokens.of_all(range(start, min(start + CHUNK, len(tokens))))
        for rows, result in over_batches(lambda _, batch: read(batch), some, model, tokenizer, batch_size=TOGETHER):
            yield np.asarray(rows) + start, result
            counted.advance(len(rows))


def text_tokens(
    model: nn.Module, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, max_length: int | None
) -> Tokens:
    """The tokens of texts for a model; those longer than max_length tokens, or than the encoder takes, are cut.

    BiasflowError for no texts."""
    if not len(texts):
        raise BiasflowError("vectors of texts: there are no texts; check the data of the task.")
    return tokenise(tokenizer, texts, max_length=shortened(max_length, model, tokenizer))


def dtype_on(device: torch.device) -> torch.dtype:
    """What the vectors of texts are kept in: half precision where they are computed in it, on a GPU."""
    return torch.float16 if on_gpu(device) else torch.float32


def first_states(model: nn.Module, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The last layer's state of the first token, as `FirstTokenClassifier` reads it: [batch, hidden] of `dtype_on`."""
    with half(model.device):
        return last_state(model, **batch)[:, 0].to(dtype_on(model.device))


@torch.inference_mode()
def first_token_vectors(
    model: nn.Module, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, max_length: int | None
) -> tuple[torch.Tensor, int]:
    """`first_states` of all texts, [n, hidden] on the CPU, and how many of them were cut (see `text_tokens`).

    BiasflowError for no texts, or for vectors that are not finite."""
    tokens = text_tokens(model, tokenizer, texts, max_length=max_length)
    kept = torch.empty(len(texts), model.config.hidden_size, dtype=dtype_on(model.device))

    for rows, states in text_batches(partial(first_states, model), model, tokenizer, tokens):
        kept[torch.from_numpy(rows)] = states.cpu()
    if not torch.isfinite(kept).all():
        raise BiasflowError("vectors of texts: the encoder's states are not finite; train it with a lower rate.")
    return kept, int(tokens.cut.sum())
