"""Pseudo-log-likelihoods of sentences under every method: of a sample of text, or of pairs that differ in a few words.

Source: Salazar et al. (2020). Masking each token by itself costs a pass per token."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerBase

from biasflow.base.errors import AbsentError, BiasflowError, check_choice
from biasflow.base.sample import sampled
from biasflow.base.tabular import write_parquet
from biasflow.corpora.documents import read_sentences, sample_sentences
from biasflow.encoders.attention import by_hand, returns_attention
from biasflow.encoders.batches import encode
from biasflow.encoders.examples import special_tokens
from biasflow.readouts.cloze import (
    Cloze,
    attended_log_p_at,
    items_of,
    log_probabilities_of,
    made_of,
    masked,
    read_at,
)
from biasflow.readouts.files import under_methods
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source

SEED = 0  # of the sample
Masking = Literal["shared", "differing", "nothing", "attended"]
ATTENDED = "attended"  # left out for an encoder that returns no attention weights
UNMASKED = ("nothing", ATTENDED)


def read(
    source: Source,
    output: Path,
    *,
    pseudo_sentences: int | None = None,
    items: str | None = None,
    of: Mapping[str, str] | None = None,
    maskings: Sequence[str] = (),
    limit: int | None = None,
) -> dict[str, object]:
    """Likelihoods of sentences: of a sample of text (`pseudo_sentences`), or of the pairs of a test (`items`).

    A sample: that many of the data "text" (a sentence a line) that the encoder takes. Columns: method, setting,
    sentence (number in the sample, from 0), text, log_likelihood (nats), tokens.

    Pairs: `items` names the module whose items(**files, **of) lists them, with columns first and second (sentences).
    Columns: method, setting, those of the list, masking (of `maskings`, see `pair_likelihoods`), tokens_first,
    tokens_second, log_p_first, log_p_second (nats).

    limit: at most so many sentences, or items of the test. Pairs that `pair_likelihoods` cannot score are left out."""
    reader = open_reader(source, "masked_lm").reaching(words=True)
    if items is None:
        fitting = sentences_that_fit(reader, read_sentences(source.file("text")))
        sample = pd.DataFrame({"text": sample_sentences(fitting, pseudo_sentences, seed=SEED)})
        sample = sampled(sample, limit)["text"].tolist()
        log_likelihoods, tokens = pseudo_log_likelihoods(reader, sample)
        table = pd.DataFrame({"sentence": range(len(sample)), "text": sample, "tokens": tokens})
        scores = under_methods(reader.axis, table, log_likelihood=log_likelihoods)
    else:
        possible = [masking for masking in maskings if masking != ATTENDED or returns_attention(reader.model)]
        scores = pair_likelihoods(reader, items_of(reader, source, items, of, limit), possible)
    write_parquet(scores, output)
    return reader.facts()


def pair_likelihoods(reader: Reader, pairs: pd.DataFrame, maskings: Sequence[Masking]) -> pd.DataFrame:
    """sum_t log p(w_t | what is left) of both sentences of each pair, in nats, by each masking: the columns that `read`
    says. pairs: columns first and second.

    masking "shared": the tokens that both have, each masked by itself; "differing": the others, all masked at once;
    "nothing": all tokens, none masked; "attended": the same, each log p times the attention that the token receives
    (AUL and AULA of Kaneko & Bollegala 2022; see `attention_received`). Tokens are aligned by difflib, the first
    sentence against the second; special ones are not scored. So sentences whose numbers of differing tokens differ have
    different lengths, too.

    Left out (`made_of`): a pair of which one sentence has no token to score by one of the maskings."""
    special = len(special_tokens(reader.tokenizer))
    for masking in maskings:
        check_choice("likelihoods: masking", masking, get_args(Masking))

    def clozes(_: tuple, *encodings: Mapping[str, list]) -> list[list[tuple[list[Cloze], int]]]:
        sentences = [encoding["input_ids"] for encoding in encodings]
        return [_clozes_of_pair(sentences, masking, reader.tokenizer, special) for masking in maskings]

    pairs, made = made_of(reader, pairs, ["first", "second"], clozes)
    tables = []
    for masking, of_pairs in zip(maskings, zip(*made, strict=True), strict=True):
        clozes_of, tokens = zip(*chain.from_iterable(of_pairs), strict=True)
        log_p = _log_p(reader, [*chain.from_iterable(clozes_of)], masking)
        sums = np.add.reduceat(log_p, np.cumsum([0, *tokens[:-1]]), axis=1).reshape(len(reader.axis), -1, 2)
        sizes = np.reshape(tokens, (-1, 2))
        scored = pairs.assign(masking=masking, tokens_first=sizes[:, 0], tokens_second=sizes[:, 1])
        tables.append(under_methods(reader.axis, scored, log_p_first=sums[..., 0], log_p_second=sums[..., 1]))
    return pd.concat(tables, ignore_index=True)


def _clozes_of_pair(
    pair: Sequence[Sequence[int]], masking: Masking, tokenizer: PreTrainedTokenizerBase, special: int
) -> list[tuple[list[Cloze], int]]:
    """The clozes of both sentences of a pair, which have so many special tokens, and how many tokens they score.

    AbsentError: one sentence has none."""
    found = []
    for ids, shared in zip(pair, shared_places(*pair), strict=True):
        unmasked = masking in UNMASKED
        places = range(1, len(ids) - special + 1)
        at = [place for place in places if unmasked or (place in shared) == (masking == "shared")]
        if not at:
            raise AbsentError(f"no {masking} token to score")
        if unmasked:
            clozes = [Cloze(tuple(ids), tuple(at), tuple(ids[place] for place in at))]
        elif masking == "shared":
            clozes = one_by_one(ids, at, tokenizer)
        else:
            clozes = [masked(ids, at, tokenizer.mask_token_id)]
        found.append((clozes, len(at)))
    return found


def _log_p(reader: Reader, clozes: Sequence[Cloze], masking: Masking) -> np.ndarray:
    description = f"pairs of sentences, masking {masking}"
    if masking != ATTENDED:
        return log_probabilities_of(reader, clozes, description)
    with by_hand(reader.model):
        return read_at(reader, clozes, description, attended_log_p_at, whole=True)


def shared_places(first: Sequence[int], second: Sequence[int]) -> tuple[set[int], set[int]]:
    """The positions of what two sequences share, in each of them: the equal blocks of difflib."""
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return (
        {block.a + offset for block in blocks for offset in range(block.size)},
        {block.b + offset for block in blocks for offset in range(block.size)},
    )


def pseudo_log_likelihoods(reader: Reader, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """PLL(W) = sum_t log p(w_t | all other tokens of W), in nats, [methods, sentences], and their tokens [sentences].

    Special tokens are neither masked nor counted. Another measure than the losses of readouts/losses.py: here the model
    sees all but one token. BiasflowError: no sentence, an empty one, or one longer than the encoder takes (its number
    is named, from 1)."""
    tokenizer = reader.tokenizer
    around = len(special_tokens(tokenizer))
    longest = reader.longest_input - around
    if not len(sentences):
        raise BiasflowError("sentences: there are none; give at least one.")
    encoded = encode(tokenizer, sentences, verbose=False)["input_ids"]
    lengths = np.array([len(ids) - around for ids in encoded])
    for number, length in enumerate(lengths, start=1):
        if not 0 < length <= longest:
            raise BiasflowError(f"sentence {number} has {length} tokens, the encoder takes 1 to {longest}; drop it.")
    places = [range(1, length + 1) for length in lengths]
    clozes = [cloze for ids, at in zip(encoded, places, strict=True) for cloze in one_by_one(ids, at, tokenizer)]
    log_p = log_probabilities_of(reader, clozes, "tokens by themselves")
    return np.add.reduceat(log_p, np.cumsum(lengths) - lengths, axis=1), lengths


def one_by_one(ids: Sequence[int], at: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> list[Cloze]:
    """The tokens at the positions `at`, one cloze for each, in which it alone is masked."""
    return [masked(ids, [place], tokenizer.mask_token_id) for place in at]


def sentences_that_fit(reader: Reader, sentences: Sequence[str]) -> list[str]:
    """The sentences that have tokens and that the encoder takes whole, in their order."""
    tokens = encode(reader.tokenizer, sentences, verbose=False)["input_ids"]
    fitting = range(len(reader.tokenizer("")["input_ids"]) + 1, reader.longest_input + 1)
    return [sentence for sentence, ids in zip(sentences, tokens, strict=True) if len(ids) in fitting]
