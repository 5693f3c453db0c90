"""Batches of token sequences, sorted by length so that little is padded."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import nn
from transformers import BatchEncoding, PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.progress import progress

BLOCK = 50  # batches that are sorted by length together


def encode(tokenizer: PreTrainedTokenizerBase, first: Sequence[str], second: Sequence[str] | None = None, **options):
    """Token ids (and segments) of sentences or sentence pairs as lists, without padding."""
    return tokenizer(list(first), None if second is None else list(second), padding=False, **options)


def require_offsets(tokenizer: PreTrainedTokenizerBase) -> None:
    """BiasflowError for a tokenizer that does not say where words are in a text."""
    if not tokenizer.is_fast:
        raise BiasflowError(f"{type(tokenizer).__name__} does not say where words are in a text; use a fast tokenizer.")


def longest_input(model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> int:
    """How many tokens the encoder can take, special ones included."""
    return min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512))


def shortened(max_length: int | None, model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> int:
    """To how many tokens a text is cut: max_length, if the encoder takes so many."""
    longest = longest_input(model, tokenizer)
    return longest if max_length is None else min(max_length, longest)


def length_sorted(
    encoded: BatchEncoding | Mapping[str, Sequence],
    tokenizer: PreTrainedTokenizerBase,
    *,
    batch_size: int,
    device: torch.device | str = "cpu",
    description: str | None = None,
) -> Iterator[tuple[list[int], BatchEncoding]]:
    """Yield (row numbers, padded batch on `device`), longest rows first, so that a batch too large fails at once.

    The order depends on the lengths alone (ties by row number): the same rows make the same batches. description: what
    the progress is called; none is shown without it."""
    lengths = [len(ids) for ids in encoded["input_ids"]]
    order = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    starts = range(0, len(order), batch_size)
    for start in progress(starts, total=len(starts), description=description) if description else starts:
        rows = order[start : start + batch_size]
        features = {key: [encoded[key][row] for row in rows] for key in encoded}
        yield rows, tokenizer.pad(features, return_tensors="pt").to(device)


def with_occurrences(
    batches: Iterable[tuple[list[int], BatchEncoding]], text_of: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, BatchEncoding]]:
    """Batches of texts with what occurs in them: (numbers of occurrences, the row of each one's text in the batch, the
    batch). text_of: the number of each occurrence's text; every text has one."""
    occurrences_in = np.split(np.argsort(text_of, kind="stable"), np.cumsum(np.bincount(text_of))[:-1])
    for texts, batch in batches:
        found = [occurrences_in[text] for text in texts]
        yield np.concatenate(found), np.repeat(np.arange(len(texts)), [len(some) for some in found]), batch


def grouped_by_length(lengths: np.ndarray, *, batch_size: int, rng: np.random.Generator) -> np.ndarray:
    """An order of the rows for training: each run of batch_size has similar lengths (little padding), the runs are
    shuffled.

    The rows are sorted within blocks of BLOCK batches of the given order, so that what is in a batch still depends
    mostly on chance if that order is random. A rest that does not fill a batch comes last."""
    lengths = np.asarray(lengths)
    blocks = np.array_split(np.arange(len(lengths)), range(BLOCK * batch_size, len(lengths), BLOCK * batch_size))
    order = np.concatenate([block[np.argsort(lengths[block], kind="stable")] for block in blocks])
    full = len(lengths) // batch_size * batch_size
    return np.concatenate([rng.permutation(order[:full].reshape(-1, batch_size)).ravel(), order[full:]])
