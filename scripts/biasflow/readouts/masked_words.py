"""What a masked-LM head expects at [MASK]: log-probabilities of words in sentences about occupations."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from transformers import BatchEncoding, PreTrainedTokenizerBase

from scripts.biasflow.base.errors import AbsentError, BiasflowError
from scripts.biasflow.base.tabular import write_parquet
from scripts.biasflow.corpora.densray_sets import read_occupation_set
from scripts.biasflow.encoders.batches import encode
from scripts.biasflow.encoders.masked_lm import logits_at
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
        if not its or not set(its).isdisjoint(tokenizer.all_special_ids):  # the unknown piece is one of them
            raise AbsentError(f"{word!r} is not made of the encoder's vocabulary; choose another word.")
        if len(its) > 1 and not pieces:
            raise AbsentError(f"{word!r} is not a single piece of the encoder's vocabulary; choose another word.")
    encoded = _encoded(tokenizer, sentences)
    found = np.zeros((len(reader.axis), len(sentences), len(words)))
    for (masks, before), columns in _steps(ids).items():
        filled = _filled(encoded, tokenizer.mask_token_id, [*before, *[tokenizer.mask_token_id] * masks])
        targets = [ids[column][len(before)] for column in columns]
        found[:, :, columns] += _at_first_mask(reader, filled, targets)
    return found


def _steps(words: Sequence[Sequence[int]]) -> dict[tuple[int, tuple[int, ...]], list[int]]:
    """The inputs that the pieces of the words need: (masks, pieces before them) -> the words that need it."""
    steps: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for column, ids in enumerate(words):
        for done in range(len(ids)):
            steps.setdefault((len(ids) - done, tuple(ids[:done])), []).append(column)
    return steps


def _encoded(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str]) -> BatchEncoding:
    for sentence in sentences:
        if sentence.count(MASK) != 1:
            raise BiasflowError(f"{sentence!r}: exactly one {MASK} is needed.")
    return encode(tokenizer, [sentence.replace(MASK, tokenizer.mask_token) for sentence in sentences])


def _filled(encoded: BatchEncoding, mask: int, pieces: Sequence[int]) -> BatchEncoding:
    """The same sentences with `pieces` for their one mask; the other arrays (segments, attention) grow with them."""
    grown: dict[str, list[list[int]]] = {key: [] for key in encoded}
    for row, ids in enumerate(encoded["input_ids"]):
        at = ids.index(mask)
        for key, values in grown.items():
            old = encoded[key][row]
            new = pieces if key == "input_ids" else old[at : at + 1] * len(pieces)
            values.append([*old[:at], *new, *old[at + 1 :]])
    return BatchEncoding(grown)


def _at_first_mask(reader: Reader, encoded: BatchEncoding, targets: Sequence[int]) -> np.ndarray:
    """log p of the pieces `targets` at the first mask of each sentence: [methods, sentences, targets]."""

    def log_p(batch: BatchEncoding, rows: Sequence[int]) -> torch.Tensor:
        masks = batch["input_ids"] == reader.tokenizer.mask_token_id
        logits = logits_at(reader.model, batch, masks & (masks.cumsum(1) == 1))
        return logits.double().log_softmax(-1)[:, list(targets)]

    return reader.over(encoded, log_p, "masked words")
