"""Batches of token sequences, sorted by length so that little is padded."""

from collections.abc import Iterator, Sequence

import torch
from transformers import BatchEncoding, PreTrainedTokenizerBase


def encode(tokenizer: PreTrainedTokenizerBase, first: Sequence[str], second: Sequence[str] | None = None, **options):
    """Token ids (and segments) of sentences or sentence pairs as lists, without padding."""
    return tokenizer(list(first), None if second is None else list(second), padding=False, **options)


def length_sorted(
    encoded: BatchEncoding, tokenizer: PreTrainedTokenizerBase, *, batch_size: int, device: torch.device | str = "cpu"
) -> Iterator[tuple[list[int], BatchEncoding]]:
    """Yield (row numbers, padded batch on `device`), longest rows first, so that a batch too large fails at once.

    The order depends on the lengths alone (ties by row number): the same rows make the same batches."""
    lengths = [len(ids) for ids in encoded["input_ids"]]
    order = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        features = {key: [encoded[key][row] for row in rows] for key in encoded}
        yield rows, tokenizer.pad(features, return_tensors="pt").to(device)
