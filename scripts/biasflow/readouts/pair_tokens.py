"""The readout `pair_tokens`: how well a masked-LM head predicts the tokens of sentences in pairs, under every method.

Source: Zalkikar & Chandra (2024; ranks and probabilities of each masked token), Nadeem et al. (2021) and Kaneko &
Bollegala (2022; the tokens that differ, given the others)."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from transformers import BatchEncoding, PreTrainedModel

from biasflow.readouts.cloze import distributions_at, items_of, made_of, masked, one_by_one, sums_at
from biasflow.readouts.likelihoods import SIDES, places_of, shared_places
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source

Pair = Sequence[Sequence[int]]  # the token ids of both sentences, special ones included


def read(
    source: Source, output: Path, *, items: str, of: dict[str, str] | None = None, limit: int | None = None
) -> dict[str, object]:
    """Read the pairs that the module `items` lists, by its items(**files, **of): columns first and second (sentences).

    Columns of the file: method, setting, those of the list, and for each side (first, second)

        crr        mean of 1 - 1 / rank over the sentence's tokens, each masked by itself (rank 1: the likeliest)
        delta_p    mean over the same tokens of ln p(likeliest token) - ln p(token), in nats
        differing  mean ln p of the tokens that the other sentence lacks, all masked at once; NaN where it lacks none

    limit: at most so many pairs. Those that `made_of` leaves out are left out."""
    reader = open_reader(source, "masked_lm").reaching(words=True)
    pairs = items_of(reader, source, items, of, limit)
    pairs, sentences = made_of(reader, pairs, SIDES, lambda _, *pair: [side["input_ids"] for side in pair])
    columns = {
        f"{name}_{side}": values[:, number :: len(SIDES)]
        for name, values in _means(reader, sentences).items()
        for number, side in enumerate(SIDES)
    }
    return reader.write(output, pairs, **columns)


def _means(reader: Reader, pairs: Sequence[Pair]) -> dict[str, np.ndarray]:
    """The means of `read` over the tokens of each sentence: name -> [methods, sentences], those of a pair in a row."""
    sentences, mask = [*chain.from_iterable(pairs)], reader.tokenizer.mask_token_id
    places = [places_of(reader, ids) for ids in sentences]
    shared = chain.from_iterable(shared_places(*pair) for pair in pairs)
    differing = [[at for at in of_one if at not in both] for of_one, both in zip(places, shared, strict=True)]
    single = [one_by_one(*one, mask) for one in zip(sentences, places, strict=True)]
    qualities, sizes = sums_at(reader, single, "tokens by themselves", forward=_qualities_at, per_token=2)
    together = [[masked(*one, mask)] for one in zip(sentences, differing, strict=True)]
    sums, numbers = sums_at(reader, together, "tokens that differ")
    crr, delta_p = np.moveaxis(qualities / sizes[:, None], -1, 0)
    return {"crr": crr, "delta_p": delta_p, "differing": sums / numbers}


def _qualities_at(
    model: PreTrainedModel, batch: BatchEncoding, rows: torch.Tensor, at: torch.Tensor, tokens: torch.Tensor
) -> torch.Tensor:
    """1 - 1 / rank, and ln p(likeliest token) - ln p(token), of the tokens at these rows and positions: [tokens, 2].

    The rank of a token is 1 plus the number of tokens that are likelier."""
    distributions, place = distributions_at(model, batch, rows, at)
    log_p = distributions[place]
    of_tokens = log_p.gather(1, tokens[:, None])
    rank = 1 + (log_p > of_tokens).sum(1).double()
    return torch.stack([1 - 1 / rank, log_p.amax(1) - of_tokens[:, 0]], dim=1)
