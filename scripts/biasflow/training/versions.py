"""Texts that stand in two versions, one about a woman and one about a man, as tokens of an encoder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerBase

from biasflow.base.genders import FEMALE, MALE
from biasflow.encoders.batches import encode, require_offsets
from biasflow.planted.units import WORD


@dataclass(frozen=True)
class Version:
    """One version of a unit: the token ids of its words, and the number of the word that each token is a piece of."""

    ids: np.ndarray
    word: np.ndarray

    def words(self) -> dict[int, tuple[int, ...]]:
        """The token ids of each word, by its number."""
        starts = np.flatnonzero(np.diff(self.word, prepend=-1))
        pieces = (tuple(ids.tolist()) for ids in np.split(self.ids, starts[1:]))
        return dict(zip(self.word[starts].tolist(), pieces, strict=True))


Versions = Mapping[str, Version]  # of a unit, by gender


def tokenised(tokenizer: PreTrainedTokenizerBase, units: pd.DataFrame, max_length: int) -> list[Versions]:
    """Both versions of each unit, cut after the last word with which both have at most max_length tokens, special ones
    included."""
    require_offsets(tokenizer)
    both = {gender: [_version(tokenizer, text) for text in units[gender]] for gender in (FEMALE, MALE)}
    cut = []
    for pair in zip(both[FEMALE], both[MALE], strict=True):
        words = min(_words_that_fit(version, max_length - 2) for version in pair)
        short = (Version(version.ids[version.word < words], version.word[version.word < words]) for version in pair)
        cut.append(dict(zip((FEMALE, MALE), short, strict=True)))
    return cut


def gendered_words(versions: Versions) -> list[int]:
    """The numbers of the words in which the versions of a unit differ."""
    one, other = (versions[gender].words() for gender in (FEMALE, MALE))
    return [number for number in one if one[number] != other.get(number)]


def padded(texts: Sequence[np.ndarray], tokenizer: PreTrainedTokenizerBase) -> dict[str, torch.Tensor]:
    """Texts of token ids as one batch: input_ids and attention_mask, both [texts, tokens of the longest]."""
    ids = [torch.from_numpy(text) for text in texts]
    return {
        "input_ids": pad_sequence(ids, True, tokenizer.pad_token_id),
        "attention_mask": pad_sequence([torch.ones_like(text) for text in ids], True, 0),
    }


def _version(tokenizer: PreTrainedTokenizerBase, text: str) -> Version:
    encoded = encode(tokenizer, [text], add_special_tokens=False, return_offsets_mapping=True)
    starts = [word.start() for word in WORD.finditer(text)]
    # a token's span may begin with the blank before its word
    last = [max(start, end - 1) for start, end in encoded["offset_mapping"][0]]
    return Version(np.array(encoded["input_ids"][0]), np.searchsorted(starts, last, side="right") - 1)


def _words_that_fit(version: Version, most: int) -> int:
    """How many whole words have at most `most` tokens."""
    return int(version.word[most] if len(version.word) > most else version.word[-1] + 1)
