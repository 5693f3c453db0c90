"""Hidden states at the occurrences of gendered words: one pass of the encoder over the sentences that hold any."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import torch
from torch import nn
from transformers import BatchEncoding, PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.encoders.batches import encode, length_sorted, with_occurrences
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
    text_of, _ = pd.factorize(occurrences.table["sentence"])
    positions = occurrences.table["position"].to_numpy()
    batches = length_sorted(encoded, tokenizer, batch_size=batch_size, device=device, description="states in context")
    found: States = {}
    tokens = ()

    def at_occurrences(place: str, h: torch.Tensor) -> torch.Tensor:
        return h[tokens].float().cpu()  # only these leave the device

    with torch.inference_mode(), watched(model, places, at_occurrences) as seen:
        for rows, texts, batch in with_occurrences(batches, text_of):
            tokens = texts, positions[rows]
            model.base_model(**batch)
            found = found or allocate({place: (len(positions), *seen[place].shape[1:]) for place in places}, folder)
            for place, h in seen.items():
                found[place][rows] = h
    return found


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
