"""Vectors of a sample of sentences under every method, and always of the untouched encoder, to compare them with."""

from dataclasses import replace
from pathlib import Path

from biasflow.corpora.documents import read_sentences, sample_sentences
from biasflow.encoders.places import SENTENCE
from biasflow.methods.fitted import NONE, Active, Fitted
from biasflow.readouts.files import save_arrays
from biasflow.readouts.likelihoods import SEED, sentences_that_fit
from biasflow.readouts.reader import Reader, open_reader
from biasflow.readouts.source import Source
from biasflow.readouts.vectors import Pooling, embed


def read(source: Source, output: Path, *, sentences: int, pooling: Pooling = "cls") -> dict[str, object]:
    """One vector per method and sentence: array "vectors" [methods, n, d], float32, the method none among them.

    `sentences`: how many of the data "text" (a sentence a line) are drawn, of those that the encoder takes whole; what
    stands for one is its `pooling` (readouts.vectors), which the file's meta says."""
    reader = with_untouched(open_reader(source, "none").reaching(sentence=pooling == SENTENCE))
    fitting = sentences_that_fit(reader, read_sentences(source.file("text")))
    # A sentence that is there twice would be its own neighbour.
    sample = sample_sentences([*dict.fromkeys(fitting)], sentences, seed=SEED)
    save_arrays(output, {"vectors": embed(reader, sample, [pooling])[pooling]}, reader.axis, pooling=pooling)
    return reader.facts()


def with_untouched(reader: Reader) -> Reader:
    """Return the reader with the untouched model as its first method, if it is not asked for already."""
    if NONE in reader.fitted.methods:
        return reader
    methods = {NONE: (Active(NONE),), **reader.fitted.methods}
    return replace(reader, fitted=Fitted(methods, reader.fitted.specifications))
