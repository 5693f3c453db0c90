"""Batches of token sequences, sorted by length so that little is padded, and halved where they are too large."""

import gc
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import nn
from transformers import BatchEncoding, PreTrainedTokenizerBase

from biasflow.base.errors import BiasflowError
from biasflow.base.progress import progress
from biasflow.encoders.families import FAMILIES
from biasflow.encoders.taps import name_of, positions

BLOCK = 50  # batches that are sorted by length together
SHORTEST = 7 / 8  # of a batch's longest text: a shorter one waits for the next batch, so that little is padded

Rows = TypeVar("Rows", bound=Sequence[int])
Result = TypeVar("Result")
Encoded = BatchEncoding | Mapping[str, Sequence]


def encode(tokenizer: PreTrainedTokenizerBase, first: Sequence[str], second: Sequence[str] | None = None, **options):
    """Token ids (and segments) of sentences or sentence pairs as lists, without padding."""
    return tokenizer(list(first), None if second is None else list(second), padding=False, **options)


def require_offsets(tokenizer: PreTrainedTokenizerBase) -> None:
    """BiasflowError for a tokenizer that does not say where words are in a text."""
    if not tokenizer.is_fast:
        raise BiasflowError(
            f"{type(tokenizer).__name__} does not say where the words of a text are; save a fast "
            "tokenizer with the encoder."
        )


def longest_input(model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> int:
    """How many tokens the encoder can take, special ones included."""
    return min(tokenizer.model_max_length, positions(model))


def shortened(max_length: int | None, model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> int:
    """Return to how many tokens texts are cut: max_length, or what the encoder takes if that is less."""
    longest = longest_input(model, tokenizer)
    return longest if max_length is None else min(max_length, longest)


def batchwise(
    compute: Callable[[Rows], Result],
    rows: Rows,
    *,
    batch_size: int,
    name: Callable[[int], str],
    together: Callable[[Rows], Rows] = lambda rows: rows,
) -> Iterator[tuple[Rows, Result]]:
    """Yield (some of the rows, compute(some)), in their order, batch_size at a time, or the first ones of these that
    `together` returns.

    Where that takes more memory than the GPU has, half as many are taken from then on, and the log says so. So compute
    may be called for rows again: it changes nothing. BiasflowError where one row alone is too large, which name(row)
    tells from others, with the model."""
    start = 0
    while start < len(rows):
        some = together(rows[start : start + batch_size])
        try:
            result = compute(some)
        except torch.OutOfMemoryError as error:
            if len(some) == 1:
                raise BiasflowError(
                    f"{name(some[0])} takes more memory than is free on the GPU; end what else runs there, shorten the "
                    "texts, or say device: cpu"
                ) from error
            batch_size = len(some) // 2
        else:
            yield some, result
            start += len(some)
            continue
        line = "out of memory with %d at once (the first: %s); from now on %d at once"
        logging.getLogger("biasflow").warning(line, len(some), name(some[0]), batch_size)
        gc.collect()  # tensors may be held in cycles


def padded(
    encoded: Encoded, rows: Sequence[int], model: nn.Module, tokenizer: PreTrainedTokenizerBase
) -> BatchEncoding:
    """These rows as a batch on the model's device, padded on the right: a text's first token is the first."""
    features = {key: [encoded[key][row] for row in rows] for key in encoded}
    return tokenizer.pad(features, padding_side="right", return_tensors="pt").to(model.device)


def ignores_padding(model: nn.Module) -> bool:
    """Whether a model is sure to read a text as if nothing were behind it: of the families that are not listed some
    read padding as if it were text (FNet, ConvBERT)."""
    kind = getattr(getattr(model, "config", None), "model_type", None)
    return kind is None or kind in FAMILIES


def over_batches(
    forward: Callable[[list[int], BatchEncoding], Result],
    encoded: Encoded,
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    *,
    batch_size: int,
    description: str | None = None,
) -> Iterator[tuple[list[int], Result]]:
    """Yield (row numbers, forward(row numbers, padded batch on the model's device)) for all rows, see `batchwise`.

    The longest rows come first, so that a batch too large fails at once; the shortest of a batch has at least SHORTEST
    of the longest's tokens, and as many in a model that may read padding (`ignores_padding`). The order depends on the
    lengths alone (ties by row number): the same rows make the same batches. description: what the progress is called,
    which counts tokens; none is shown without it."""
    lengths = [len(ids) for ids in encoded["input_ids"]]
    order = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))

    def name(row: int) -> str:
        return f"{f'{description}: ' if description else ''}{name_of(model)}: a text of {lengths[row]} tokens"

    def compute(rows: list[int]) -> Result:
        return forward(rows, padded(encoded, rows, model, tokenizer))

    least = SHORTEST if ignores_padding(model) else 1

    def alike(rows: list[int]) -> list[int]:
        return [row for row in rows if lengths[row] >= least * lengths[rows[0]]]

    results = batchwise(compute, order, batch_size=batch_size, name=name, together=alike)
    if description is None:
        return results

    def tokens(result: tuple[list[int], Result]) -> int:
        return sum(lengths[row] for row in result[0])

    return progress(results, total=sum(lengths), description=description, size=tokens)


def at_occurrences(
    forward: Callable[[np.ndarray, np.ndarray, BatchEncoding], Result], text_of: np.ndarray, texts: int = 0
) -> Callable[[list[int], BatchEncoding], tuple[np.ndarray, Result]]:
    """A `forward` of `over_batches` for what occurs in texts: it returns the numbers of the occurrences in a batch, and
    forward(these, the row of each one's text in the batch, the batch).

    text_of: the number of each occurrence's text; every text has one, or there are so many `texts`."""
    sizes = np.bincount(text_of, minlength=texts)
    occurrences_in = np.split(np.argsort(text_of, kind="stable"), np.cumsum(sizes)[:-1])

    def of_texts(some: list[int], batch: BatchEncoding) -> tuple[np.ndarray, Result]:
        numbers = [occurrences_in[text] for text in some]
        wanted, rows = np.concatenate(numbers), np.repeat(np.arange(len(some)), list(map(len, numbers)))
        return wanted, forward(wanted, rows, batch)

    return of_texts


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
