"""What a masked-LM head expects at [MASK]: log-probabilities of words in sentences about occupations."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerBase

from scripts.biasflow.base.errors import AbsentError, BiasflowError
from scripts.biasflow.base.tabular import write_parquet
from scripts.biasflow.corpora.densray_sets import read_occupation_set
from scripts.biasflow.encoders.batches import encode
from scripts.biasflow.readouts.cloze import Cloze, check_known, log_probabilities_of, masking
from scripts.biasflow.readouts.files import under_methods
from scripts.biasflow.readouts.reader import Reader, open_reader
from scripts.biasflow.readouts.source import Source
from scripts.biasflow.text.occupation_templates import MASK

GENDERS = ("masculine", "feminine")


def read(
    source: Source, output: Path, *, template: str | None = None, pronouns: Sequence[str] | None = None
) -> dict[str, object]:
    """log p of the masculine and the feminine pronoun in the sentence of every occupation.

    The set of occupations is `source.dataset`: one of densray_sets.OCCUPATIONS, or a set of one's own with `template`
    and `pronouns`; its file, if it has one, is the data "occupations". Columns: method, setting, item (occupation),
    sentence (with [MASK]), word, gender, log_p (nats), the feminine rows after the masculine ones."""
    (path,) = source.data.get("occupations", (None,))
    one = read_occupation_set(source.dataset, path, template=template, pronouns=pronouns)
    reader = open_reader(source, "masked_lm").reaching(words=True)
    log_p = log_probabilities(reader, one.sentences, one.pronouns, pieces=one.pieces)
    items = [
        pd.DataFrame({"item": one.occupations, "sentence": one.sentences, "word": word, "gender": gender})
        for word, gender in zip(one.pronouns, GENDERS, strict=True)
    ]
    by_word = log_p.transpose(0, 2, 1).reshape(len(log_p), -1)
    write_parquet(under_methods(reader.axis, pd.concat(items, ignore_index=True), log_p=by_word), output)
    return reader.facts()


def log_probabilities(
    reader: Reader, sentences: Sequence[str], words: Sequence[str], *, pieces: bool = False
) -> np.ndarray:
    """log p(word | sentence) at the one [MASK] of each sentence, in nats: [methods, sentences, words].

    [MASK] stands for the tokenizer's own mask token. With `pieces` a word may split into k pieces (or be a phrase): the
    mask is replaced by k masks, which are filled from left to right, and

        log p(word) = sum_j log p(piece_j | piece_1 ... piece_j-1, masks for piece_j and the later ones),

    a true probability of the word among all of k pieces, in k passes. k differs between words, and each k has
    probabilities of its own: compare only words of as many pieces, or say so.

    BiasflowError: a word that is not one piece of the vocabulary (with `pieces`: that is empty or holds a piece unknown
    to it), or a sentence without exactly one [MASK]."""
    tokenizer = reader.tokenizer
    ids = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    for word, its in zip(words, ids, strict=True):
        check_known(tokenizer, word, its)
        if len(its) > 1 and not pieces:
            raise AbsentError(f"{word!r} is not a single piece of the encoder's vocabulary; choose another word.")
    encoded = _encoded(tokenizer, sentences)
    places = [sentence.index(tokenizer.mask_token_id) for sentence in encoded]
    clozes = [
        step
        for sentence, at in zip(encoded, places, strict=True)
        for its in ids
        for step in from_the_left([*sentence[:at], *its, *sentence[at + 1 :]], range(at, at + len(its)), tokenizer)
    ]
    found = log_probabilities_of(reader, clozes, "masked words")
    starts = np.cumsum([0, *(len(its) for its in ids * len(encoded))])[:-1]
    return np.add.reduceat(found, starts, axis=1).reshape(len(reader.axis), len(sentences), len(words))


def from_the_left(ids: Sequence[int], at: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> list[Cloze]:
    """The tokens at the neighbouring positions `at`, one after the other, each with the later ones masked."""
    whole = masking(ids, at, tokenizer.mask_token_id)
    first = at[0]
    return [
        Cloze((*ids[:place], *whole.ids[place:]), (place,), (token,))
        for place, token in zip(range(first, first + len(at)), whole.tokens, strict=True)
    ]


def _encoded(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str]) -> list[list[int]]:
    for sentence in sentences:
        if sentence.count(MASK) != 1:
            raise BiasflowError(f"{sentence!r}: exactly one {MASK} is needed.")
    return encode(tokenizer, [sentence.replace(MASK, tokenizer.mask_token) for sentence in sentences])["input_ids"]
