"""The readout `associations`: cosines of words in drawn contexts, under every method (the contextualised association
test, CEAT).

File: array "cosines" [methods, draws, |X| + |Y|, |A| + |B|], float32; meta: sizes (of X, Y, A and B: the words
that have contexts), test, words (how many the test has)."""

import tempfile
from math import prod
from pathlib import Path

import numpy as np

from biasflow.base.files import explained, reserve
from biasflow.base.sample import sampled
from biasflow.corpora.word_sets import read_word_sets, split_words
from biasflow.readouts.cosines import drawn_cosines
from biasflow.readouts.files import array_on_disk
from biasflow.readouts.reader import open_reader
from biasflow.readouts.source import Source
from biasflow.readouts.word_contexts import by_word, read_word_contexts, word_batches
from biasflow.stimuli.ceat_sets import ceat_tests, sets_of_vectors, words_of


def read(source: Source, output: Path, *, draws: int, seed: int, missing: str, limit: int | None = None) -> dict:
    """Draw the contexts of the words of one test, and take the cosines of their vectors, under every method.

    The dataset is the name of the test. Roles: `words`, the file of word sets (stimuli.ceat_sets), or `own`, that of a
    user's (corpora.word_sets); `contexts`, where
    the words occur (a table of word_contexts.find_word_contexts, for the encoder's vocabulary). All methods see the
    same draws. A model of the training "random/seed<n>" is drawn anew, like the one in its folder. missing: as in
    ceat_sets.sets_of_vectors; limit: at most so many contexts, as many of every word as of any other that has them.
    BiasflowError: whatever the files, the sets and the drawing refuse, and a method that
    changes nothing that a word's vector is made of."""
    if "own" in source.data:
        test = read_word_sets(source.file("own"), source.dataset, single=True)
    else:
        (test,) = ceat_tests([source.dataset], source.file("words")).values()
    contexts = read_word_contexts(source.file("contexts"))
    contexts = contexts[contexts["word"].isin(words_of([test]))].reset_index(drop=True)
    contexts = sampled(contexts, limit, strata=["word"], alike=True)
    rows_of = sets_of_vectors(test, by_word(contexts, np.arange(len(contexts))), missing=missing)
    sizes = {role: len(words) for role, words in rows_of.items()}
    reader = open_reader(source, "none").reaching(words=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    with explained(output), tempfile.TemporaryFile(dir=output.parent) as file:  # a method's vectors can take gigabytes
        shape = (len(reader.axis), len(contexts), reader.model.config.hidden_size)
        reserve(file, prod(shape) * np.dtype(np.float32).itemsize)
        vectors = np.memmap(file, np.float32, "r+", shape=shape)
        for rows, batch_vectors in word_batches(reader.under_each, reader.model, reader.tokenizer, contexts):
            vectors[:, rows] = batch_vectors
        facts = reader.facts()
        shape = (len(reader.axis), draws, sizes["X"] + sizes["Y"], sizes["A"] + sizes["B"])
        with array_on_disk(output, "cosines", shape, "float32", reader.axis) as (cosines, meta):
            for method_cosines, method_vectors in zip(cosines, vectors, strict=True):
                sets = {role: [method_vectors[rows] for rows in words] for role, words in rows_of.items()}
                method_cosines[:] = drawn_cosines(**sets, draws=draws, seed=seed)
            meta |= {"sizes": sizes, "test": test.name, "words": len(words_of([test]))}
            if "own" in source.data:
                meta["split"] = len(split_words(reader.tokenizer.backend_tokenizer, words_of([test])))
    return {**facts, **meta, "contexts": len(contexts)}
