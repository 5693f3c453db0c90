"""p(next sentence) of stimuli under every method."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from biasflow.base.errors import BiasflowError
from biasflow.base.sample import sampled
from biasflow.base.tabular import read_text_csv
from biasflow.encoders import taps
from biasflow.encoders.tokens import Tokens
from biasflow.readouts.cloze import items_of
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.stimuli.triples import sentence_pairs

IS_NEXT = 0  # index of "sentence B follows sentence A" in BERT's next-sentence head


def read(
    source: Source,
    output: Path,
    *,
    batch_size: int = 32,
    items: str | None = None,
    of: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> dict[str, object]:
    """p(NS) of every sentence pair of the data "stimuli" (a file of corpora/stereoset.py) and its gender-swapped copy;
    or of those of a test, which the module `items` lists, items(**files, **of), with columns context and next_sentence.

    Columns: method, setting, triple, label (of the original) and swapped, or those of the list but its texts, truncated
    (whether the pair was too long for the encoder, and cut), p. limit: at most so many triples, or items."""
    reader = open_reader(source, "next_sentence", batch_size=batch_size)
    if items is None:
        pairs = sentence_pairs(sampled(read_text_csv(source.file("stimuli")), limit, unit=["triple"]))
    else:
        texts = {"context": "first", "next_sentence": "second"}
        pairs = items_of(reader, source, items, of, limit).rename(columns=texts)
    tokens = pair_tokens(reader, pairs)
    p = next_sentence_probabilities(reader, tokens)
    return reader.write(output, pairs.drop(columns=["first", "second"]).assign(truncated=tokens.cut), p=p)


def pair_tokens(reader: Reader, pairs: pd.DataFrame) -> Tokens:
    """The pairs (columns first, second) as tokens; of one that is longer than the encoder takes the longer sentence is
    cut. BiasflowError for no pair."""
    if pairs.empty:
        raise BiasflowError("no stimuli: the table has no sentence pair")
    return reader.tokenised(list(pairs["first"]), list(pairs["second"]))


@torch.inference_mode()
def next_sentence_probabilities(reader: Reader, pairs: Tokens) -> np.ndarray:
    """p(NS), the softmax over the two next-sentence logits at index 0, of pairs: [methods, pairs].

    BiasflowError: a head that is none of next sentences, weights that give NaN (naming the method)."""
    p, encoded = np.empty((len(reader.axis), len(pairs))), pairs.of_all(range(len(pairs)))
    for rows, vectors in reader.batches(lambda _, batch: reader.sentence_vectors(batch), encoded, "next sentences"):
        logits = taps.classify(reader.model, vectors)
        if logits.shape[-1] != 2:
            raise BiasflowError(f"the head has {logits.shape[-1]} classes; a next-sentence head has 2")
        p[:, rows] = logits.double().softmax(-1)[..., IS_NEXT].cpu().numpy()
    wrong = np.isnan(p).any(axis=1)
    if wrong.any():
        method = " ".join(reader.axis[wrong.argmax()])
        raise BiasflowError(f"next-sentence probabilities under {method} are NaN; check the encoder's weights")
    return p
