"""Hidden states at the occurrences of gendered words: one pass of the encoder over the sentences that hold any."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from transformers import BatchEncoding, PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.progress import progress
from scripts.biasflow.encoders.batches import encode, length_sorted
from scripts.biasflow.encoders.edit import watched
from scripts.biasflow.encoders.places import has_tokens
from scripts.biasflow.methods.arrays import States, allocate
from scripts.biasflow.methods.contexts.occurrences import Occurrences


def hidden_states(
    model: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    occurrences: Occurrences,
    *,
    places: Sequence[str],
    batch_size: int,
    device: torch.device | str = "cpu",
    folder: str | Path | None = None,
) -> States:
    """The states of `model` at all `places` at the n occurrences, in one pass over the sentences that hold any.

    Result: place -> [n, hidden] ([n, heads, head_dim] in attention), float32, on the CPU; row i belongs to row i of
    occurrences.table. `sentences` and `tokenizer` are those that they were found with. The sentences are sorted by
    length; the encoder runs without its head. Large states go into files in `folder` (see `arrays.allocate`), so that
    no more than one batch is in memory. BiasflowError: a place that the model lacks or that has no tokens, or other
    sentences or another tokenizer than the occurrences are from."""
    for place in places:
        if not has_tokens(place):
            raise BiasflowError(f"{place} has no state for every token, so none of words; take layer[0] or the like")
    encoded = _encode(tokenizer, sentences, occurrences)
    batches = progress(
        _batches(encoded, tokenizer, occurrences, batch_size=batch_size, device=device),
        total=math.ceil(len(encoded["input_ids"]) / batch_size),
        description="states in context",
    )
    found: States = {}
    n, now = len(occurrences.table), None

    def at_occurrences(place: str, h: torch.Tensor) -> torch.Tensor:
        return h[now.sentences, now.positions].float().cpu()  # only these leave the device

    with torch.inference_mode(), watched(model, places, at_occurrences) as seen:
        for now in batches:
            model.base_model(**now.inputs)
            found = found or allocate({place: (n, *seen[place].shape[1:]) for place in places}, folder)
            for place, h in seen.items():
                found[place][now.rows] = h
    return found


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
