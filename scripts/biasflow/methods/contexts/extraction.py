"""Hidden states at the occurrences of gendered words: one pass of the encoder over the sentences that hold any."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from transformers import BatchEncoding, PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.files import whole_file
from scripts.biasflow.base.progress import progress
from scripts.biasflow.encoders import taps
from scripts.biasflow.encoders.batches import encode, length_sorted
from scripts.biasflow.methods.contexts.occurrences import FEMININE, Occurrences
from scripts.biasflow.methods.contexts.places import check_places
from scripts.biasflow.methods.contexts.states import (
    Arrays,
    ContextStates,
    arrays_in_file,
    arrays_in_memory,
    load_states,
)


def hidden_states(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    occurrences: Occurrences,
    *,
    places: Sequence[str],
    batch_size: int,
    device: torch.device | str = "cpu",
    path: str | Path | None = None,
) -> ContextStates:
    """The states of `model` at all `places` at the occurrences, in one pass over the sentences that hold any.

    Row i belongs to row i of occurrences.table; `sentences` and `tokenizer` are those that they were found with. The
    sentences are sorted by length; the encoder runs without its head. With `path`, every batch goes straight into a
    safetensors file, so that no more than one batch is in memory, and the result reads one place at a time from it;
    without, the states stay in memory: places x n x hidden x 4 bytes. BiasflowError: a place that the model lacks or
    that has no tokens, or other sentences or another tokenizer than the occurrences are from."""
    check_places(model, places)
    encoded = _encode(tokenizer, sentences, occurrences)
    batches = progress(
        _batches(encoded, tokenizer, occurrences, batch_size=batch_size, device=device),
        total=math.ceil(len(encoded["input_ids"]) / batch_size),
        description="states in context",
    )
    feminine = torch.from_numpy((occurrences.table["gender"] == FEMININE).to_numpy(copy=True))
    n = len(feminine)
    if path is None:
        return ContextStates(_gather(model, batches, places, arrays_in_memory, n), feminine)
    with whole_file(path) as temporary:
        _gather(model, batches, places, lambda shapes: arrays_in_file(temporary, shapes, feminine), n)
    return load_states(path)


@dataclass(frozen=True)
class _Batch:
    """A padded batch, and the occurrences in it: rows of the table, and sentence and token within the batch."""

    inputs: BatchEncoding
    rows: np.ndarray
    sentences: np.ndarray
    positions: np.ndarray


def _encode(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str], occurrences: Occurrences) -> BatchEncoding:
    """The token ids of the sentences that hold occurrences, in the order of the text, with every occurrence checked."""
    advice = "give the sentences and the tokenizer with which the occurrences were found."
    numbers = occurrences.table["sentence"].unique().tolist()
    if numbers[-1] >= len(sentences):
        raise BiasflowError(f"occurrences: there is no sentence {numbers[-1]}; {advice}")
    options = {"truncation": True, "max_length": occurrences.max_length}
    encoded = encode(tokenizer, [sentences[number] for number in numbers], **options)
    tokens = dict(zip(numbers, encoded["input_ids"], strict=True))
    for row in occurrences.table.itertuples():
        ids = tokens[row.sentence]
        if row.position >= len(ids) or ids[row.position] != row.token:
            raise BiasflowError(
                f"occurrences: sentence {row.sentence} does not have {row.word!r} as token {row.position}; {advice}"
            )
    return encoded


def _batches(
    encoded: BatchEncoding,
    tokenizer: PreTrainedTokenizerBase,
    occurrences: Occurrences,
    *,
    batch_size: int,
    device: torch.device | str,
) -> Iterator[_Batch]:
    """The encoded sentences in batches of like length, each with the rows of `occurrences` that it holds."""
    rows_of = list(occurrences.table.groupby("sentence").indices.values())  # in the order of `encoded`
    positions = occurrences.table["position"].to_numpy()
    for numbers, inputs in length_sorted(encoded, tokenizer, batch_size=batch_size, device=device):
        rows = [rows_of[number] for number in numbers]
        sentences = np.repeat(np.arange(len(rows)), [len(some) for some in rows])
        rows = np.concatenate(rows)
        yield _Batch(inputs, rows, sentences, positions[rows])


def _states_at(model: nn.Module, batch: _Batch, places: Sequence[str]) -> dict[str, torch.Tensor]:
    """place -> the states at the occurrences of one batch; only these leave the device."""
    found: dict[str, torch.Tensor] = {}

    def keeper(place: str):
        def store(h: torch.Tensor) -> None:
            found[place] = h[batch.sentences, batch.positions].float().cpu()

        return store

    handles = [taps.tap(model, place).hook(keeper(place)) for place in places]
    try:
        with torch.inference_mode():
            model.base_model(**batch.inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


def _gather(
    model: nn.Module,
    batches: Iterable[_Batch],
    places: Sequence[str],
    allocate: Callable[[Mapping[str, tuple[int, ...]]], Arrays],
    n: int,
) -> Arrays:
    """The states of all batches in the arrays that `allocate` makes of their shapes, once these are known."""
    arrays: Arrays = {}
    for batch in batches:
        states = _states_at(model, batch, places)
        if not arrays:
            arrays = allocate({place: (n, *some.shape[1:]) for place, some in states.items()})
        for place, some in states.items():
            arrays[place][batch.rows] = some
    return arrays
