"""The readout `first_token`: the last layer's state of every text's first token, under every method.

File: array "vectors" [stored methods, texts, hidden], float16 from a GPU, where they are computed in half
precision, and float32 otherwise; meta: layers, truncated (how many texts were cut). What acts at the end of the last
layer is not stored: `readouts.states`."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from biasflow.base.tabular import read_parquet
from biasflow.encoders.first_token import first_states, text_batches, text_tokens
from biasflow.encoders.taps import depth
from biasflow.readouts.reader import open_reader
from biasflow.readouts.source import Source
from biasflow.readouts.states import to_be_stored
from biasflow.tasks.classification.splits import texts_of


def read(source: Source, output: Path, *, max_length: int, text: str) -> dict:
    """Read the first token's vectors of all texts of the role `texts` (a table; text: "raw" or "scrubbed").

    A model of the training "random/seed<n>" is drawn anew, like the one in its folder. Texts longer than max_length
    tokens, or than the encoder takes, are cut. BiasflowError: no texts, vectors that are not finite, a method that
    changes nothing."""
    texts = texts_of(read_parquet(source.file("texts")), text)
    reader = open_reader(source, "none")
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
