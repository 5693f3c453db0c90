"""The readout `pair_tokens`: how well a masked-LM head predicts the tokens of sentences in pairs, under every method.

Source: Zalkikar & Chandra (2024; ranks and probabilities of each masked token), Nadeem et al. (2021) and Kaneko &
Bollegala (2022; the tokens that differ, given the others)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import BatchEncoding, PreTrainedModel

from biasflow.base.tabular import write_parquet
from biasflow.encoders.examples import special_tokens
from biasflow.readouts.cloze import distributions_at, items_of, log_p_at, made_of, masked, read_at
from biasflow.readouts.files import under_methods
from biasflow.readouts.likelihoods import one_by_one, shared_places
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source

SIDES = ("first", "second")
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
    quality = _qualities(reader, sentences)
    differing = _differing(reader, sentences)
    columns = {
        f"{name}_{side}": values[..., number]
        for name, values in (("crr", quality[..., 0]), ("delta_p", quality[..., 1]), ("differing", differing))
        for number, side in enumerate(SIDES)
    }
    write_parquet(under_methods(reader.axis, pairs, **columns), output)
    return reader.facts()


def _qualities(reader: Reader, pairs: Sequence[Pair]) -> np.ndarray:
    """Mean 1 - 1 / rank and mean ln p(likeliest) - ln p of the tokens of both sentences: [methods, pairs, sides, 2]."""
    special = len(special_tokens(reader.tokenizer))
    sentences = [ids for pair in pairs for ids in pair]
    sizes = [len(ids) - special for ids in sentences]
    clozes = [
        cloze
        for ids, size in zip(sentences, sizes, strict=True)
        for cloze in one_by_one(ids, range(1, size + 1), reader.tokenizer)
    ]
    log_p, of_likeliest, rank = np.moveaxis(read_at(reader, clozes, "tokens by themselves", _ranked_at, 3), -1, 0)
    tokens = np.stack([1 - 1 / rank, of_likeliest - log_p], axis=-1)
    sums = np.add.reduceat(tokens, np.cumsum([0, *sizes[:-1]]), axis=1)
    return (sums / np.array(sizes)[:, None]).reshape(len(reader.axis), len(pairs), 2, 2)


def _differing(reader: Reader, pairs: Sequence[Pair]) -> np.ndarray:
    """Mean ln p of the tokens that the other sentence lacks, all masked at once: [methods, pairs, 2]; NaN without."""
    special = len(special_tokens(reader.tokenizer))
    means = np.full((len(reader.axis), 2 * len(pairs)), np.nan)
    places = [
        [at for at in range(1, len(ids) - special + 1) if at not in shared]
        for pair in pairs
        for ids, shared in zip(pair, shared_places(*pair), strict=True)
    ]
    some = [number for number, at in enumerate(places) if at]
    if some:
        sentences = [ids for pair in pairs for ids in pair]
        clozes = [masked(sentences[number], places[number], reader.tokenizer.mask_token_id) for number in some]
        log_p = read_at(reader, clozes, "tokens that differ", log_p_at)
        sizes = np.array([len(places[number]) for number in some])
        means[:, some] = np.add.reduceat(log_p, np.cumsum(sizes) - sizes, axis=1) / sizes
    return means.reshape(len(reader.axis), len(pairs), 2)


def _ranked_at(
    model: PreTrainedModel, batch: BatchEncoding, rows: torch.Tensor, at: torch.Tensor, tokens: torch.Tensor
) -> torch.Tensor:
    """ln p of the tokens at these rows and positions, ln p of the likeliest token there, and the rank: [tokens, 3].

    The rank of a token is 1 plus the number of tokens that are likelier."""
    distributions, place = distributions_at(model, batch, rows, at)
    log_p = distributions[place]
    of_tokens = log_p.gather(1, tokens[:, None])
    return torch.cat([of_tokens, log_p.amax(1, keepdim=True), 1 + (log_p > of_tokens).sum(1, keepdim=True)], 1)
