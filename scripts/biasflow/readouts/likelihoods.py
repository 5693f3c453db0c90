"""Pseudo-log-likelihoods of sentences under every method: each token is masked by itself.

Source: Salazar et al. (2020). It costs a pass per token, so a sample of sentences is read."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerBase

from scripts.biasflow.base.errors import BiasflowError
from scripts.biasflow.base.tabular import write_parquet
from scripts.biasflow.corpora.documents import read_sentences, sample_sentences
from scripts.biasflow.encoders.batches import encode
from scripts.biasflow.encoders.examples import special_tokens
from scripts.biasflow.readouts.cloze import Cloze, log_probabilities_of, masking
from scripts.biasflow.readouts.files import under_methods
from scripts.biasflow.readouts.reader import Reader, open_reader
from scripts.biasflow.readouts.source import Source

SEED = 0  # of the sample


def read(source: Source, output: Path, *, pseudo_sentences: int) -> dict[str, object]:
    """The pseudo-log-likelihoods of `pseudo_sentences` of the data "text" (a sentence a line) that the encoder takes.

    Columns: method, setting, sentence (number in the sample, from 0), text, log_likelihood (nats), tokens."""
    reader = open_reader(source, "masked_lm").reaching(words=True)
    fitting = sentences_that_fit(reader, read_sentences(source.file("text")))
    sample = sample_sentences(fitting, pseudo_sentences, seed=SEED)
    log_likelihoods, tokens = pseudo_log_likelihoods(reader, sample)
    items = pd.DataFrame({"sentence": range(len(sample)), "text": sample, "tokens": tokens})
    write_parquet(under_methods(reader.axis, items, log_likelihood=log_likelihoods), output)
    return reader.facts()


def pseudo_log_likelihoods(reader: Reader, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """PLL(W) = sum_t log p(w_t | all other tokens of W), in nats, [methods, sentences], and their tokens [sentences].

    Special tokens are neither masked nor counted. Another measure than the losses of readouts/losses.py: here the model
    sees all but one token. BiasflowError: no sentence, an empty one, or one longer than the encoder takes (its number
    is named, from 1)."""
    tokenizer = reader.tokenizer
    around = len(special_tokens(tokenizer))
    longest = reader.longest_input - around
    if not len(sentences):
        raise BiasflowError("sentences: there is none; give at least one.")
    encoded = encode(tokenizer, sentences, verbose=False)["input_ids"]
    lengths = np.array([len(ids) - around for ids in encoded])
    for number, length in enumerate(lengths, start=1):
        if not 0 < length <= longest:
            raise BiasflowError(f"sentence {number} has {length} tokens, the encoder takes 1 to {longest}; drop it.")
    places = [range(1, length + 1) for length in lengths]
    clozes = [cloze for ids, at in zip(encoded, places, strict=True) for cloze in one_by_one(ids, at, tokenizer)]
    found = log_probabilities_of(reader, clozes, "tokens by themselves")
    return np.add.reduceat(found, np.cumsum(lengths) - lengths, axis=1), lengths


def one_by_one(ids: Sequence[int], at: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> list[Cloze]:
    """The tokens at the positions `at`, each masked by itself."""
    return [masking(ids, [place], tokenizer.mask_token_id) for place in at]


def sentences_that_fit(reader: Reader, sentences: Sequence[str]) -> list[str]:
    """The sentences that the encoder takes whole, in their order."""
    tokens = encode(reader.tokenizer, sentences, verbose=False)["input_ids"]
    return [sentence for sentence, ids in zip(sentences, tokens, strict=True) if len(ids) <= reader.longest_input]
