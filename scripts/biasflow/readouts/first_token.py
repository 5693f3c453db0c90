"""The readout `first_token`: a vector of every text under every method, the last layer's state of its first token or
what sentence-transformers makes of the text.

File: array "vectors" [stored methods, texts, d]; meta: layers, truncated (how many texts were cut). States of first
tokens are float16 from a GPU, where they are computed in half precision, and float32 otherwise; sentence vectors are
float32, at the place `sentence`, and meta "sentence" says what comes behind it. What acts at the end of the last layer
is not stored: `readouts.states`."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from biasflow.base.tabular import read_parquet
from biasflow.encoders.first_token import CHUNK, first_states, text_batches, text_tokens
from biasflow.encoders.places import LAST_CLS, SENTENCE
from biasflow.encoders.taps import depth
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.readouts.states import to_be_stored
from biasflow.tasks.classification.splits import texts_of


def read(source: Source, output: Path, *, text: str, max_length: int | None = None, place: str = LAST_CLS) -> dict:
    """Read the vectors at a place (last.cls or sentence) of all texts of the role `texts` (a table; text: "raw" or
    "scrubbed").

    A model of the training "random/seed<n>" is drawn anew, like the one in its folder. Texts longer than the encoder
    takes are cut, those whose first token is read also to max_length tokens. BiasflowError: no texts, vectors that are
    not finite, a method that changes nothing."""
    texts = texts_of(read_parquet(source.file("texts")), text)
    reader = open_reader(source, "none")
    return _of_sentences(reader, texts, output) if place == SENTENCE else _of_first(reader, texts, output, max_length)


def _of_first(reader: Reader, texts: Sequence[str], output: Path, max_length: int | None) -> dict:
    model = reader.model
    reader = replace(reader, fitted=to_be_stored(reader.fitted, depth(model)))
    tokens = text_tokens(model, reader.tokenizer, texts, max_length=max_length)
    with reader.storing(output, len(texts)) as (keep, meta):
        read_batch = partial(reader.under_each, first_states, model)
        for rows, states in text_batches(read_batch, model, reader.tokenizer, tokens):
            keep(rows, states)
        meta["truncated"] = int(tokens.cut.sum())
        facts = reader.facts()
    return {**facts, **meta, "texts": len(texts)}


def _of_sentences(reader: Reader, texts: Sequence[str], output: Path) -> dict:
    behind = reader.sentence_encoder.behind
    reader = replace(reader, fitted=to_be_stored(reader.fitted, depth(reader.model), behind["parts"]))
    parts = [range(start, min(start + CHUNK, len(texts))) for start in range(0, len(texts), CHUNK)]
    of_parts = (np.stack([*reader.each_at_sentence([texts[row] for row in rows])]) for rows in parts)
    first = next(of_parts)
    with reader.storing(output, len(texts), "float32", first.shape[-1]) as (keep, meta):
        for rows, vectors in zip(parts, chain([first], of_parts), strict=True):
            keep(rows, vectors)
        facts = reader.facts()
        meta |= {SENTENCE: behind, "truncated": facts["truncated"]}
    return {**facts, **meta}
