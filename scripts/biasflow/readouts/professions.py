"""The readout `professions`: vectors of the professions of WinoBias's sentences, or others like them, under every
method, when nothing tells the gender of a pronoun.

File: array "vectors" [stored methods, rows, hidden], as readouts.first_token has it; meta: layers, words (true). The
rows are in a table beside it (tasks.coreference.professions). A vector is the mean of the last layer's states of the
profession's pieces.

Source: Orgad et al. (2022; section 4.1 and the released extraction)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn
from transformers import BatchEncoding

from biasflow.base.errors import AbsentError
from biasflow.corpora.winobias import Sentence, masked_words, read_sentences
from biasflow.encoders.batches import at_occurrences
from biasflow.encoders.device import half
from biasflow.encoders.first_token import dtype_on
from biasflow.encoders.taps import depth, last_state
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.readouts.states import WORDS, to_be_stored
from biasflow.tasks.coreference.professions import profession_rows, write_rows
from biasflow.tasks.coreference.segments import Segmenter, SpecialTokens


def read(source: Source, output: Path, *, word_prefix_space: bool) -> dict:
    """Read the vectors of the professions in the sentences of the role `pro` (a CoNLL file), each with the tokenizer's
    mask for every pronoun that tells a gender.

    word_prefix_space: as in `segments.Segmenter`; sentences become pieces as documents do in training. A model of the
    training "random/seed<n>" is drawn anew. A sentence that is longer than the encoder takes, or with a profession that
    its vocabulary lacks, is left out. BiasflowError: what `read_sentences` refuses, vectors that are not finite, a
    method that changes nothing; AbsentError: no mask, no sentence that is not left out."""
    sentences = read_sentences(source.file("pro"), pro=True)
    rows = profession_rows(sentences)
    reader = open_reader(source, "none")
    reader = replace(reader, fitted=to_be_stored(reader.fitted, depth(reader.model), words=True))
    encoded, rows, places = _tokenised(reader, sentences, rows, word_prefix_space)

    def means(numbers: np.ndarray, of_sentence: np.ndarray, batch: BatchEncoding) -> np.ndarray:
        return reader.under_each(_means, reader.model, batch, of_sentence, places[numbers])

    of_rows = at_occurrences(means, rows["document"].to_numpy())
    with reader.storing(output, len(rows)) as (keep, meta):
        for _, (numbers, states) in reader.batches(of_rows, encoded, "vectors of professions"):
            keep(numbers, states)
        meta[WORDS] = True
        facts = reader.facts()
    write_rows(rows, output)
    return {**facts, **meta, "sentences": len(encoded["input_ids"]), "rows": len(rows)}


def _tokenised(
    reader: Reader, sentences: Sequence[Sentence], rows: pd.DataFrame, word_prefix_space: bool
) -> tuple[BatchEncoding, pd.DataFrame, np.ndarray]:
    """The masked sentences that are not left out as token ids, their rows (document: the number among them), and the
    first and last token of every row, [rows, 2]."""
    tokenizer, longest = reader.tokenizer, reader.longest_input
    if tokenizer.mask_token is None:
        raise AbsentError(f"{type(tokenizer).__name__}: no mask token, so that no pronoun can be hidden.")
    special = SpecialTokens.of(tokenizer)
    documents = [sentence.document.with_words(masked_words(sentence, tokenizer.mask_token)) for sentence in sentences]
    pieces = Segmenter(tokenizer, longest, word_prefix_space)(documents)
    absent = {n: "longer than the encoder takes" for n, parts in enumerate(pieces) if parts.n_segments > 1}
    places = np.empty((len(rows), 2), dtype=int)
    for row, (number, first, last) in enumerate(rows[["document", "first", "last"]].itertuples(index=False)):
        words = pieces[number].words.numpy()
        places[row] = np.searchsorted(words, first), np.searchsorted(words, last, side="right") - 1
        if tokenizer.unk_token_id in pieces[number].ids[places[row, 0] : places[row, 1] + 1]:
            absent.setdefault(number, "a profession that the encoder's vocabulary lacks")
    reader.left_out.of = len(documents)
    reader.left_out.reasons |= {documents[number].name: why for number, why in absent.items()}
    kept = [number for number in range(len(documents)) if number not in absent]
    if not kept:
        raise AbsentError(f"none of {len(documents)} sentences can be measured, the first because: {absent[0]}")
    numbers = rows["document"].map({number: place for place, number in enumerate(kept)})
    rows = rows.assign(document=numbers)[numbers.notna()].astype({"document": int})
    ids = [[special.before, *pieces[number].ids.tolist(), special.after] for number in kept]
    encoded = BatchEncoding({"input_ids": ids, "attention_mask": [[1] * len(sequence) for sequence in ids]})
    return encoded, rows.reset_index(drop=True), places[numbers.notna()] + 1


def _means(model: nn.Module, batch: BatchEncoding, sentences: np.ndarray, places: np.ndarray) -> torch.Tensor:
    """Mean states in the last layer of tokens places [rows, 2] (first, last) of those sentences of the batch."""
    with half(model.device):
        states = last_state(model, **batch)[torch.from_numpy(sentences).to(model.device)].float()
    first, last = torch.from_numpy(places).to(model.device).T[..., None]
    tokens = torch.arange(states.shape[1], device=model.device)
    weights = ((tokens >= first) & (tokens <= last)).float()
    means = torch.einsum("nt,ntd->nd", weights / weights.sum(dim=1, keepdim=True), states)
    return means.to(dtype_on(model.device))
