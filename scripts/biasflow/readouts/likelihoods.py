"""Pseudo-log-likelihoods of sentences under every method: of a sample of text, or of pairs that differ in a few words.

Source: Salazar et al. (2020). Masking each token by itself costs a pass per token."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from biasflow.base.errors import AbsentError
from biasflow.base.sample import sampled
from biasflow.base.tabular import write_parquet
from biasflow.corpora.documents import read_sentences, sample_sentences
from biasflow.encoders.attention import by_hand, returns_attention
from biasflow.encoders.batches import encode
from biasflow.encoders.examples import special_tokens
from biasflow.readouts.cloze import (
    Cloze,
    items_of,
    made_of,
    masked,
    one_by_one,
    read_at,
    received_at,
    summed,
    sums_at,
    unmasked,
    wanted_of,
    within_words,
    words_of,
)
from biasflow.readouts.files import under_methods
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source

SEED = 0  # of the sample
SIDES = ("first", "second")  # the sentences of a pair
Masking = Literal["shared", "differing", "nothing", "attended", "shared-l2r", "differing-l2r"]
NOTHING, ATTENDED = "nothing", "attended"  # the second is left out for an encoder that returns no attention weights
L2R = "-l2r"  # how the name of a masking ends that hides the rest of a word


def read(
    source: Source,
    output: Path,
    *,
    pseudo_sentences: int | None = None,
    items: str | None = None,
    of: Mapping[str, str] | None = None,
    maskings: Sequence[str] = ("shared", "nothing", ATTENDED),
    l2r: bool = False,
    limit: int | None = None,
) -> dict[str, object]:
    """Likelihoods of sentences: of a sample of text (`pseudo_sentences`), or of the pairs of a test (`items`).

    A sample: that many of the data "text" (a sentence a line) that the encoder takes. Columns: method, setting,
    sentence (number in the sample, from 0), text, log_likelihood (nats), tokens. l2r: whether the later tokens of a
    token's word are masked, too.

    Pairs: `items` names the module whose items(**files, **of) lists them, with columns first and second (sentences).
    Columns: method, setting, those of the list, masking (of `maskings`, see `pair_likelihoods`), tokens_first,
    tokens_second, log_p_first, log_p_second (nats).

    limit: at most so many sentences, or items of the test. Pairs that `pair_likelihoods` cannot score are left out."""
    reader = open_reader(source, "masked_lm").reaching(words=True)
    if items is None:
        fitting = sentences_that_fit(reader, read_sentences(source.file("text")))
        sample = pd.DataFrame({"text": sample_sentences(fitting, pseudo_sentences, seed=SEED)})
        sample = sampled(sample, limit)
        log_likelihoods, tokens = pseudo_log_likelihoods(reader, sample["text"], l2r=l2r)
        sample.insert(0, "sentence", range(len(sample)))
        return reader.write(output, sample.assign(tokens=tokens), log_likelihood=log_likelihoods)
    possible = [masking for masking in maskings if masking != ATTENDED or returns_attention(reader.model)]
    write_parquet(pair_likelihoods(reader, items_of(reader, source, items, of, limit), possible), output)
    return reader.facts()


def pair_likelihoods(reader: Reader, pairs: pd.DataFrame, maskings: Sequence[Masking]) -> pd.DataFrame:
    """sum_t log p(w_t | what is left) of both sentences of each pair, in nats, by each masking: the columns that `read`
    says. pairs: columns first and second.

    masking "shared": the tokens that both have, each masked by itself; "differing": the others, all masked at once;
    "nothing": all tokens, none masked; "attended": the same, each log p times the attention that the token receives
    (AUL and AULA of Kaneko & Bollegala 2022; see `attention_received`). Tokens are aligned by difflib, the first
    sentence against the second; special ones are not scored. So sentences whose numbers of differing tokens differ have
    different lengths, too. "shared-l2r" and "differing-l2r" are the first two `within_words`: the later tokens of a
    token's word are masked with it, and the earlier ones are not.

    Left out (`made_of`): a pair of which one sentence has no token to score by one of the maskings."""

    def clozes(_: tuple, *encodings: Mapping[str, list]) -> list[list[list[Cloze]]]:
        """The clozes of both sentences, by each masking."""
        shared = shared_places(*(encoding["input_ids"] for encoding in encodings))
        sides = list(zip(encodings, shared, strict=True))
        return [[_clozes(reader, *side, masking) for side in sides] for masking in maskings]

    pairs, made = made_of(reader, pairs, SIDES, clozes)
    tables, read = [], {}
    for masking, of_pairs in zip(maskings, zip(*made, strict=True), strict=True):
        groups = [*chain.from_iterable(of_pairs)]
        hidden = NOTHING if masking == ATTENDED else masking  # the two read the same texts
        if hidden not in read:
            read[hidden] = read_at(reader, wanted_of(groups), f"pairs of sentences, masking {hidden}")
        values = read[hidden]
        if masking == ATTENDED:
            with by_hand(reader.model):
                values = values * read_at(reader, wanted_of(groups), "attention", forward=received_at, whole=True)
        log_p, tokens = summed(values, groups)
        scored = pairs.assign(masking=masking, **{f"tokens_{side}": tokens[n::2] for n, side in enumerate(SIDES)})
        sums = {f"log_p_{side}": log_p[:, n::2] for n, side in enumerate(SIDES)}
        tables.append(under_methods(reader.axis, scored, **sums))
    return pd.concat(tables, ignore_index=True)


def _clozes(reader: Reader, encoding: Mapping[str, list], shared: set[int], masking: Masking) -> list[Cloze]:
    """The clozes of one sentence of a pair, of whose tokens those at `shared` are in the other one, too.

    AbsentError: it has no token to score."""
    ids, mask, which = encoding["input_ids"], reader.tokenizer.mask_token_id, masking.removesuffix(L2R)
    places = places_of(reader, ids)
    if which in ("shared", "differing"):
        places = [place for place in places if (place in shared) == (which == "shared")]
    if not places:
        raise AbsentError(f"no {which} token to score")
    if masking.endswith(L2R):
        return within_words(ids, places, encoding["words"], mask, alone=which == "shared")
    if masking == "shared":
        return one_by_one(ids, places, mask)
    return [masked(ids, places, mask) if masking == "differing" else unmasked(ids, places)]


def places_of(reader: Reader, ids: Sequence[int]) -> range:
    """The positions of the tokens of a sentence that are not special."""
    return range(1, len(ids) - len(special_tokens(reader.tokenizer)) + 1)


def shared_places(first: Sequence[int], second: Sequence[int]) -> tuple[set[int], set[int]]:
    """The positions of what two sequences share, in each of them: the equal blocks of difflib."""
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return (
        {block.a + offset for block in blocks for offset in range(block.size)},
        {block.b + offset for block in blocks for offset in range(block.size)},
    )


def pseudo_log_likelihoods(
    reader: Reader, sentences: Sequence[str], *, l2r: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """PLL(W) = sum_t log p(w_t | all other tokens of W), in nats, [methods, sentences], and their tokens [sentences];
    with l2r all other tokens but the later ones of its word (`within_words`).

    The sentences are those of `sentences_that_fit`. Special tokens are neither masked nor counted. Another measure than
    the losses of readouts/losses.py: here the model sees all but one token."""
    encoded, mask = encode(reader.tokenizer, sentences, verbose=False), reader.tokenizer.mask_token_id
    every = [
        within_words(ids, places_of(reader, ids), words_of(encoded, number), mask, alone=True)
        if l2r
        else one_by_one(ids, places_of(reader, ids), mask)
        for number, ids in enumerate(encoded["input_ids"])
    ]
    return sums_at(reader, every, "tokens by themselves")


def sentences_that_fit(reader: Reader, sentences: Sequence[str]) -> list[str]:
    """The sentences that have tokens and that the encoder takes whole, in their order."""
    tokens = encode(reader.tokenizer, sentences, verbose=False)["input_ids"]
    fitting = range(len(reader.tokenizer("")["input_ids"]) + 1, reader.longest_input + 1)
    return [sentence for sentence, ids in zip(sentences, tokens, strict=True) if len(ids) in fitting]
